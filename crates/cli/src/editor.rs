//! Editing a text in the user's editor.

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

/// Default editor.
const FALLBACK: &str = "vi";

/// A file opened in the editor. It is deleted on success and kept if anything fails.
///
/// A second file beside it records the text's origin, so that the edit can be continued later.
pub(crate) struct Draft {
    path: PathBuf,
    origin: Option<DraftOrigin>,
}

/// Origin of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DraftOrigin {
    /// Description of the scope.
    pub(crate) scope: String,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) folder_id: Option<FolderId>,
    /// Version that was opened or last merged; 0 if there was no document.
    pub(crate) version: Version,
    /// Text of that version.
    pub(crate) base: String,
    /// Conflict markers that merges left in the draft.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<Marks>,
}

/// Returns the directory of drafts.
pub(crate) fn drafts_directory(data: &Path) -> PathBuf {
    data.join(DRAFTS_DIRECTORY)
}

impl Draft {
    /// Writes a text to a new private file in our directory.
    pub(crate) fn new(directory: &Path, text: &str, origin: DraftOrigin) -> Result<Self, Failure> {
        // Drafts may contain unpublished text, so other users of the machine must not read them.
        create_private(directory).map_err(|error| Failure::file("create", directory, error))?;
        let file = tempfile::Builder::new().prefix("AGENTS-").suffix(".md").tempfile_in(directory);
        let file = file.map_err(|error| Failure::file("write to", directory, error))?;
        // The temporary file becomes a permanent one, because a crash must not delete the user's text.
        let (mut file, path) =
            file.keep().map_err(|error| Failure::file("write to", directory, error.error))?;
        file.write_all(text.as_bytes()).map_err(|error| Failure::file("write", &path, error))?;
        let mut draft = Self { path, origin: None };
        draft.set_origin(origin)?;
        Ok(draft)
    }

    /// Opens a draft left by an earlier edit.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        fs::metadata(path).map_err(|error| Failure::file("read", path, error))?;
        // A draft without a readable origin is listed all the same, so that its text can be saved by hand.
        let origin = fs::read(origin_path(path)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Self { path: path.to_owned(), origin })
    }

    /// Returns the drafts of a directory, most recently changed first.
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

    /// Sets the origin that the text is compared with from now on.
    pub(crate) fn set_origin(&mut self, origin: DraftOrigin) -> Result<(), Failure> {
        // The origin is written before anything is edited, so that even a draft that survives a crash can be
        // resumed.
        let path = origin_path(&self.path);
        let text = serde_json::to_vec(&origin)
            .map_err(|error| Failure::caused_by(Exit::Failed, "could not write a draft's origin", error))?;
        write_private(&path, &text).map_err(|error| Failure::file("write", &path, error))?;
        self.origin = Some(origin);
        Ok(())
    }

    /// Replaces the text in the file.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        write_private(&self.path, text.as_bytes()).map_err(|error| Failure::file("write", &self.path, error))
    }

    /// Saves the user's own text beside a merged one and returns its path.
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

    /// Returns the path of the text.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs the editor and returns the edited text.
    pub(crate) fn edit(&self) -> Result<String, Failure> {
        let editor = chosen_editor().unwrap_or_else(|| FALLBACK.into());
        // EDITOR often contains arguments ("code --wait"), so let a shell split it.
        let status = Command::new("sh")
            .arg("-c")
            .arg(format!("{} \"$1\"", editor.to_string_lossy()))
            .arg("foreword")
            .arg(&self.path)
            .status()
            .map_err(|error| Failure::caused_by(Exit::Failed, "could not start the editor", error))?;
        let kept = format!("the text is kept in {}", self.path.display());
        // Exiting with an error, such as by `:cq` in vi, is the way to abandon an edit, so nothing is saved.
        if !status.success() {
            let message =
                format!("the editor `{}` exited with {status}; nothing was saved", editor.to_string_lossy());
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

    /// Deletes the files once the text is stored elsewhere.
    pub(crate) fn discard(self) {
        // The text is stored elsewhere by now, so a file that cannot be removed only leaves clutter.
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

/// Writes a private file.
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

/// Fails if the default editor would wait at a terminal that does not exist. A user who chose an editor knows its needs.
pub(crate) fn check_editor() -> Result<(), Failure> {
    let is_attended = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_attended || chosen_editor().is_some() {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, format!("no terminal for the editor `{FALLBACK}`"))
        .hint("save a file with `foreword doc save FILE`, or set VISUAL or EDITOR to a program that needs no terminal"))
}

fn chosen_editor() -> Option<OsString> {
    let set = ["VISUAL", "EDITOR"].into_iter().filter_map(std::env::var_os);
    set.into_iter().find(|editor| !editor.is_empty())
}
