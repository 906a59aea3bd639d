//! Sees whether a command changed protected files.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use instructions::beneath::file_type;
use rustix::fs::{AtFlags, Dir, FileType, Stat};

use crate::{FileError, ToolContext};

/// Directories whose content is named by its digest, or is as good as that.
const PASSED_OVER: &[&str] = &[".git/objects", ".git/lfs"];
/// How long looking may take.
const MOST_TIME: Duration = Duration::from_secs(5);
/// How many changes are named.
const MOST_NAMED: usize = 20;

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

/// The protected files of a workspace at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    stamps: BTreeMap<PathBuf, Stamp>,
    /// Whether not all directories were looked at.
    partial: bool,
}

impl Snapshot {
    /// Looks at the workspace, directories near the root first.
    pub(super) async fn take(context: &ToolContext) -> Self {
        let context = context.clone();
        let looked = tokio::task::spawn_blocking(move || look(&context));
        looked.await.unwrap_or(Self { partial: true, ..Self::default() })
    }

    /// What is different afterwards.
    pub(super) fn changes(&self, after: &Self) -> Changes {
        let partial = self.partial || after.partial;
        let mut changes = Vec::new();
        for (path, stamp) in &after.stamps {
            match self.stamps.get(path) {
                // It may have been there, and not been reached.
                None if self.partial => {}
                None => changes.push((path.clone(), "new")),
                Some(before) if before != stamp => changes.push((path.clone(), "changed")),
                Some(_) => {}
            }
        }
        let gone = self.stamps.keys().filter(|path| !after.stamps.contains_key(*path) && !after.partial);
        changes.extend(gone.map(|path| (path.clone(), "removed")));
        Changes { changes, partial }
    }
}

/// Protected files that are different than before.
#[derive(Debug)]
pub(super) struct Changes {
    changes: Vec<(PathBuf, &'static str)>,
    partial: bool,
}

impl Changes {
    pub(super) fn paths(&self, root: &Path) -> Vec<PathBuf> {
        self.changes.iter().map(|(path, _)| root.join(path)).collect()
    }

    /// What a model is told.
    pub(super) fn note(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.changes.is_empty() {
            let named = self
                .changes
                .iter()
                .take(MOST_NAMED)
                .map(|(path, what)| format!("{} ({what})", crate::list_dir::one_line(path.as_os_str())));
            let mut named = named.collect::<Vec<_>>().join(", ");
            if self.changes.len() > MOST_NAMED {
                named.push_str(&format!(" and {} more", self.changes.len() - MOST_NAMED));
            }
            notes.push(format!("protected files are different now: {named}. Tell the user"));
        }
        if self.partial {
            notes.push("the workspace is large: not all protected files were watched".to_owned());
        }
        notes
    }
}

fn look(context: &ToolContext) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut left = context.limits().watched_entries;
    let deadline = Instant::now() + MOST_TIME;
    let mut waiting = VecDeque::from([PathBuf::new()]);
    while let Some(below) = waiting.pop_front() {
        if left == 0 || Instant::now() >= deadline {
            snapshot.partial = true;
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
            if left == 0 {
                snapshot.partial = true;
                break;
            }
            left -= 1;
            let path = below.join(&name);
            let protected = context.protected_name(&path).is_some();
            if !protected && !matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                continue;
            }
            let Ok(stat) = rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if file_type(&stat) != FileType::Directory {
                if protected {
                    snapshot.stamps.insert(path, Stamp::of(&stat));
                }
            } else if !PASSED_OVER.iter().any(|passed| path.ends_with(passed)) {
                waiting.push_back(path);
            }
        }
    }
    snapshot
}
