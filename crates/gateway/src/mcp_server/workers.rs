//! Threads that read and write the messages of MCP clients.

use tokio::runtime::{Builder, Handle, Runtime};

/// Number of threads. Writing an answer takes milliseconds, and its length is limited.
const THREADS: usize = 2;

/// A runtime of its own, so that large answers do not keep the gateway's other connections waiting.
pub(super) struct Workers(Option<Runtime>);

impl Workers {
    /// Starts the threads. If the system refuses, messages are handled by the gateway's own ones.
    pub(super) fn start() -> Self {
        let started =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("mcp").enable_all().build();
        if let Err(error) = &started {
            tracing::warn!(%error, "failed to start threads for MCP clients");
        }
        Self(started.ok())
    }

    pub(super) fn handle(&self) -> Handle {
        self.0.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Waiting for the threads would block, and the gateway is often dropped on a thread that must not.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
