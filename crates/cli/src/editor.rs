//! Edits a text in the user's editor.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Exit, Failure};

/// A text in a file that the editor is opened on. Kept when something goes wrong, removed when all is well.
pub(crate) struct Draft {
    path: PathBuf,
}

impl Draft {
    /// Writes a text to a new file below a directory of ours.
    pub(crate) fn new(directory: &Path, name: &str, text: &str) -> Result<Self, Failure> {
        fs::create_dir_all(directory).map_err(|error| Failure::file("create", directory, &error))?;
        let stamp = protocol::Timestamp::now().milliseconds();
        let path = directory.join(format!("{name}-{stamp}.md"));
        fs::write(&path, text).map_err(|error| Failure::file("write", &path, &error))?;
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
            .map_err(|error| Failure::new(Exit::Failed, format!("could not start the editor: {error}")))?;
        if !status.success() {
            let message =
                format!("the editor `{}` ended with {status}; nothing was saved", editor.to_string_lossy());
            return Err(Failure::new(Exit::Failed, message).hint(format!(
                "your text is in {}; set $VISUAL or $EDITOR to another editor",
                self.path.display()
            )));
        }
        fs::read_to_string(&self.path).map_err(|error| {
            let failure = Failure::file("read", &self.path, &error);
            if error.kind() == std::io::ErrorKind::InvalidData {
                return failure
                    .hint(format!("the text must be UTF-8; it is kept in {}", self.path.display()));
            }
            failure
        })
    }

    /// Removes the file: its text is safe elsewhere.
    pub(crate) fn discard(self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn editor() -> OsString {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|editor| !editor.is_empty())
        .unwrap_or_else(|| "vi".into())
}
