//! Sees which protected files there are, and whether a command changed any.

mod undo;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use instructions::beneath::file_type;
use protocol::{FileChange, ProtectedChange, SandboxLevel};
use rustix::fs::{AtFlags, Dir, FileType, Stat};

use crate::{FileError, Permission, ToolContext};
use undo::{Kept, Undo};

/// Directories whose content is named by its digest, or is as good as that.
const PASSED_OVER: &[&str] = &[".git/objects", ".git/lfs"];
/// How many changes are named to a model.
const MAX_NAMED: usize = 20;
/// How many protected files are mounted read-only: each costs a mount, or two. What is beyond is looked at afterwards.
const MAX_MOUNTS: usize = 400;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    mode: u64,
    size: u64,
    modified: (i64, u64),
    /// Moves with every change, and nobody can set it.
    changed: (i64, u64),
}

impl Stamp {
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

/// How protected files are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guarding {
    /// They are mounted read-only: only new ones can appear.
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
pub(super) struct Watch {
    context: ToolContext,
    guarding: Guarding,
    before: Snapshot,
}

impl Watch {
    /// Looks at the workspace, directories near the root first.
    pub(super) async fn begin(context: &ToolContext, level: SandboxLevel) -> Self {
        let guarding = Guarding::of(context, level);
        let mut before = look(context, guarding, KeepTexts::Yes).await;
        if guarding == Guarding::Mounts {
            before.choose_mounts();
        }
        Self { context: context.clone(), guarding, before }
    }

    /// What is to be mounted read-only.
    pub(super) fn mounts(&self) -> Vec<PathBuf> {
        let root = self.context.root().unwrap_or(Path::new(""));
        let mounted = self.before.entries.iter().filter(|(_, entry)| entry.is_mounted);
        mounted.map(|(path, _)| root.join(path)).collect()
    }

    /// What is different afterwards, put back where that can be done.
    pub(super) async fn end(self) -> Changes {
        let Self { context, guarding, before } = self;
        let after = look(&context, guarding, KeepTexts::No).await;
        let compared = tokio::task::spawn_blocking(move || {
            let mut undo = Undo::new(&context);
            let is_partial = before.is_partial || after.is_partial;
            let changes = before.differences(&after).into_iter().map(|(path, change)| {
                let kept = before.entries.get(&path).and_then(|entry| entry.kept.as_ref());
                let undone = guarding != Guarding::Nothing && undo.undo(&path, change, kept);
                (path, change, undone)
            });
            let changes = changes.collect();
            Changes { changes, is_partial, set_aside: undo.set_aside() }
        });
        compared.await.unwrap_or_else(|_| Changes::unknown())
    }
}

/// The protected files of a workspace at one moment.
#[derive(Debug, Default)]
struct Snapshot {
    entries: BTreeMap<PathBuf, Entry>,
    /// Whether not all directories were looked at.
    is_partial: bool,
}

#[derive(Debug)]
struct Entry {
    /// None for a directory, of which only matters that it is there: what is in it has entries of its own.
    stamp: Option<Stamp>,
    is_link: bool,
    kept: Option<Kept>,
    is_mounted: bool,
}

impl Snapshot {
    fn choose_mounts(&mut self) {
        // A link cannot be mounted over, only what it leads to.
        let mountable = self.entries.values_mut().filter(|entry| !entry.is_link);
        mountable.take(MAX_MOUNTS).for_each(|entry| entry.is_mounted = true);
    }

    fn differences(&self, after: &Self) -> Vec<(PathBuf, FileChange)> {
        let mut differences: Vec<(PathBuf, FileChange)> = Vec::new();
        for (path, entry) in &after.entries {
            let change = match self.entries.get(path) {
                // It may have been there, and not been reached.
                None if self.is_partial => continue,
                None => FileChange::New,
                // Whoever changed it was not the command.
                Some(before) if before.is_mounted || before.stamp == entry.stamp => continue,
                Some(_) => FileChange::Changed,
            };
            // A new directory is one change, whatever is in it.
            let is_in_new = |(above, _): &(PathBuf, FileChange)| path.starts_with(above);
            if !differences.last().is_some_and(is_in_new) {
                differences.push((path.clone(), change));
            }
        }
        if !after.is_partial {
            let gone = self.entries.iter().filter(|(path, before)| {
                !after.entries.contains_key(*path) && !before.is_mounted && before.stamp.is_some()
            });
            differences.extend(gone.map(|(path, _)| (path.clone(), FileChange::Removed)));
        }
        differences
    }
}

/// Protected files that are different than before.
#[derive(Debug)]
pub(super) struct Changes {
    changes: Vec<(PathBuf, FileChange, bool)>,
    pub(super) is_partial: bool,
    /// Where the command's versions of what was put back are.
    set_aside: Option<PathBuf>,
}

impl Changes {
    fn unknown() -> Self {
        Self { changes: Vec::new(), is_partial: true, set_aside: None }
    }

