//! Edits a text in the user's editor.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Exit, Failure};

/// A text in a file that the editor is opened on. Kept when something goes wrong, removed when all is well.
pub(crate) struct Draft {
    path: PathBuf,
}

impl Draft {
    /// Writes a text to a new file, which only this user can read, below a directory of ours.
    pub(crate) fn new(directory: &Path, name: &str, text: &str) -> Result<Self, Failure> {
        create_private(directory).map_err(|error| Failure::file("create", directory, error))?;
        let prefix = format!("{name}-");
        let file = tempfile::Builder::new().prefix(&prefix).suffix(".md").tempfile_in(directory);
        let file = file.map_err(|error| Failure::file("write to", directory, error))?;
        let (mut file, path) =
            file.keep().map_err(|error| Failure::file("write to", directory, error.error))?;
        file.write_all(text.as_bytes()).map_err(|error| Failure::file("write", &path, error))?;
        Ok(Self { path })
    }

    /// Where the text is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the editor, waits for it, and reads what it left.
    pub(crate) fn edit(&self) -> Result<String, Failure> {
        let editor = editor();
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
    }
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

fn editor() -> OsString {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|editor| !editor.is_empty())
        .unwrap_or_else(|| "vi".into())
}
