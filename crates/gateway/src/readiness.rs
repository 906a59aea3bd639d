//! Whether the gateway can do its work: the database answers, and takes a write.

use std::time::{Duration, Instant};

use store::{Store, StoreError};
use tokio::sync::Mutex;

/// How long a write that was tried counts, so that whoever asks often does not keep the disk busy.
const WRITE_COUNTS_FOR: Duration = Duration::from_secs(1);

/// Remembers the last write that was tried.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    written: Mutex<Option<(Instant, Result<(), &'static str>)>>,
}

impl Readiness {
    /// Nothing, or in a few words why not: whoever asks needs no token.
    pub(crate) async fn check(&self, store: &Store) -> Result<(), &'static str> {
        store.ping().await.map_err(reason)?;
        // Those who ask at the same time wait for one write.
        let mut written = self.written.lock().await;
        if let Some((tried, outcome)) = *written
            && tried.elapsed() < WRITE_COUNTS_FOR
        {
            return outcome;
        }
        let outcome = store.check_writes().await.map_err(reason);
        *written = Some((Instant::now(), outcome));
        outcome
    }
}

fn reason(problem: StoreError) -> &'static str {
    tracing::warn!(error = %problem, "not ready");
    match problem {
        StoreError::DiskFull => "the disk that holds the database is full",
        StoreError::Unavailable(_) => "the database does not answer",
        _ => "the database cannot be written",
    }
}
