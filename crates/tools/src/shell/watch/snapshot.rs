//! The state of a workspace's protected files at one moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use instructions::contained_path::file_type;
use protocol::FileChange;
use rustix::fs::{AtFlags, Dir, FileType, Stat};
use serde::{Deserialize, Serialize};

use super::Guarding;
use super::undo::{EarlierState, UndoBudget};
use crate::files::hidden_places;
use crate::{FileError, ToolContext};

/// Directories whose files are named by their digest or equally safe.
const PASSED_OVER: &[&str] = &[".git/objects", ".git/lfs"];
/// Entries of a directory between two checks of the deadline.
const ENTRIES_A_LOOK: usize = 1_024;

/// Metadata that differs after any change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStamp {
    inode: u64,
    mode: u64,
    size: u64,
    modified: (i64, u64),
    /// Time of the last change of any kind. Programs cannot set it.
    changed: (i64, u64),
}

impl FileStamp {
    fn of(stat: &Stat) -> Self {
        Self {
            inode: wide(stat.st_ino),
            mode: wide(stat.st_mode),
            size: wide(stat.st_size),
            modified: (stat.st_mtime, wide(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, wide(stat.st_ctime_nsec)),
        }
    }

    /// Returns the time of the last change of any kind, in seconds and nanoseconds.
    pub(super) fn changed(&self) -> (i64, u64) {
        self.changed
    }
}

/// Widens a number whose type depends on the operating system.
fn wide<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// The state of protected files, by path relative to the root.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) entries: BTreeMap<PathBuf, SnapshotEntry>,
    /// Directories that were seen but not listed. Their content is unknown.
    pub(super) unlisted: BTreeSet<PathBuf>,
    /// True if time ran out before all directories were listed.
    pub(super) is_partial: bool,
}

#[derive(Debug, Clone)]
pub(super) struct SnapshotEntry {
    /// `None` for a directory, which only needs to exist: its content has entries of its own.
    pub(super) stamp: Option<FileStamp>,
    pub(super) kept: Option<Arc<EarlierState>>,
    pub(super) is_mounted: bool,
}

/// A changed file and its earlier state.
pub(super) type SnapshotDifference = (PathBuf, FileChange, Option<Arc<EarlierState>>);

impl Snapshot {
    /// Returns true if the state at a path is known, even if nothing was there. Unlisted directories and the content of mounted
    /// ones are unknown.
    pub(super) fn knows(&self, path: &Path) -> bool {
        let is_dark = |above: &Path| self.unlisted.contains(above) || self.is_mounted(above);
        !path.ancestors().skip(1).any(is_dark)
    }

    #[cfg(test)]
    pub(super) fn forget_below(&mut self, directory: &Path) {
        self.entries.retain(|path, _| !path.starts_with(directory));
        self.unlisted.insert(directory.to_owned());
        self.is_partial = true;
    }

    pub(super) fn is_mounted(&self, path: &Path) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.is_mounted)
    }

    /// Returns the differences of a later snapshot.
    pub(super) fn differences(&self, after: &Self) -> Vec<SnapshotDifference> {
        let mut differences: Vec<SnapshotDifference> = Vec::new();
        for (path, entry) in &after.entries {
            let (change, kept) = match self.entries.get(path) {
                None if !self.knows(path) => continue,
                None => (FileChange::New, None),
                // Mounted read-only, so the command did not change it.
                Some(before) if before.is_mounted || before.stamp == entry.stamp => continue,
                Some(before) => (FileChange::Changed, before.kept.clone()),
            };
            // A new directory is a single change, whatever it contains.
            let is_in_new = |(above, ..): &SnapshotDifference| path.starts_with(above);
            if !differences.last().is_some_and(is_in_new) {
                differences.push((path.clone(), change, kept));
            }
        }
        let gone = self.entries.iter().filter(|(path, before)| {
            // A path in a directory that the later walk did not reach is unknown, not gone. Restoring it would report
            // changes that never happened.
            let is_gone = !after.entries.contains_key(*path) && after.knows(path);
            is_gone && !before.is_mounted && before.stamp.is_some()
        });
        let gone = gone.map(|(path, before)| (path.clone(), FileChange::Removed, before.kept.clone()));
        differences.extend(gone);
        differences
    }
}

/// Purpose of a walk.
enum SnapshotPurpose {
    /// Before a command: selects what is mounted, up to a limit, and remembers the rest.
    Baseline { guarding: Guarding, mounts_left: usize, room: UndoBudget },
    /// After a command for which these paths were mounted.
    Comparison { mounted: BTreeSet<PathBuf> },
}

/// Takes a snapshot before a command, directories near the root first.
pub(super) fn before(context: &ToolContext, guarding: Guarding) -> Snapshot {
    let mounts_left = if guarding == Guarding::Mounts { context.limits().mounts } else { 0 };
    let baseline = || SnapshotPurpose::Baseline { guarding, mounts_left, room: UndoBudget::default() };
    let (snapshot, found) = walk(context, baseline());
    // What a link protects may have been passed before the link was seen. Few workspaces have such links.
    if context.add_found_trees(found) { walk(context, baseline()).0 } else { snapshot }
}

/// Takes a snapshot after a command, without the content of mounted directories.
pub(super) fn after(context: &ToolContext, mounted: BTreeSet<PathBuf>) -> Snapshot {
    walk(context, SnapshotPurpose::Comparison { mounted }).0
}

