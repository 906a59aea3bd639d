//! Detects changes of protected files by commands, and restores the files.

mod baselines;
mod changes;
mod journal;
mod snapshot;
mod undo;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::{FileChange, SandboxLevel};

use crate::{Permission, ToolContext};
use baselines::Baseline;
pub(super) use baselines::Baselines;
pub(super) use changes::ProtectedChanges;
use journal::JournalEntry;
pub use journal::{RestoredFiles, restore_after_kill};
use snapshot::Snapshot;
use undo::Undo;

/// Protection of files during a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guarding {
    /// Files are mounted read-only; those that cannot be are restored.
    Mounts,
    /// Files are compared afterwards and restored.
    Looks,
    /// Files may be changed, which is reported.
    Nothing,
}

impl Guarding {
    fn of(context: &ToolContext, level: SandboxLevel) -> Self {
        match (context.permissions().protected, level) {
            (Permission::Allow, _) => Self::Nothing,
            (_, SandboxLevel::Isolated) => Self::Mounts,
            _ => Self::Looks,
        }
    }
}

/// Protected files of a workspace before a command.
pub(super) struct ProtectedFiles {
    context: ToolContext,
    guarding: Guarding,
    baselines: Arc<Baselines>,
    baseline: Arc<Baseline>,
    journal: Option<JournalEntry>,
}

impl ProtectedFiles {
    /// Records the state of the workspace, directories near the root first. Fails if it cannot be written to the journal,
    /// because then nothing would restore the files if the gateway is killed.
    pub(super) async fn begin(
        context: &ToolContext,
        level: SandboxLevel,
        baselines: &Arc<Baselines>,
    ) -> io::Result<Self> {
        let guarding = Guarding::of(context, level);
        // Registered before anything is read: a file that another command restores in between is then updated here, too.
        let (baseline, others) = baselines.begin(context);
        let mut watch = Self {
            context: context.clone(),
            guarding,
            baselines: Arc::clone(baselines),
            baseline,
            journal: None,
        };
        let looked = context.clone();
        let baselines = Arc::clone(baselines);
        let baseline = Arc::clone(&watch.baseline);
        let looked = tokio::task::spawn_blocking(move || {
            let snapshot = snapshot::before(&looked, guarding);
            baselines.set(&baseline, snapshot, &others);
            baseline.with_snapshot(|snapshot| JournalEntry::write(&looked, guarding, snapshot))
        });
        // Without a snapshot every change is unknown, which `end` reports.
        if let Ok(Some(written)) = looked.await {
            watch.journal = written?;
        }
        Ok(watch)
    }

    /// Returns the file that the command's guard must lock, so that a later gateway can wait for its end.
    pub(super) fn journal(&self) -> Option<PathBuf> {
        self.journal.as_ref().map(|entry| entry.path().to_owned())
    }

    /// Returns the paths to mount read-only.
    pub(super) fn mounts(&self) -> Vec<PathBuf> {
        let root = self.context.root().unwrap_or(Path::new(""));
        self.baseline.mounted().iter().map(|path| root.join(path)).collect()
    }

    /// Returns the changes, after restoring files where possible.
    pub(super) async fn end(mut self) -> ProtectedChanges {
        let ended = tokio::task::spawn_blocking(move || {
            let after = snapshot::after(&self.context, self.baseline.mounted());
            let changes = self.compare(&after);
            // Only now: a gateway that is killed during the comparison must find the entry at its next start.
            self.journal.take().into_iter().for_each(JournalEntry::remove);
            changes
        });
        ended.await.unwrap_or_else(|_| ProtectedChanges::unknown())
    }

    fn compare(&self, after: &Snapshot) -> ProtectedChanges {
        // One command at a time: a file that one command restores must not look like a change to another.
        let _undoing = self.baselines.undoing();
        let Some((differences, is_partial)) = self.baseline.differences(after) else {
            return ProtectedChanges::unknown();
        };
        let mut undo = Undo::new(&self.context);
        let mut changes = Vec::new();
        for (path, change, kept) in differences {
            if self.is_as_before(&path, change) {
                continue;
            }
            let undone = self.guarding != Guarding::Nothing && undo.undo(&path, change, kept.as_deref());
            if undone {
                self.baselines.put_back(&self.context, &path);
            }
            changes.push((path, change, undone));
        }
        ProtectedChanges { changes, is_partial, set_aside: undo.set_aside() }
    }

    /// Returns true if another command has restored a file since the comparison.
    fn is_as_before(&self, path: &Path, change: FileChange) -> bool {
        match (change, snapshot::look_at(&self.context, path)) {
            (FileChange::New, now) => now.is_none(),
            (FileChange::Changed | FileChange::Removed, Some(Some(now))) => {
                self.baseline.stamp(path) == Some(now)
            }
            (FileChange::Changed | FileChange::Removed, _) => false,
        }
    }
}

impl Drop for ProtectedFiles {
    fn drop(&mut self) {
        self.baselines.end(&self.baseline);
    }
}

#[cfg(test)]
mod tests;
