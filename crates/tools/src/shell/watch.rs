//! Sees which protected files there are, and puts back what a command did to them.

mod baselines;
mod changes;
mod snapshot;
mod undo;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::{FileChange, SandboxLevel};

use crate::{Permission, ToolContext};
use baselines::Baseline;
pub(super) use baselines::Baselines;
pub(super) use changes::Changes;
use snapshot::Snapshot;
use undo::Undo;

/// How protected files are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guarding {
    /// They are mounted read-only; what cannot be is put back.
    Mounts,
    /// They are looked at afterwards, and put back.
    Looks,
    /// They may be changed, which is told.
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

/// The protected files of a workspace before a command.
pub(super) struct ProtectedFiles {
    context: ToolContext,
    guarding: Guarding,
    baselines: Arc<Baselines>,
    baseline: Arc<Baseline>,
}

impl ProtectedFiles {
    /// Looks at the workspace, directories near the root first.
    pub(super) async fn begin(
        context: &ToolContext,
        level: SandboxLevel,
        baselines: &Arc<Baselines>,
    ) -> Self {
        let guarding = Guarding::of(context, level);
        // Known before anything is looked at: what another command puts back meanwhile is put back for this one, too.
        let (baseline, others) = baselines.begin(context);
        let watch = Self { context: context.clone(), guarding, baselines: Arc::clone(baselines), baseline };
        let (looked, baselines) = (context.clone(), Arc::clone(baselines));
        let baseline = Arc::clone(&watch.baseline);
        let looked = tokio::task::spawn_blocking(move || {
            let snapshot = snapshot::before(&looked, guarding);
            baselines.set(&baseline, snapshot, &others);
        });
        // Without a baseline everything is unknown, which is told at the end.
        let _ = looked.await;
        watch
    }

    /// What is to be mounted read-only.
    pub(super) fn mounts(&self) -> Vec<PathBuf> {
        let root = self.context.root().unwrap_or(Path::new(""));
        self.baseline.mounted().iter().map(|path| root.join(path)).collect()
    }

    /// What is different afterwards, put back where that can be done.
    pub(super) async fn end(self) -> Changes {
        let ended = tokio::task::spawn_blocking(move || {
            let after = snapshot::after(&self.context, self.baseline.mounted());
            self.compare(&after)
        });
        ended.await.unwrap_or_else(|_| Changes::unknown())
    }

    fn compare(&self, after: &Snapshot) -> Changes {
        // One command at a time: what one puts back, another must not take for a change.
        let _undoing = self.baselines.undoing();
        let Some((differences, is_partial)) = self.baseline.differences(after) else {
            return Changes::unknown();
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
        Changes { changes, is_partial, set_aside: undo.set_aside() }
    }

    /// Whether somebody has put a file back since it was looked at.
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
