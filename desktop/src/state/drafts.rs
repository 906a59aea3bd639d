//! Drafts: unsaved text kept on this machine, so that a crash loses nothing.
//!
//! Several windows, in one process or several, may edit one document, and none may overwrite another's draft.
//! Each window locks a folder of its own. The next window that opens a document takes over the drafts of
//! windows that are gone.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use client::{LocalDraft, Scope};
use protocol::{InstanceId, WorkspaceId};

use crate::state::files::{self, FileError};

/// Limit of folders, far above the number of windows in practice.
const MOST_FOLDERS: u32 = 1000;

/// The drafts of one window.
#[derive(Debug)]
pub struct Drafts {
    all: PathBuf,
    own: PathBuf,
    /// Lock that is held while the window exists.
    _lock: File,
}

impl Drafts {
    /// Locks the first free folder.
    pub fn open(state: &Path) -> io::Result<Self> {
        let all = state.join("drafts");
        // Numbers are reused, so that a restarted application finds its drafts in the folder it had before.
        // The lock ends with the process, even after a crash; a file with a process id would have to be
        // cleaned up.
        for number in 1..=MOST_FOLDERS {
            let own = all.join(number.to_string());
            if let Some(lock) = lock(&own)? {
                return Ok(Self { all, own, _lock: lock });
            }
        }
        Err(io::Error::other("too many windows are open"))
    }

    /// Counts the documents of a workspace with a draft that no other window uses.
    pub fn left(&self, instance: &InstanceId, workspace_id: &WorkspaceId) -> usize {
        let Ok(folders) = fs::read_dir(&self.all) else { return 0 };
        let place = PathBuf::from(plain(instance.as_str())).join(plain(workspace_id.as_str()));
        let mut documents = HashSet::new();
        for folder in folders.flatten().map(|entry| entry.path()) {
            let Ok(files) = fs::read_dir(folder.join(&place)) else { continue };
            // Locks the folder while its files are listed, so that no window starts to use them meanwhile. A
            // window's own folder is locked already, and a second lock of it in the same process would fail.
            let lock = if folder == self.own { None } else { lock(&folder).ok().flatten() };
            if folder == self.own || lock.is_some() {
                let names = files.flatten().map(|file| file.file_name());
                documents
                    .extend(names.filter(|name| Path::new(name).extension().is_some_and(|it| it == "json")));
            }
        }
        documents.len()
    }

    /// Returns the draft file of a document.
    pub fn of(&self, instance: &InstanceId, workspace_id: &WorkspaceId, scope: &Scope) -> DraftFile {
        // The database is part of the path: after a restore or on another gateway, equal ids may belong to
        // different documents.
        let place = scope.as_ref().map_or_else(|| "root".to_owned(), |id| plain(id.as_str()));
        let name = PathBuf::from(plain(instance.as_str()))
            .join(plain(workspace_id.as_str()))
            .join(format!("{place}.json"));
        DraftFile { all: self.all.clone(), own: self.own.clone(), name }
    }
}