    /// The directories of changed files.
    pub(super) fn directories(&self, root: &Path) -> Vec<PathBuf> {
        let holding = self.changes.iter().filter_map(|(path, ..)| path.parent());
        holding.map(|directory| root.join(directory)).collect()
    }

    pub(super) fn to_protocol(&self) -> Vec<ProtectedChange> {
        let changes = self.changes.iter().map(|(path, change, undone)| ProtectedChange {
            path: path.to_string_lossy().into_owned(),
            change: *change,
            undone: *undone,
        });
        changes.collect()
    }

    /// What a model is told.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(named) = self.named(true) {
            let mut note = format!("protected files were changed and have been put back: {named}.");
            if let Some(directory) = &self.set_aside {
                note.push_str(&format!(" The command's versions are in {}.", directory.display()));
            }
            notes.push(format!("{note} Tell the user"));
        }
        if let Some(named) = self.named(false) {
            notes.push(format!("protected files are different now: {named}. Tell the user"));
        }
        if self.is_partial {
            notes.push("the workspace is large: not all protected files were watched".to_owned());
        }
        notes
    }

    fn named(&self, undone: bool) -> Option<String> {
        let changes: Vec<_> = self.changes.iter().filter(|change| change.2 == undone).collect();
        let named = changes.iter().take(MAX_NAMED).map(|(path, change, _)| {
            format!("{} ({})", crate::list_dir::one_line(path.as_os_str()), change.name())
        });
        let mut named = named.collect::<Vec<_>>().join(", ");
        if changes.len() > MAX_NAMED {
            named.push_str(&format!(" and {} more", changes.len() - MAX_NAMED));
        }
        (!named.is_empty()).then_some(named)
    }
}

/// Whether what could have to be put back is remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeepTexts {
    Yes,
    No,
}

async fn look(context: &ToolContext, guarding: Guarding, keep: KeepTexts) -> Snapshot {
    let context = context.clone();
    let looked = tokio::task::spawn_blocking(move || walk(&context, guarding, keep));
    looked.await.unwrap_or(Snapshot { is_partial: true, ..Snapshot::default() })
}

fn walk(context: &ToolContext, guarding: Guarding, keep: KeepTexts) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut room = undo::Room::default();
    let deadline = Instant::now() + context.limits().watch_time;
    let mut waiting = VecDeque::from([PathBuf::new()]);
    while let Some(below) = waiting.pop_front() {
        if Instant::now() >= deadline {
            snapshot.is_partial = true;
            break;
        }
        // What cannot be opened was removed meanwhile, or cannot be read by the command either.
        let Ok(directory) = context
            .root()
            .ok_or(FileError::NoDirectory)
            .and_then(|root| context.find(&root.join(&below)))
            .and_then(|place| place.open_directory())
        else {
            continue;
        };
        let Ok(entries) = Dir::read_from(&directory) else { continue };
        for entry in entries.flatten() {
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let path = below.join(&name);
            let is_protected = context.protected_name(&path).is_some();
            if !is_protected && !matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                continue;
            }
            let Ok(stat) = rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = file_type(&stat);
            let is_directory = kind == FileType::Directory;
            let is_top = is_protected && context.protected_name(&below).is_none();
            if is_protected && (!is_directory || is_top) {
                let is_keeping = keep == KeepTexts::Yes && guarding == Guarding::Looks;
                let kept = is_keeping.then(|| room.keep(&directory, &path, &stat)).flatten();
                let stamp = (!is_directory).then(|| Stamp::of(&stat));
                let is_link = kind == FileType::Symlink;
                snapshot.entries.insert(path.clone(), Entry { stamp, is_link, kept, is_mounted: false });
            }
            let is_mountable = is_protected && guarding == Guarding::Mounts;
            if is_directory && !is_mountable && !PASSED_OVER.iter().any(|passed| path.ends_with(passed)) {
                waiting.push_back(path);
            }
        }
    }
    snapshot
}
