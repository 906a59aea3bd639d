//! Edits a text in the user's editor.

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use client::Marks;
use protocol::local::DRAFTS_DIRECTORY;
use protocol::{FolderId, Timestamp, Version, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure};

/// The editor where none is chosen.
const FALLBACK: &str = "vi";

/// A text in a file that the editor is opened on. Kept when something goes wrong, removed when all is well.
///
/// Beside it a second file says what it was made from, so that the edit can be continued later.
pub(crate) struct Draft {
    path: PathBuf,
    origin: Option<DraftOrigin>,
}

/// What a draft was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DraftOrigin {
    /// The scope in words.
    pub(crate) scope: String,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) folder_id: Option<FolderId>,
    /// The version that was opened, or merged last; 0 when there was no document.
    pub(crate) version: Version,
    /// Its text.
    pub(crate) base: String,
    /// The marks of merges that were put into the draft.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<Marks>,
}

/// Where drafts are kept.
pub(crate) fn drafts_directory(data: &Path) -> PathBuf {
    data.join(DRAFTS_DIRECTORY)
}

impl Draft {
    /// Writes a text to a new file, which only this user can read, below a directory of ours.
    pub(crate) fn new(directory: &Path, text: &str, origin: DraftOrigin) -> Result<Self, Failure> {
        create_private(directory).map_err(|error| Failure::file("create", directory, error))?;
        let file = tempfile::Builder::new().prefix("AGENTS-").suffix(".md").tempfile_in(directory);
        let file = file.map_err(|error| Failure::file("write to", directory, error))?;
        let (mut file, path) =
            file.keep().map_err(|error| Failure::file("write to", directory, error.error))?;
        file.write_all(text.as_bytes()).map_err(|error| Failure::file("write", &path, error))?;
        let mut draft = Self { path, origin: None };
        draft.set_origin(origin)?;
        Ok(draft)
    }

    /// A draft that an earlier edit has left behind.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        fs::metadata(path).map_err(|error| Failure::file("read", path, error))?;
        let origin = fs::read(origin_path(path)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Self { path: path.to_owned(), origin })
    }

    /// The drafts of a directory, the one that was changed last first.
    pub(crate) fn list(directory: &Path) -> Result<Vec<Self>, Failure> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Failure::file("read", directory, error)),
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let drafts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let mut drafts: Vec<Self> = drafts.filter_map(|path| Self::open(&path).ok()).collect();
        drafts.sort_by_key(|draft| std::cmp::Reverse(draft.modified()));
        Ok(drafts)
    }

    pub(crate) fn origin(&self) -> Option<&DraftOrigin> {
        self.origin.as_ref()
    }

    /// Says what the text is to be compared with from now on.
    pub(crate) fn set_origin(&mut self, origin: DraftOrigin) -> Result<(), Failure> {
        let path = origin_path(&self.path);
        let text = serde_json::to_vec(&origin)
            .map_err(|error| Failure::caused_by(Exit::Failed, "could not write a draft's origin", error))?;
        write_private(&path, &text).map_err(|error| Failure::file("write", &path, error))?;
        self.origin = Some(origin);
        Ok(())
    }

    /// Puts another text into the file.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        write_private(&self.path, text.as_bytes()).map_err(|error| Failure::file("write", &self.path, error))
    }

    /// Keeps the user's own text beside one that it was merged into; says where.
    pub(crate) fn keep_own(&self, text: &str) -> Result<PathBuf, Failure> {
        let path = own_path(&self.path);
        write_private(&path, text.as_bytes()).map_err(|error| Failure::file("write", &path, error))?;
        Ok(path)
    }

    pub(crate) fn modified(&self) -> Option<Timestamp> {
        let modified = fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Timestamp::from_milliseconds(i64::try_from(since.as_millis()).ok()?))
    }

    pub(crate) fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// Where the text is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the editor, waits for it, and reads what it left.
    pub(crate) fn edit(&self) -> Result<String, Failure> {
        let editor = chosen_editor().unwrap_or_else(|| FALLBACK.into());
        // Editors are often given with flags ("code --wait"), so a shell splits the words.
        let status = Command::new("sh")
            .arg("-c")
            .arg(format!("{} \"$1\"", editor.to_string_lossy()))
            .arg("foreword")
            .arg(&self.path)
            .status()
            .map_err(|error| Failure::caused_by(Exit::Failed, "could not start the editor", error))?;
        let kept = format!("your text is kept in {}", self.path.display());
        if !status.success() {
            let message =
                format!("the editor `{}` ended with {status}; nothing was saved", editor.to_string_lossy());
            return Err(Failure::new(Exit::Failed, message)
                .hint(kept)
                .hint("set VISUAL or EDITOR to choose another editor"));
        }
        let bytes = fs::read(&self.path).map_err(|error| Failure::file("read", &self.path, error))?;
        String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            Failure::usage(format!("the text is not UTF-8 (byte {byte}); nothing was saved"))
                .hint(kept)
                .hint("set the editor to save UTF-8")
        })
    }

    /// Removes the file: its text is safe elsewhere.
    pub(crate) fn discard(self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(origin_path(&self.path));
        let _ = fs::remove_file(own_path(&self.path));
    }
}

fn origin_path(path: &Path) -> PathBuf {
    path.with_extension("json")
}

fn own_path(path: &Path) -> PathBuf {
    path.with_extension("mine")
}

/// Writes a file that only this user can read.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}

#[cfg(unix)]
fn create_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(not(unix))]
fn create_private(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)
}

/// Refuses where the editor that everybody has would wait for somebody who is not there. Who has chosen one knows
/// what it needs.
pub(crate) fn check_editor() -> Result<(), Failure> {
    let is_attended = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_attended || chosen_editor().is_some() {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, format!("there is no terminal for the editor `{FALLBACK}`"))
        .hint("save a file with `foreword doc save FILE`, or set VISUAL or EDITOR to a program that needs no terminal"))
}

fn chosen_editor() -> Option<OsString> {
    let set = ["VISUAL", "EDITOR"].into_iter().filter_map(std::env::var_os);
    set.into_iter().find(|editor| !editor.is_empty())
}
