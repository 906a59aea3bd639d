//! The data directory: private, locked by the running gateway, and used by local commands to find it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::local::{
    DATABASE_FILE, DRAFTS_DIRECTORY, GATEWAY_FILE, GatewayFile, LOCK_FILE, OWNER_TOKEN_FILE,
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::storage::known_databases::KNOWN_DATABASES_FILE;
use crate::storage::private_file;

/// Files that gateways write into a data directory.
const OWN_FILES: &[&str] = &[
    OWNER_TOKEN_FILE,
    KNOWN_DATABASES_FILE,
    DATABASE_FILE,
    "foreword.db-wal",
    "foreword.db-shm",
    "foreword.db-journal",
    "foreword.db.lock",
];

/// Versions of protected files that commands wrote and that were reverted.
const UNDONE_FILES: &str = "undone";
/// States of protected files before the running commands.
const JOURNAL: &str = "journal";
/// Attempts to take the lock. A command that only checks whether the lock is held takes it for a moment itself.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    /// Held but never read; closing it releases the lock.
    _lock: File,
}

/// Hint for a data directory that belongs to another user.
pub(crate) const OF_ANOTHER: &str =
    "name a directory of your own with --data, or give this one to the user who starts the gateway";

#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    #[error("a gateway is already running on {}{}", path.display(), url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default())]
    Locked {
        path: PathBuf,
        /// Address of the other gateway, if it has announced one.
        url: Option<String>,
    },
    /// Another user could read the secrets in it.
    #[error("the data directory {} belongs to another user", path.display())]
    OfAnother { path: PathBuf },
    #[error("could not {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl DataDirectory {
    /// Creates the directory if needed, makes it private, and locks it.
    pub fn lock(path: &Path) -> Result<Self, DataDirectoryError> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| DataDirectoryError::Io { action, path, source }
        };
        private_file::create_directory(path).map_err(|source| match source.kind() {
            // Only the owner of a directory can change its mode.
            io::ErrorKind::PermissionDenied if path.is_dir() => {
                DataDirectoryError::OfAnother { path: path.to_owned() }
            }
            _ => failed("create the data directory", path)(source),
        })?;
        let lock_path = path.join(LOCK_FILE);
        let lock = private_file::open(&lock_path).map_err(failed("open", &lock_path))?;
        for attempt in 1.. {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if attempt < LOCK_TRIES => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let url = read_gateway_file(path).map(|file| file.url);
                    return Err(DataDirectoryError::Locked { path: path.to_owned(), url });
                }
                Err(TryLockError::Error(source)) => return Err(failed("lock", &lock_path)(source)),
            }
        }
        let directory = Self { path: path.to_owned(), _lock: lock };
        // Removes the announcement of a gateway that did not shut down cleanly.
        directory.withdraw();
        directory.restrict_modes()?;
        Ok(directory)
    }

    /// Restricts files that a copy or a restore from elsewhere left readable by others.
    fn restrict_modes(&self) -> Result<(), DataDirectoryError> {
        let drafts = self.path.join(DRAFTS_DIRECTORY);
        let of_drafts = fs::read_dir(&drafts).into_iter().flatten().flatten().map(|entry| entry.path());
        let own = OWN_FILES.iter().map(|name| self.path.join(name));
        for path in own.chain([drafts.clone(), self.undone_files()]).chain(of_drafts) {
            match private_file::restrict(&path) {
                Ok(true) => tracing::warn!("{} was readable by others and is now private", path.display()),
                Ok(false) => {}
                Err(source) => return Err(DataDirectoryError::Io { action: "make private", path, source }),
            }
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE_FILE)
    }

    /// Returns the directory for reverted versions of protected files.
    pub(crate) fn undone_files(&self) -> PathBuf {
        self.path.join(UNDONE_FILES)
    }

    /// Returns the directory of the journal of running commands.
    pub(crate) fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    pub fn owner_token(&self) -> PathBuf {
        self.path.join(OWNER_TOKEN_FILE)
    }

    /// Writes the gateway's address for local commands.
    pub(crate) fn announce(&self, url: &str) -> Result<(), DataDirectoryError> {
        let file = GatewayFile { url: url.to_owned(), pid: std::process::id() };
        let text = serde_json::to_string(&file).unwrap_or_default();
        self.write(GATEWAY_FILE, &text)
    }

    /// Removes the address written by [`DataDirectory::announce`].
    pub(crate) fn withdraw(&self) {
        let _ = fs::remove_file(self.path.join(GATEWAY_FILE));
    }

    pub(crate) fn keep_owner_token(&self, secret: &SecretString) -> Result<(), DataDirectoryError> {
        self.write(OWNER_TOKEN_FILE, secret.expose_secret())
    }

    pub(crate) fn read_owner_token(&self) -> Result<Option<SecretString>, DataDirectoryError> {
        let path = self.owner_token();
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => Ok(None),
            Ok(text) => Ok(Some(SecretString::from(text.trim().to_owned()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DataDirectoryError::Io { action: "read", path, source }),
        }
    }

    /// Writes a private file atomically, so that readers never see a partial one.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), DataDirectoryError> {
        let path = self.path.join(name);
        let temporary = self.path.join(format!(".{name}.{}", std::process::id()));
        let written = private_file::open(&temporary).and_then(|mut file| {
            file.set_len(0)?;
            writeln!(file, "{text}")?;
            // Without this, a power failure after the rename could leave an empty file under the final name.
            file.sync_all()?;
            fs::rename(&temporary, &path)
        });
        written.map_err(|source| {
            let _ = fs::remove_file(&temporary);
            DataDirectoryError::Io { action: "write", path, source }
        })
    }
}

fn read_gateway_file(path: &Path) -> Option<GatewayFile> {
    serde_json::from_str(&fs::read_to_string(path.join(GATEWAY_FILE)).ok()?).ok()
}
