//! Requests to stop: Ctrl-C and SIGTERM.

use crate::failure::{Exit, Failure};

/// Receiver of Ctrl-C and SIGTERM.
pub(crate) struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl StopSignals {
    /// Waits for an orderly shutdown, unless a second signal asks to stop immediately.
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
    /// Starts listening. Signals that arrive between two calls of [`next`](Self::next) are not lost.
    pub(crate) fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| Failure::caused_by(Exit::Failed, "could not listen for signals", error);
        Ok(Self {
            // Listening replaces the default action: from now on these signals no longer end the process.
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
