//! Readiness: the database answers and accepts writes.

use std::time::{Duration, Instant};

use store::{Store, StoreError};
use tokio::sync::Mutex;

/// Lifetime of a write probe, so that frequent health checks do not keep the disk busy.
const WRITE_COUNTS_FOR: Duration = Duration::from_secs(1);

/// Result of the latest write probe.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    written: Mutex<Option<(Instant, Result<(), &'static str>)>>,
}

impl Readiness {
    /// Returns a short reason if the gateway is not ready. The endpoint is public, so the reason must not contain
    /// details.
    pub(crate) async fn check(&self, store: &Store) -> Result<(), &'static str> {
        store.ping().await.map_err(reason)?;
        // Held during the probe, so that concurrent checks share one write.
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
    tracing::warn!(error = %problem, "readiness check failed");
    match problem {
        StoreError::DiskFull => "the disk that holds the database is full",
        StoreError::Unavailable(_) => "the database does not answer",
        _ => "the database cannot be written",
    }
}
