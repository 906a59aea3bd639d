//! Journal of running commands: the state of protected files before each one, on the disk.
//!
//! A gateway that is killed while a command runs restores nothing. Its next start reads the journal and does it then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use instructions::stored_path;
use protocol::FileChange;
use sandbox::when_released;
use serde::{Deserialize, Serialize};

use super::Guarding;
use super::snapshot::{self, FileStamp, Snapshot, SnapshotEntry};
use super::undo::{EarlierState, Undo, current};
use crate::ToolContext;

const SUFFIX: &str = ".json";
/// Time that the guard of a command has to end it after its gateway was killed. A guard that waits for the heartbeat of a
/// frozen gateway needs the longest.
const GUARD_TIME: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
/// Largest journal that is read. Its files are limited when they are remembered, and their text is escaped in it.
const MAX_BYTES: u64 = 256 << 20;

/// Entry of a running command, which is removed once its changes were undone.
#[derive(Debug)]
pub(super) struct JournalEntry {
    path: PathBuf,
}

/// Protected files of a workspace as they were before a command.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    #[serde(with = "stored_path")]
    root: PathBuf,
    names: Vec<String>,
    /// Paths that are protected with everything below them, and single files.
    trees: Vec<RecordedPath>,
    files: Vec<RecordedPath>,
    entries: Vec<RecordedEntry>,
    unlisted: Vec<RecordedPath>,
    is_partial: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct RecordedPath(#[serde(with = "stored_path")] PathBuf);

#[derive(Debug, Serialize, Deserialize)]
struct RecordedEntry {
    path: RecordedPath,
    stamp: Option<FileStamp>,
    kept: Option<EarlierState>,
    is_mounted: bool,
}

/// Protected files of a workspace that a killed gateway had left changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFiles {
    /// Root of the workspace.
    pub root: PathBuf,
    /// Restored files, relative to the root.
    pub restored: Vec<PathBuf>,
    /// Files that are different now and could not be restored, or were changed after the command's end.
    pub left: Vec<PathBuf>,
    /// Locations of the replaced versions.
    pub set_aside: Vec<PathBuf>,
}

