//! Keys in files.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use protocol::Hint;
use rustix::fs::{Mode, OFlags};
use secrecy::SecretString;
use thiserror::Error;

/// Most bytes of a key file.
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// Reason why a key file is rejected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("failed to read the key file {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// It is not a regular file.
    #[error("the key file {} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// Other users can read or write it.
    #[error("the key file {} has mode {mode:04o}, so that others could use it", path.display())]
    Exposed { path: PathBuf, mode: u32 },
    /// It is empty or contains characters that no key has.
    #[error("the key file {} does not contain a key", .0.display())]
    NotAKey(PathBuf),
}

impl Hint for KeyFileError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Exposed { path, .. } => Some(format!("chmod 600 {}", path.display()).into()),
            Self::NotAKey(_) => Some("one line of visible ASCII characters".into()),
            Self::Unreadable { .. } | Self::NotAFile(_) => None,
        }
    }
}

/// Reads the key from a file of mode 0600.
///
/// All checks apply to the opened file, which is opened without waiting for the other end of a pipe.
pub fn key_from_file(path: &Path) -> Result<SecretString, KeyFileError> {
    let unreadable = |source| KeyFileError::Unreadable { path: path.to_owned(), source };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(KeyFileError::NotAFile(path.to_owned()));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    // Execute permission of the owner is rejected as well: it hints at a file that is not meant to hold a key.
    if mode & 0o177 != 0 {
        return Err(KeyFileError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MAX_KEY_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    let key = text.trim();
    let fits = !key.is_empty()
        && text.len() as u64 <= MAX_KEY_BYTES
        // A file with a second line or with blanks inside is more likely a note or an environment file than a key. Sent
        // as a header, its content would end up at the provider.
        && key.bytes().all(|byte| byte.is_ascii_graphic());
    if !fits {
        return Err(KeyFileError::NotAKey(path.to_owned()));
    }
    Ok(SecretString::from(key))
}
