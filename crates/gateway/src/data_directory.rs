//! The data directory: private, locked by the running gateway, and how commands on this machine find it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::local::{DATABASE_FILE, GATEWAY_FILE, GatewayFile, LOCK_FILE, OWNER_TOKEN_FILE};
use secrecy::{ExposeSecret as _, SecretString};

/// How long a lock is tried for: a command that only looks whether it is held holds it for a moment itself.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A data directory that this process has locked.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    /// Held, never read: closing it gives the lock back.
    _lock: File,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    /// Another gateway runs on it.
    #[error("a gateway is already running on {}{}", path.display(), url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default())]
    Locked {
        path: PathBuf,
        /// Where the other gateway listens, if it has said so.
        url: Option<String>,
    },
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DataDirectory {
    /// Makes the directory when there is none, makes it private, and locks it.
    pub fn lock(path: &Path) -> Result<Self, DataDirectoryError> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| DataDirectoryError::Io { action, path, source }
        };
        fs::create_dir_all(path).map_err(failed("create the data directory", path))?;
        make_private(path).map_err(failed("make private", path))?;
        let lock_path = path.join(LOCK_FILE);
        let lock = private_file(&lock_path).map_err(failed("open", &lock_path))?;
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
        // A gateway that did not end well left this behind.
        directory.withdraw();
        Ok(directory)
    }

    /// Where the embedded database is.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE_FILE)
    }

    /// Where the owner's token is.
    pub fn owner_token(&self) -> PathBuf {
        self.path.join(OWNER_TOKEN_FILE)
    }

    /// Tells commands on this machine where the gateway listens.
    pub(crate) fn announce(&self, url: &str) -> Result<(), DataDirectoryError> {
        let file = GatewayFile { url: url.to_owned(), pid: std::process::id() };
        let text = serde_json::to_string(&file).unwrap_or_default();
        self.write(GATEWAY_FILE, &text)
    }

    /// Takes back what [`DataDirectory::announce`] said.
    pub(crate) fn withdraw(&self) {
        let _ = fs::remove_file(self.path.join(GATEWAY_FILE));
    }

    /// Keeps the owner's token where only this user can read it.
    pub(crate) fn keep_owner_token(&self, secret: &SecretString) -> Result<(), DataDirectoryError> {
        self.write(OWNER_TOKEN_FILE, secret.expose_secret())
    }

    /// The owner's token, if there is one.
    pub(crate) fn read_owner_token(&self) -> Result<Option<SecretString>, DataDirectoryError> {
        let path = self.owner_token();
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => Ok(None),
            Ok(text) => Ok(Some(SecretString::from(text.trim().to_owned()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DataDirectoryError::Io { action: "read", path, source }),
        }
    }

    /// Writes a private file in one step, so that nobody reads half of it.
    fn write(&self, name: &str, text: &str) -> Result<(), DataDirectoryError> {
        let path = self.path.join(name);
        let temporary = self.path.join(format!(".{name}.{}", std::process::id()));
        let written = private_file(&temporary).and_then(|mut file| {
            file.set_len(0)?;
            writeln!(file, "{text}")?;
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

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}
