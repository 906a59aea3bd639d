//! Captured log of a gateway.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Everything that was logged.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures the log of the current thread, on which a single-threaded test runs its whole gateway.
    pub(crate) fn capture(&self, level: tracing::Level) -> DefaultGuard {
        // A thread's own subscriber keeps the logs of parallel tests apart.
        let writer = self.clone();
        let capturing = tracing_subscriber::fmt().with_max_level(level);
        capturing.with_writer(move || writer.clone()).set_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
