//! What protected files were before any of the commands that run now. Commands may run side by side, in one workspace or in
//! one below the other: what one of them did must never become what another one puts back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::snapshot::{Difference, FileStamp, Snapshot, look_at};
use crate::ToolContext;

/// The baselines of all commands that run now.
#[derive(Debug, Default)]
pub(crate) struct Baselines {
    running: Mutex<Vec<Arc<Baseline>>>,
    /// Held while files are put back, and while a baseline takes over what others know.
    undoing: Mutex<()>,
}

/// What protected files were before a command.
#[derive(Debug)]
pub(super) struct Baseline {
    context: ToolContext,
    /// None until the workspace was looked at.
    snapshot: Mutex<Option<Snapshot>>,
}

impl Baselines {
    /// A baseline for a command that is about to begin, and those of commands that may be changing the same files.
    pub(super) fn begin(&self, context: &ToolContext) -> (Arc<Baseline>, Vec<Arc<Baseline>>) {
        let baseline = Arc::new(Baseline { context: context.clone(), snapshot: Mutex::default() });
        let mut running = lock(&self.running);
        let others = running.iter().filter(|other| other.shares_files_with(&baseline)).cloned().collect();
        running.push(Arc::clone(&baseline));
        (baseline, others)
    }

    /// Sets what was found before a command, but for what others know better: they looked before their commands began.
    pub(super) fn set(&self, baseline: &Baseline, mut found: Snapshot, others: &[Arc<Baseline>]) {
        let _undoing = self.undoing();
        for other in others {
            // One that has not looked yet has no command that could have changed anything.
            if let Some(known) = &*lock(&other.snapshot) {
                inherit(&mut found, &baseline.context, known, &other.context);
            }
        }
        *lock(&baseline.snapshot) = Some(found);
    }

    pub(super) fn undoing(&self) -> MutexGuard<'_, ()> {
        lock(&self.undoing)
    }

    /// A file is as it was: for every command that runs, its state is now the one to compare with.
    pub(super) fn put_back(&self, context: &ToolContext, path: &Path) {
        let (Some(root), Some(Some(stamp))) = (context.root(), look_at(context, path)) else { return };
        let absolute = root.join(path);
        for baseline in lock(&self.running).iter() {
            let Some(own) = baseline.context.root().and_then(|root| absolute.strip_prefix(root).ok()) else {
                continue;
            };
            let mut snapshot = lock(&baseline.snapshot);
            if let Some(entry) = snapshot.as_mut().and_then(|snapshot| snapshot.entries.get_mut(own)) {
                entry.stamp = Some(stamp);
            }
        }
    }

    pub(super) fn end(&self, baseline: &Arc<Baseline>) {
        lock(&self.running).retain(|running| !Arc::ptr_eq(running, baseline));
    }
}

impl Baseline {
    fn shares_files_with(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.context.root(), other.context.root()) else { return false };
        one.starts_with(two) || two.starts_with(one)
    }

    /// The files that are mounted read-only.
    pub(super) fn mounted(&self) -> BTreeSet<PathBuf> {
        let snapshot = lock(&self.snapshot);
        let entries = snapshot.iter().flat_map(|snapshot| &snapshot.entries);
        entries.filter(|(_, entry)| entry.is_mounted).map(|(path, _)| path.clone()).collect()
    }

    /// What is different afterwards, and whether that is all; none when nobody looked before.
    pub(super) fn differences(&self, after: &Snapshot) -> Option<(Vec<Difference>, bool)> {
        let snapshot = lock(&self.snapshot);
        let before = snapshot.as_ref()?;
        Some((before.differences(after), before.is_partial || after.is_partial))
    }

    /// As if time had been over before a directory was listed.
    #[cfg(test)]
    pub(super) fn forget_below(&self, directory: &Path) {
        lock(&self.snapshot).as_mut().unwrap().forget_below(directory);
    }

    pub(super) fn stamp(&self, path: &Path) -> Option<FileStamp> {
        lock(&self.snapshot).as_ref()?.entries.get(path)?.stamp
    }
}

/// Takes over what an earlier baseline says about files that both have.
fn inherit(found: &mut Snapshot, context: &ToolContext, known: &Snapshot, other: &ToolContext) {
    let (Some(root), Some(other_root)) = (context.root(), other.root()) else { return };
    let among_known = |path: &Path| root.join(path).strip_prefix(other_root).ok().map(Path::to_owned);
    found.entries.retain(|path, entry| {
        let Some(there) = among_known(path) else { return true };
        match known.entries.get(&there) {
            // Read-only to the other command: whatever it is now is not that command's doing.
            Some(earlier) if earlier.is_mounted => true,
            Some(earlier) => {
                (entry.stamp, entry.kept) = (earlier.stamp, earlier.kept.clone());
                true
            }
            // It was made since, by a command that has not ended.
            None => !known.knows(&there) || other.protected_name(&there).is_none(),
        }
    });
    for (there, earlier) in known.entries.iter().filter(|(_, earlier)| !earlier.is_mounted) {
        let absolute = other_root.join(there);
        let Ok(path) = absolute.strip_prefix(root) else { continue };
        let is_missing = !found.entries.contains_key(path) && found.knows(path);
        if is_missing && context.protected_name(path).is_some() {
            found.entries.insert(path.to_owned(), earlier.clone());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