impl JournalEntry {
    /// Writes the state before a command. `None` if the context has no journal.
    pub(super) fn write(
        context: &ToolContext,
        guarding: Guarding,
        before: &Snapshot,
    ) -> io::Result<Option<Self>> {
        let (Some(directory), Some(root)) = (context.journal(), context.root()) else { return Ok(None) };
        if guarding == Guarding::Nothing {
            return Ok(None);
        }
        let recorded = Recorded::of(root, context, before);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        // Named by time, so that the entries of concurrent commands are restored in the order of their beginning.
        let path = directory.join(format!("{}{SUFFIX}", super::undo::unique()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        let entry = Self { path };
        let written = serde_json::to_writer(io::BufWriter::new(&file), &recorded)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            // Without this, a power failure could keep the command's changes and lose the journal.
            .and_then(|()| file.sync_data());
        match written {
            Ok(()) => Ok(Some(entry)),
            Err(error) => {
                entry.remove();
                Err(error)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "failed to remove journal entry");
        }
    }
}

impl Recorded {
    fn of(root: &Path, context: &ToolContext, before: &Snapshot) -> Self {
        let paths = |paths: Vec<PathBuf>| paths.into_iter().map(RecordedPath).collect();
        let (names, trees, files) = context.protected();
        Self {
            root: root.to_owned(),
            names,
            trees: paths(trees),
            files: paths(files),
            entries: before
                .entries
                .iter()
                .map(|(path, entry)| RecordedEntry {
                    path: RecordedPath(path.clone()),
                    stamp: entry.stamp,
                    kept: entry.kept.as_deref().cloned(),
                    is_mounted: entry.is_mounted,
                })
                .collect(),
            unlisted: paths(before.unlisted.iter().cloned().collect()),
            is_partial: before.is_partial,
        }
    }

    fn snapshot(entries: Vec<RecordedEntry>, unlisted: Vec<RecordedPath>, is_partial: bool) -> Snapshot {
        let entries: BTreeMap<PathBuf, SnapshotEntry> = entries
            .into_iter()
            .map(|entry| {
                let kept = entry.kept.map(Arc::new);
                let snapshot = SnapshotEntry { stamp: entry.stamp, kept, is_mounted: entry.is_mounted };
                (entry.path.0, snapshot)
            })
            .collect();
        let unlisted: BTreeSet<PathBuf> = unlisted.into_iter().map(|path| path.0).collect();
        Snapshot { entries, unlisted, is_partial }
    }

    /// Restores the files that differ. Those that changed after `ended` are the work of someone else.
    fn restore(self, set_aside: &Path, ended: Option<(i64, u64)>) -> io::Result<RestoredFiles> {
        let inside = |paths: Vec<RecordedPath>| paths.into_iter().map(|path| path.0).collect::<Vec<_>>();
        let context = ToolContext::open(&self.root, &self.root).map_err(io::Error::other)?;
        let context = context.with_protected(self.names, inside(self.trees), inside(self.files));
        let context = context.with_set_aside(set_aside);
        let before = Self::snapshot(self.entries, self.unlisted, self.is_partial);
        let mounted = before.entries.iter().filter(|(_, entry)| entry.is_mounted);
        let after = snapshot::after(&context, mounted.map(|(path, _)| path.clone()).collect());
        let mut undo = Undo::new(&context);
        let mut result = RestoredFiles {
            root: self.root.clone(),
            restored: Vec::new(),
            left: Vec::new(),
            set_aside: Vec::new(),
        };
        for (path, change, kept) in before.differences(&after) {
            // An earlier entry may have restored the file, and a restored file has a new inode.
            if kept.is_some() && current(&context, &path).as_ref() == kept.as_deref() {
                continue;
            }
            let changed = after.entries.get(&path).and_then(|entry| entry.stamp).map(|stamp| stamp.changed());
            let is_later =
                change != FileChange::Removed && ended.zip(changed).is_some_and(|(end, at)| at > end);
            if !is_later && undo.undo(&path, change, kept.as_deref()) {
                result.restored.push(path);
            } else {
                result.left.push(path);
            }
        }
        result.set_aside = undo.set_aside();
        Ok(result)
    }
}

/// Undoes what commands of a killed gateway did to protected files, and empties its journal. Waits until no process of these
/// commands is left.
pub fn restore_after_kill(journal: &Path, set_aside: &Path) -> Vec<RestoredFiles> {
    let entries = std::fs::read_dir(journal).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut entries: Vec<PathBuf> =
        entries.filter(|path| path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes())).collect();
    entries.sort();
    let mut all = Vec::new();
    for path in entries {
        match restore_entry(&path, set_aside) {
            Ok(restored) => {
                if !restored.restored.is_empty() || !restored.left.is_empty() {
                    all.push(restored);
                }
                JournalEntry { path }.remove();
            }
            // Kept under another name: a workspace that is not mounted now must not delay every start, and the earlier
            // state of its files is in it.
            Err(error) => {
                let kept = path.with_extension("unusable");
                tracing::warn!(%error, entry = %kept.display(), "failed to restore protected files");
                let _ = std::fs::rename(&path, &kept);
            }
        }
    }
    all
}

fn restore_entry(path: &Path, set_aside: &Path) -> io::Result<RestoredFiles> {
    let file = wait_for_guard(path)?;
    let mut text = String::new();
    (&file).seek(SeekFrom::Start(0))?;
    (&file).take(MAX_BYTES).read_to_string(&mut text)?;
    let (recorded, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let recorded: Recorded = serde_json::from_str(recorded)?;
    recorded.restore(set_aside, when_released(rest))
}

/// Opens an entry once its guard, which locks it, has ended.
fn wait_for_guard(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).open(path)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < GUARD_TIME => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("a process of its command did not end"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}
