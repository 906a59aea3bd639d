//! The protected files of a workspace at one moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use instructions::contained_path::file_type;
use protocol::FileChange;
use rustix::fs::{AtFlags, Dir, FileType, Stat};

use super::Guarding;
use super::undo::{EarlierState, UndoBudget};
use crate::{FileError, ToolContext};

/// Directories whose content is named by its digest, or is as good as that.
const PASSED_OVER: &[&str] = &[".git/objects", ".git/lfs"];
/// After how many entries of a directory the clock is looked at.
const ENTRIES_A_LOOK: usize = 1_024;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    mode: u64,
    size: u64,
    modified: (i64, u64),
    /// Moves with every change, and nobody can set it.
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
}

/// Numbers have other widths on other systems.
fn wide<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// The protected files of a workspace at one moment, by their way from its root.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) entries: BTreeMap<PathBuf, Entry>,
    /// Directories that were seen and not listed. What is in them is not known.
    unlisted: BTreeSet<PathBuf>,
    /// Whether time was over before all directories were listed.
    pub(super) is_partial: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// None for a directory, of which only matters that it is there: what is in it has entries of its own.
    pub(super) stamp: Option<FileStamp>,
    pub(super) kept: Option<Arc<EarlierState>>,
    pub(super) is_mounted: bool,
}

/// A file that is different, and what it was.
pub(super) type Difference = (PathBuf, FileChange, Option<Arc<EarlierState>>);

impl Snapshot {
    /// Whether it is known what was at a path, also when nothing was. What was not listed is not, and neither is what is
    /// inside a directory that is mounted.
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

    /// What is different in a later one.
    pub(super) fn differences(&self, after: &Self) -> Vec<Difference> {
        let mut differences: Vec<Difference> = Vec::new();
        for (path, entry) in &after.entries {
            let (change, kept) = match self.entries.get(path) {
                None if !self.knows(path) => continue,
                None => (FileChange::New, None),
                // Mounted read-only, so the command didn't change it.
                Some(before) if before.is_mounted || before.stamp == entry.stamp => continue,
                Some(before) => (FileChange::Changed, before.kept.clone()),
            };
            // A new directory is one change, whatever is in it.
            let is_in_new = |(above, ..): &Difference| path.starts_with(above);
            if !differences.last().is_some_and(is_in_new) {
                differences.push((path.clone(), change, kept));
            }
        }
        let gone = self.entries.iter().filter(|(path, before)| {
            let is_gone = !after.entries.contains_key(*path) && after.knows(path);
            is_gone && !before.is_mounted && before.stamp.is_some()
        });
        let gone = gone.map(|(path, before)| (path.clone(), FileChange::Removed, before.kept.clone()));
        differences.extend(gone);
        differences
    }
}

/// What a walk is for.
enum Purpose {
    /// Before a command: it chooses what is mounted, of which so many more may be, and remembers what is not.
    Baseline { guarding: Guarding, mounts_left: usize, room: UndoBudget },
    /// After it, when these are mounted.
    Comparison { mounted: BTreeSet<PathBuf> },
}

/// Looks at a workspace before a command, directories near the root first.
pub(super) fn before(context: &ToolContext, guarding: Guarding) -> Snapshot {
    let mounts_left = if guarding == Guarding::Mounts { context.limits().mounts } else { 0 };
    walk(context, Purpose::Baseline { guarding, mounts_left, room: UndoBudget::default() })
}

/// Looks at it after the command, and not into what was mounted then.
pub(super) fn after(context: &ToolContext, mounted: BTreeSet<PathBuf>) -> Snapshot {
    walk(context, Purpose::Comparison { mounted })
}

fn walk(context: &ToolContext, purpose: Purpose) -> Snapshot {
    let deadline = Instant::now() + context.limits().watch_time;
    let (snapshot, waiting) = (Snapshot::default(), VecDeque::from([PathBuf::new()]));
    let mut walk = Walk { context, purpose, deadline, snapshot, waiting };
    while let Some(below) = walk.waiting.pop_front() {
        if walk.is_over() {
            walk.stop_before(below);
            break;
        }
        // What cannot be opened was removed meanwhile, or cannot be read by the command either.
        let Ok(directory) = open(context, &below) else {
            walk.snapshot.unlisted.insert(below);
            continue;
        };
        if !walk.list(&below, &directory) {
            walk.stop_before(below);
            break;
        }
    }
    walk.snapshot
}

struct Walk<'a> {
    context: &'a ToolContext,
    purpose: Purpose,
    deadline: Instant,
    snapshot: Snapshot,
    /// Directories that were seen and are to be listed.
    waiting: VecDeque<PathBuf>,
}

impl Walk<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn stop_before(&mut self, below: PathBuf) {
        self.snapshot.is_partial = true;
        self.snapshot.unlisted.insert(below);
        self.snapshot.unlisted.extend(self.waiting.drain(..));
    }

    /// Lists a directory; false when there was no time to list all of it.
    fn list(&mut self, below: &Path, directory: &OwnedFd) -> bool {
        let Ok(entries) = Dir::read_from(directory) else {
            self.snapshot.unlisted.insert(below.to_owned());
            return true;
        };
        for (index, entry) in entries.flatten().enumerate() {
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
        let is_protected = context.protected_name(&path).is_some();
        if !is_protected && !matches!(listed_as, FileType::Directory | FileType::Unknown) {
            return;
        }
        let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let kind = file_type(&stat);
        let is_directory = kind == FileType::Directory;
        let is_top = is_protected && context.protected_name(below).is_none();
        let mut is_mounted = false;
        if is_protected && (!is_directory || is_top) {
            let mut kept = None;
            match &mut self.purpose {
                Purpose::Baseline { guarding, mounts_left, room } => {
                    // A link cannot be mounted over, only what it leads to.
                    is_mounted = *mounts_left > 0 && kind != FileType::Symlink;
                    *mounts_left -= usize::from(is_mounted);
                    if !is_mounted && *guarding != Guarding::Nothing {
                        kept = room.keep(directory, &path, &stat).map(Arc::new);
                    }
                }
                Purpose::Comparison { mounted } => is_mounted = mounted.contains(&path),
            }
            let stamp = (!is_directory).then(|| FileStamp::of(&stat));
            self.snapshot.entries.insert(path.clone(), Entry { stamp, kept, is_mounted });
        }
        if is_directory && !is_mounted && !PASSED_OVER.iter().any(|passed| path.ends_with(passed)) {
            self.waiting.push_back(path);
        }
    }
}

fn open(context: &ToolContext, below: &Path) -> Result<OwnedFd, FileError> {
    let root = context.root().ok_or(FileError::NoDirectory)?;
    context.find(&root.join(below))?.open_directory()
}

/// What is at a path now: none when nothing is, and no stamp for a directory.
pub(super) fn look_at(context: &ToolContext, path: &Path) -> Option<Option<FileStamp>> {
    let directory = open(context, path.parent()?).ok()?;
    let stat = rustix::fs::statat(&directory, path.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((file_type(&stat) != FileType::Directory).then(|| FileStamp::of(&stat)))
}
