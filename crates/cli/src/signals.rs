//! Polite requests to end.

use crate::failure::{Exit, Failure};

/// Ctrl-C, or another polite request to end.
pub(crate) struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl StopSignals {
    /// Ends as asked, but does not insist on doing so properly.
    pub(crate) async fn unless_asked_again<T>(
        &mut self,
        ending: impl Future<Output = T>,
    ) -> Result<Exit, Failure> {
        tokio::select! {
            _ = ending => Ok(Exit::Done),
            () = self.next() => Err(Failure::new(Exit::Failed, "stopped before everything was finished")),
        }
    }
}

#[cfg(unix)]
impl StopSignals {
    /// Listens from now on: a signal between two questions is not lost.
    pub(crate) fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| Failure::caused_by(Exit::Failed, "could not listen for signals", error);
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl StopSignals {
    pub(crate) fn listen() -> Result<Self, Failure> {
        Ok(Self {})
    }

    pub(crate) async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
