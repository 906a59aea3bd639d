//! The home directory's files that describe the model's character and its user.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::ContentHash;
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode};
use rustix::fs::{Mode, OFlags};

use crate::budget::PromptBudgets;
use crate::texts;

/// Most bytes read of a file, whatever the budgets allow.
const MAX_BYTES: usize = 4 << 20;

/// A file of the home directory that becomes a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapKind {
    /// File name in the home directory.
    pub name: &'static str,
    /// Id of the section that shows the file.
    pub section_id: &'static str,
    /// Initial content of a file that the model may edit; such a file is created if it is absent.
    pub(crate) at_first: Option<&'static str>,
}

/// All bootstrap files, in the order in which they share the common budget.
pub const BOOTSTRAP_FILES: &[BootstrapKind] = &[
    BootstrapKind { name: "SOUL.md", section_id: "soul_core", at_first: Some(texts::SOUL) },
    BootstrapKind { name: "IDENTITY.md", section_id: "identity_core", at_first: Some(texts::OWN_IDENTITY) },
    BootstrapKind { name: "USER.md", section_id: "user_persona", at_first: None },
];

impl BootstrapKind {
    /// Returns true if the model may edit the file.
    pub fn evolves(&self) -> bool {
        self.at_first.is_some()
    }
}

/// A bootstrap file as read from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapFile {
    /// Kind of file.
    pub kind: BootstrapKind,
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file, or its beginning.
    pub text: String,
    /// SHA-256 of the bytes that were read.
    pub sha256: ContentHash,
    /// True if the file is longer than the part that was read.
    pub longer: bool,
}

/// The readable bootstrap files, and the problems of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootstrapFiles {
    /// Files that could be read.
    pub files: Vec<BootstrapFile>,
    /// Problems with files that are missing or unreadable.
    pub diagnostics: Vec<PromptDiagnostic>,
}

/// Error creating the bootstrap files.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// A directory has the name of a bootstrap file.
    #[error("{} is a directory, but must be a file", path.display())]
    IsADirectory {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The file or the home directory could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Path that could not be written.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Creates the bootstrap files that are absent. An existing file is never changed, even if it is empty.
pub fn create_bootstrap_files(home: &Path) -> Result<Vec<PathBuf>, BootstrapError> {
    let mut created = Vec::new();
    for kind in BOOTSTRAP_FILES {
        let path = home.join(kind.name);
        if path.is_dir() {
            return Err(BootstrapError::IsADirectory { path });
        }
        let Some(text) = kind.at_first else { continue };
        // A dangling link also counts as existing: its owner decides what to create at the target.
        if path.symlink_metadata().is_ok() {
            continue;
        }
        let refused = |source| BootstrapError::Write { path: path.clone(), source };
        create_private(home).map_err(|source| BootstrapError::Write { path: home.to_owned(), source })?;
        match write_new(&path, text) {
            Ok(()) => created.push(path),
            // Another gateway created the file between the check and the link.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(created)
}

/// Creates a directory that only this user can read, unless it exists.
fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Writes a file under a temporary name and links it into place, so that a reader never sees half of it.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("md.{}-{number}.new", std::process::id()));
    let written = (|| {
        let mut options = fs::File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // Unlike a rename, a link fails if the target exists, so a file that appeared meanwhile is never replaced.
        fs::hard_link(&beside, path)
    })();
    let _ = fs::remove_file(&beside);
    written
}

impl BootstrapFiles {
    /// Reads the bootstrap files of a home directory, each no further than its budget allows.
    pub fn read(home: &Path, limits: &PromptBudgets) -> Self {
        let mut read = Self::default();
        for kind in BOOTSTRAP_FILES {
            let path = home.join(kind.name);
            let about = |code, message: String| {
                let file = path.to_string_lossy().into_owned();
                PromptDiagnostic::new(code, message).in_section(kind.section_id).in_file(file)
            };
            match read_file(&path, limits.bootstrap_file.min(limits.bootstrap_total)) {
                Ok((bytes, longer)) => {
                    let (text, lossy) = decode(&bytes, longer);
                    if lossy {
                        let message = "bytes that are not UTF-8 are shown as U+FFFD; save the file as UTF-8";
                        read.diagnostics.push(about(PromptDiagnosticCode::FileReadError, message.to_owned()));
                    }
                    let sha256 = ContentHash::of(&bytes);
                    read.files.push(BootstrapFile { kind: *kind, path, text, sha256, longer });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if kind.evolves() {
                        let message = match path.symlink_metadata() {
                            Ok(_) => "it is a link that leads nowhere",
                            Err(_) => "the file is not there; the gateway makes it when it starts",
                        };
                        read.diagnostics.push(about(PromptDiagnosticCode::MissingFile, message.to_owned()));
                    }
                }
                Err(error) => {
                    let message = format!("the file cannot be read: {error}");
                    read.diagnostics.push(about(PromptDiagnosticCode::FileReadError, message));
                }
            }
        }
        read
    }
}

/// Reads enough bytes for `characters` characters, and returns true if there are more.
fn read_file(path: &Path, characters: usize) -> io::Result<(Vec<u8>, bool)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    // The file type is checked on the descriptor, not on the path: with `NONBLOCK`, opening a pipe or device returns
    // immediately, and the check cannot be raced.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // A character has at most four bytes, and four more leave space for a byte order mark. The extra byte that is
    // requested below shows whether the file continues.
    let limit = characters.saturating_mul(4).saturating_add(4).min(MAX_BYTES);
    let mut bytes = Vec::new();
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    let longer = bytes.len() > limit;
    bytes.truncate(limit);
    Ok((bytes, longer))
}

fn decode(bytes: &[u8], longer: bool) -> (String, bool) {
    // The limit may have split the last character. That is our doing, not a defect of the file.
    let (text, lossy) = match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(error) if longer && error.error_len().is_none() => {
            (String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(), false)
        }
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
    };
    (text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text), lossy)
}