/// Returns the snapshot, and places outside the known ones that are protected as well.
fn walk(context: &ToolContext, purpose: SnapshotPurpose) -> (Snapshot, Vec<PathBuf>) {
    let deadline = Instant::now() + context.limits().watch_time;
    let snapshot = Snapshot::default();
    let waiting = VecDeque::from([PathBuf::new()]);
    let mut walk = SnapshotWalk { context, purpose, deadline, snapshot, waiting, found: Vec::new() };
    while let Some(below) = walk.waiting.pop_front() {
        if walk.is_over() {
            walk.stop_before(below);
            break;
        }
        // A directory that cannot be opened was removed meanwhile or is unreadable to the command as well.
        let Ok(directory) = open(context, &below) else {
            walk.snapshot.unlisted.insert(below);
            continue;
        };
        if !walk.list(&below, &directory) {
            walk.stop_before(below);
            break;
        }
    }
    (walk.snapshot, walk.found)
}

struct SnapshotWalk<'a> {
    context: &'a ToolContext,
    purpose: SnapshotPurpose,
    deadline: Instant,
    snapshot: Snapshot,
    /// Directories that were seen and not listed yet.
    waiting: VecDeque<PathBuf>,
    /// Targets of protected links, and parts of bare repositories. Only those from before a command count: it may make a
    /// repository of its own.
    found: Vec<PathBuf>,
}

impl SnapshotWalk<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn stop_before(&mut self, below: PathBuf) {
        self.snapshot.is_partial = true;
        self.snapshot.unlisted.insert(below);
        self.snapshot.unlisted.extend(self.waiting.drain(..));
    }

    /// Lists a directory. Returns false if time ran out.
    fn list(&mut self, below: &Path, directory: &OwnedFd) -> bool {
        let is_baseline = matches!(self.purpose, SnapshotPurpose::Baseline { .. });
        if is_baseline
            && self.context.protected_name(below).is_none()
            && hidden_places::is_bare_repository(directory.as_fd())
        {
            self.found.extend(hidden_places::of_bare_repository(below));
        }
        let Ok(entries) = Dir::read_from(directory) else {
            self.snapshot.unlisted.insert(below.to_owned());
            return true;
        };
        for (index, entry) in entries.flatten().enumerate() {
            // Reading the clock for every entry would cost more than some of the entries. A directory of a million
            // files still ends in time.
            if index % ENTRIES_A_LOOK == ENTRIES_A_LOOK - 1 && self.is_over() {
                return false;
            }
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name != "." && name != ".." {
                self.see(below, directory, &name, entry.file_type());
            }
        }
        true
    }

    fn see(&mut self, below: &Path, directory: &OwnedFd, name: &OsString, listed_as: FileType) {
        let context = self.context;
        let path = below.join(name);
        if listed_as == FileType::Symlink
            && matches!(self.purpose, SnapshotPurpose::Baseline { .. })
            && let Some(root) = context.contained_root()
        {
            self.found.extend(hidden_places::link_targets(root, below, name));
        }
        let is_protected = context.protected_name(&path).is_some();
        // Most files of a workspace end here without a system call. Directories continue, because something below them
        // may be protected.
        if !is_protected && !matches!(listed_as, FileType::Directory | FileType::Unknown) {
            return;
        }
        let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let kind = file_type(&stat);
        let is_directory = kind == FileType::Directory;
        // Only the topmost protected directory is mounted; everything below it is covered by that mount.
        let is_top = is_protected && context.protected_name(below).is_none();
        let mut is_mounted = false;
        if is_protected && (!is_directory || is_top) {
            let mut kept = None;
            match &mut self.purpose {
                SnapshotPurpose::Baseline { guarding, mounts_left, room } => {
                    // A mount covers the target of a link, not the link itself.
                    is_mounted = *mounts_left > 0 && kind != FileType::Symlink;
                    *mounts_left -= usize::from(is_mounted);
                    if !is_mounted && *guarding != Guarding::Nothing {
                        kept = room.keep(directory, &path, &stat).map(Arc::new);
                    }
                }
                SnapshotPurpose::Comparison { mounted } => is_mounted = mounted.contains(&path),
            }
            let stamp = (!is_directory).then(|| FileStamp::of(&stat));
            self.snapshot.entries.insert(path.clone(), SnapshotEntry { stamp, kept, is_mounted });
        }
        // Directories are visited breadth first. If time runs out, the deep ones are missing, and the files near the
        // root that matter most were seen.
        if is_directory && !is_mounted && !PASSED_OVER.iter().any(|passed| path.ends_with(passed)) {
            self.waiting.push_back(path);
        }
    }
}

fn open(context: &ToolContext, below: &Path) -> Result<OwnedFd, FileError> {
    let root = context.root().ok_or(FileError::NoDirectory)?;
    context.find(&root.join(below))?.open_directory()
}

/// Returns the current state at a path. `None` if nothing is there; no stamp for a directory.
pub(super) fn look_at(context: &ToolContext, path: &Path) -> Option<Option<FileStamp>> {
    let directory = open(context, path.parent()?).ok()?;
    let stat = rustix::fs::statat(&directory, path.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((file_type(&stat) != FileType::Directory).then(|| FileStamp::of(&stat)))
}
