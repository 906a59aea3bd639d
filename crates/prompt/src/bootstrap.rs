//! The files of the home directory that say who the model is and whom it works for.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::ContentHash;
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode};
use rustix::fs::{Mode, OFlags};

use crate::budget::Budgets;
use crate::texts;

/// Most bytes that are read of a file, whatever the budgets say: nobody's character fills four megabytes.
const MAX_BYTES: usize = 4 << 20;

/// A file of the home directory that becomes a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapKind {
    /// Its name.
    pub name: &'static str,
    /// The section it becomes.
    pub section_id: &'static str,
    /// What it says at first; such a file is the model's to evolve, and is made when it is absent.
    pub(crate) at_first: Option<&'static str>,
}

/// All of them, in the order in which they share what they may have together.
pub const BOOTSTRAP_FILES: &[BootstrapKind] = &[
    BootstrapKind { name: "SOUL.md", section_id: "soul_core", at_first: Some(texts::SOUL) },
    BootstrapKind { name: "IDENTITY.md", section_id: "identity_core", at_first: Some(texts::OWN_IDENTITY) },
    BootstrapKind { name: "USER.md", section_id: "user_persona", at_first: None },
];

impl BootstrapKind {
    /// Whether the model may change it.
    pub fn evolves(&self) -> bool {
        self.at_first.is_some()
    }
}

/// A bootstrap file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapFile {
    /// Which.
    pub kind: BootstrapKind,
    /// Where it is.
    pub path: PathBuf,
    /// Its text, or the first of it.
    pub text: String,
    /// SHA-256 of what was read.
    pub sha256: ContentHash,
    /// Whether there is more of it than was read.
    pub longer: bool,
}

/// All that were there, and what was wrong with the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootstrapFiles {
    /// The files.
    pub files: Vec<BootstrapFile>,
    /// What was found on the way.
    pub diagnostics: Vec<PromptDiagnostic>,
}

/// Bootstrap files cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// Something else has the name of one.
    #[error("{} is a directory, but must be a file", path.display())]
    IsADirectory {
        /// Where.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// Makes the files that are absent. One that exists is never touched, also if it is empty.
pub fn create_bootstrap_files(home: &Path) -> Result<Vec<PathBuf>, BootstrapError> {
    let mut created = Vec::new();
    for kind in BOOTSTRAP_FILES {
        let path = home.join(kind.name);
        if path.is_dir() {
            return Err(BootstrapError::IsADirectory { path });
        }
        let Some(text) = kind.at_first else { continue };
        // A link that leads nowhere is there, too: what it should lead to is for its owner to say.
        if path.symlink_metadata().is_ok() {
            continue;
        }
        let refused = |source| BootstrapError::Write { path: path.clone(), source };
        create_private(home).map_err(|source| BootstrapError::Write { path: home.to_owned(), source })?;
        match write_new(&path, text) {
            Ok(()) => created.push(path),
            // Somebody else was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(created)
}

/// Makes a directory for this user alone where there is none.
fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Written beside its place first, so that nobody ever reads half of it.
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
        // Unlike a rename, a link fails where something is already there.
        fs::hard_link(&beside, path)
    })();
    let _ = fs::remove_file(&beside);
    written
}

impl BootstrapFiles {
    /// Reads the files of a home directory, as much of each as could be used.
    pub fn read(home: &Path, limits: &Budgets) -> Self {
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

/// Reads enough for so many characters. What is judged is what was opened, so a pipe or device never hangs.
fn read_file(path: &Path, characters: usize) -> io::Result<(Vec<u8>, bool)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // A character has at most four bytes; one more tells that there is more.
    let limit = characters.saturating_mul(4).saturating_add(4).min(MAX_BYTES);
    let mut bytes = Vec::new();
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    let longer = bytes.len() > limit;
    bytes.truncate(limit);
    Ok((bytes, longer))
}

fn decode(bytes: &[u8], longer: bool) -> (String, bool) {
    // A cut may have split the last character, which is nobody's fault.
    let (text, lossy) = match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(error) if longer && error.error_len().is_none() => {
            (String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(), false)
        }
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
    };
    (text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text), lossy)
}
