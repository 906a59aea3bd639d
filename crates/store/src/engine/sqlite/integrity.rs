//! Checks of the file's pages. A damaged file must not acknowledge what it may have lost already.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use rusqlite::{ErrorCode, OpenFlags};

use super::connect;
use crate::StoreError;

/// Interval between checks. A check reads the whole file.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// Time that opening waits for the first check, which suffices for files of some hundred megabytes.
const FIRST_TIME: Duration = Duration::from_secs(3);
/// Interval for noticing that the file was closed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Result of the checks: the first damage found.
#[derive(Debug, Default)]
pub(super) struct Integrity(OnceLock<String>);

impl Integrity {
    /// Returns an error if the file is damaged.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match self.0.get() {
            None => Ok(()),
            Some(damage) => Err(StoreError::unavailable(format!(
                "the file is damaged ({damage}); restore a backup with `foreword restore`"
            ))),
        }
    }

    /// Checks the file in a thread, now and periodically until it is closed. Returns after the first check, unless that takes
    /// long.
    pub(super) fn watch(self: &Arc<Self>, path: PathBuf) {
        let (sender, first) = std::sync::mpsc::channel();
        let known = Arc::downgrade(self);
        let watching = std::thread::Builder::new().name("store-check".to_owned()).spawn(move || {
            loop {
                let damage = damage(&path);
                let Some(integrity) = known.upgrade() else { return };
                if let Some(damage) = damage {
                    tracing::error!(path = %path.display(), damage, "the database file is damaged");
                    let _ = integrity.0.set(damage);
                    return;
                }
                drop(integrity);
                let _ = sender.send(());
                if !stays_open(&known, EVERY) {
                    return;
                }
            }
        });
        match watching {
            Ok(_) => drop(first.recv_timeout(FIRST_TIME)),
            Err(error) => tracing::warn!(%error, "failed to start the check of the database file"),
        }
    }
}

/// Waits. Returns false as soon as the file was closed.
fn stays_open(known: &Weak<Integrity>, time: Duration) -> bool {
    let begun = std::time::Instant::now();
    while begun.elapsed() < time {
        if known.strong_count() == 0 {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

/// Returns the first damage of a file. `None` if there is none, or if the check could not run now.
fn damage(path: &std::path::Path) -> Option<String> {
    let checked = connect(path, OpenFlags::empty()).and_then(|connection| {
        let check = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match check {
            Ok(found) => Ok((found != "ok").then_some(found)),
            Err(rusqlite::Error::SqliteFailure(failure, message))
                if matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) =>
            {
                Ok(Some(message.unwrap_or_else(|| failure.to_string())))
            }
            Err(error) => Err(error.into()),
        }
    });
    checked.unwrap_or_else(|error| {
        tracing::warn!(%error, "failed to check the database file");
        None
    })
}