/// Locks a folder. `None` if another window holds it.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    files::make_directory(folder)?;
    let file = File::create(folder.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// The file of one document's draft.
#[derive(Debug, Clone)]
pub struct DraftFile {
    all: PathBuf,
    own: PathBuf,
    name: PathBuf,
}

impl DraftFile {
    fn path(&self) -> PathBuf {
        self.own.join(&self.name)
    }

    /// Loads the draft that a crash left in this window's folder or in that of a window that is gone. A
    /// damaged draft is set aside, so that new text does not overwrite it, and added to `problems`.
    pub fn load(&self, problems: &mut Vec<DraftProblem>) -> Result<Option<LocalDraft>, FileError> {
        if let Some(draft) = read(&self.path(), problems)? {
            return Ok(Some(draft));
        }
        let Ok(folders) = fs::read_dir(&self.all) else { return Ok(None) };
        for folder in folders.flatten().map(|entry| entry.path()).filter(|folder| *folder != self.own) {
            let left = folder.join(&self.name);
            if !left.is_file() {
                continue;
            }
            // A locked folder belongs to a living window, which keeps its draft.
            let Ok(Some(_lock)) = lock(&folder) else { continue };
            if let Some(draft) = read(&left, problems)? {
                // Written before it is removed: a crash in between leaves two equal drafts instead of none.
                files::write(&self.path(), &draft)?;
                files::remove(&left)?;
                return Ok(Some(draft));
            }
        }
        Ok(None)
    }

    pub fn keep(&self, draft: &LocalDraft) -> Result<(), FileError> {
        files::write(&self.path(), draft)
    }

    pub fn forget(&self) -> Result<(), FileError> {
        files::remove(&self.path())
    }
}

/// A draft that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("a draft was kept for this document and cannot be read: {source}\nit is now {}", aside.display())]
pub struct DraftProblem {
    source: FileError,
    aside: PathBuf,
}

fn read(path: &Path, problems: &mut Vec<DraftProblem>) -> Result<Option<LocalDraft>, FileError> {
    files::read(path).or_else(|source| {
        // Other errors, such as missing permissions, may pass, and the draft is still intact.
        if !source.is_damage() {
            return Err(source);
        }
        problems.push(DraftProblem { source, aside: files::set_aside(path)? });
        Ok(None)
    })
}

/// Turns an id into a file name.
fn plain(id: &str) -> String {
    // A gateway chooses its ids. Without this, a malicious one could name paths like `../..` and have files
    // written there.
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> LocalDraft {
        let mut editing = client::Editing::new(None);
        editing.edit(text, std::time::Instant::now());
        editing.draft().unwrap()
    }

    fn file(drafts: &Drafts) -> DraftFile {
        drafts.of(&"i".parse().unwrap(), &"../w".parse().unwrap(), &None)
    }

    #[test]
    fn windows_do_not_overwrite_each_others_drafts() {
        let state = tempfile::tempdir().unwrap();
        let first = Drafts::open(state.path()).unwrap();
        let second = Drafts::open(state.path()).unwrap();
        file(&first).keep(&draft("first")).unwrap();
        file(&second).keep(&draft("second")).unwrap();
        assert_eq!(file(&first).load(&mut Vec::new()).unwrap(), Some(draft("first")));
        let left = |drafts: &Drafts| drafts.left(&"i".parse().unwrap(), &"../w".parse().unwrap());
        file(&first).forget().unwrap();
        assert_eq!(left(&first), 0, "another window uses that draft");
        drop(second);
        assert_eq!(left(&first), 1);
        // Any window takes over the draft of the one that is gone, whatever the numbers of their folders.
        assert_eq!(file(&first).load(&mut Vec::new()).unwrap(), Some(draft("second")));
        let third = Drafts::open(state.path()).unwrap();
        assert_eq!(file(&third).load(&mut Vec::new()).unwrap(), None, "it was taken over already");
    }

    #[test]
    fn a_damaged_draft_is_not_overwritten() {
        let state = tempfile::tempdir().unwrap();
        let drafts = Drafts::open(state.path()).unwrap();
        file(&drafts).keep(&draft("typed")).unwrap();
        fs::write(file(&drafts).path(), "{\"text\": \"half of it").unwrap();
        let mut problems = Vec::new();
        assert_eq!(file(&drafts).load(&mut problems).unwrap(), None);
        file(&drafts).keep(&draft("typed later")).unwrap();
        assert_eq!(fs::read_to_string(&problems[0].aside).unwrap(), "{\"text\": \"half of it");
        assert!(problems[0].to_string().contains("root.json"), "{}", problems[0]);
        assert_eq!(file(&drafts).load(&mut problems).unwrap(), Some(draft("typed later")));
    }

    #[test]
    fn an_id_is_not_a_path() {
        let state = tempfile::tempdir().unwrap();
        let drafts = Drafts::open(state.path()).unwrap();
        assert!(file(&drafts).path().ends_with("i/___w/root.json"));
    }
}
