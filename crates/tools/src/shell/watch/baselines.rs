//! States of protected files before the running commands. Commands may run concurrently, in one workspace or in nested ones.
//! A change made by one of them must never become the state that another restores.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::snapshot::{FileStamp, Snapshot, SnapshotDifference, look_at};
use crate::ToolContext;

/// The baselines of all running commands.
#[derive(Debug, Default)]
pub(crate) struct Baselines {
    running: Mutex<Vec<Arc<Baseline>>>,
    /// Held while files are restored and while a baseline inherits from others.
    undoing: Mutex<()>,
}

/// Protected files before a command.
#[derive(Debug)]
pub(super) struct Baseline {
    context: ToolContext,
    /// `None` until the workspace was read.
    snapshot: Mutex<Option<Snapshot>>,
}

impl Baselines {
    /// Registers a baseline for a command, and returns it with those of commands that may change the same files.
    pub(super) fn begin(&self, context: &ToolContext) -> (Arc<Baseline>, Vec<Arc<Baseline>>) {
        let baseline = Arc::new(Baseline { context: context.clone(), snapshot: Mutex::default() });
        let mut running = self.running.lock();
        // The others are collected under the lock that registers this command. Of two commands that begin together, at
        // least one then sees the other.
        let others = running.iter().filter(|other| other.shares_files_with(&baseline)).cloned().collect();
        running.push(Arc::clone(&baseline));
        (baseline, others)
    }

    /// Stores the state found before a command. The baselines of running commands take precedence, because they are older than
    /// any change of these commands.
    pub(super) fn set(&self, baseline: &Baseline, mut found: Snapshot, others: &[Arc<Baseline>]) {
        let _undoing = self.undoing();
        for other in others {
            // A baseline without a snapshot belongs to a command that has not started.
            if let Some(known) = &*other.snapshot.lock() {
                inherit(&mut found, &baseline.context, known, &other.context);
            }
        }
        *baseline.snapshot.lock() = Some(found);
    }

    pub(super) fn undoing(&self) -> MutexGuard<'_, ()> {
        self.undoing.lock()
    }

    /// Updates all baselines after a file was restored: its new stamp is the one to compare with.
    pub(super) fn put_back(&self, context: &ToolContext, path: &Path) {
        let (Some(root), Some(Some(stamp))) = (context.root(), look_at(context, path)) else { return };
        // Restoring creates a new inode, so without this every other running command would see a change.
        let absolute = root.join(path);
        for baseline in self.running.lock().iter() {
            let Some(own) = baseline.context.root().and_then(|root| absolute.strip_prefix(root).ok()) else {
                continue;
            };
            let mut snapshot = baseline.snapshot.lock();
            if let Some(entry) = snapshot.as_mut().and_then(|snapshot| snapshot.entries.get_mut(own)) {
                entry.stamp = Some(stamp);
            }
        }
    }

    pub(super) fn end(&self, baseline: &Arc<Baseline>) {
        self.running.lock().retain(|running| !Arc::ptr_eq(running, baseline));
    }
}

impl Baseline {
    fn shares_files_with(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.context.root(), other.context.root()) else { return false };
        one.starts_with(two) || two.starts_with(one)
    }

    /// Returns the files that are mounted read-only.
    pub(super) fn mounted(&self) -> BTreeSet<PathBuf> {
        let snapshot = self.snapshot.lock();
        let entries = snapshot.iter().flat_map(|snapshot| &snapshot.entries);
        entries.filter(|(_, entry)| entry.is_mounted).map(|(path, _)| path.clone()).collect()
    }

    /// Returns the changes since the baseline, and true if they may be incomplete. `None` if there is no snapshot.
    pub(super) fn differences(&self, after: &Snapshot) -> Option<(Vec<SnapshotDifference>, bool)> {
        let snapshot = self.snapshot.lock();
        let before = snapshot.as_ref()?;
        Some((before.differences(after), before.is_partial || after.is_partial))
    }

    /// Pretends that time ran out before a directory was listed.
    #[cfg(test)]
    pub(super) fn forget_below(&self, directory: &Path) {
        self.snapshot.lock().as_mut().unwrap().forget_below(directory);
    }

    /// Calls a function with the snapshot. `None` if there is none.
    pub(super) fn with_snapshot<T>(&self, work: impl FnOnce(&Snapshot) -> T) -> Option<T> {
        self.snapshot.lock().as_ref().map(work)
    }

    pub(super) fn stamp(&self, path: &Path) -> Option<FileStamp> {
        self.snapshot.lock().as_ref()?.entries.get(path)?.stamp
    }
}

/// Inherits the state of files that an earlier baseline also contains.
fn inherit(found: &mut Snapshot, context: &ToolContext, known: &Snapshot, other: &ToolContext) {
    let (Some(root), Some(other_root)) = (context.root(), other.root()) else { return };
    let among_known = |path: &Path| root.join(path).strip_prefix(other_root).ok().map(Path::to_owned);
    found.entries.retain(|path, entry| {
        let Some(there) = among_known(path) else { return true };
        match known.entries.get(&there) {
            // Mounted read-only for the other command, so its current state is not the work of that command.
            Some(earlier) if earlier.is_mounted => true,
            Some(earlier) => {
                (entry.stamp, entry.kept) = (earlier.stamp, earlier.kept.clone());
                true
            }
            // Created since then, by a command that is still running.
            None => !known.knows(&there) || other.protected_name(&there).is_none(),
        }
    });
    for (there, earlier) in known.entries.iter().filter(|(_, earlier)| !earlier.is_mounted) {
        let absolute = other_root.join(there);
        let Ok(path) = absolute.strip_prefix(root) else { continue };
        // A file that another running command has removed belongs into this baseline, or restoring it would look like a
        // creation by this command.
        let is_missing = !found.entries.contains_key(path) && found.knows(path);
        if is_missing && context.protected_name(path).is_some() {
            found.entries.insert(path.to_owned(), earlier.clone());
        }
    }
}
