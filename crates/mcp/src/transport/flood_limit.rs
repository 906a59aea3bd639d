//! A transport that ends with its server and stops floods of messages.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::Instant;

use crate::transport::process::ServerEnd;

/// Unsolicited messages that a server may send in a burst.
const BURST: f64 = 2_000.0;
/// Additional messages per second.
const PER_SECOND: f64 = 200.0;
/// Reason for ending such a server.
pub(crate) const FLOOD: &str = "it sent more messages than anybody asked for";

/// A transport that ends together with its process and enforces the allowance.
pub(crate) struct FloodLimited<T> {
    inner: T,
    end: ServerEnd,
    allowance: Allowance,
    /// True if messages are already counted before they arrive here.
    is_counted: bool,
}

impl<T> FloodLimited<T> {
    pub(crate) fn new(inner: T, end: ServerEnd) -> Self {
        Self { inner, end, allowance: Allowance::default(), is_counted: false }
    }

    /// Wraps a transport whose messages are counted elsewhere.
    pub(crate) fn counted(inner: T, end: ServerEnd, allowance: Allowance) -> Self {
        Self { inner, end, allowance, is_counted: true }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for FloodLimited<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // Each message that we send permits one answer.
        self.allowance.grant();
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        // We hold both ends of the pipes ourselves, so the end of a process does not show as the end of its output.
        // Only the token reports it.
        let received = tokio::select! {
            received = self.inner.receive() => received,
            () = self.end.token.cancelled() => None,
        };
        let Some(message) = received else {
            self.end.record(String::new());
            return None;
        };
        if !self.is_counted && !self.allowance.take(Instant::now()) {
            self.end.record(FLOOD.to_owned());
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Number of unsolicited messages that are still accepted.
#[derive(Debug, Clone)]
pub(crate) struct Allowance(Arc<Mutex<AllowanceState>>);

#[derive(Debug)]
struct AllowanceState {
    messages: f64,
    at: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(AllowanceState { messages: BURST, at: Instant::now() })))
    }
}

impl Allowance {
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut left = self.0.lock();
        let since = now.saturating_duration_since(left.at).as_secs_f64();
        // Permits for answers are not limited by the burst size and do not expire.
        let refilled = left.messages + since * PER_SECOND;
        left.messages = if left.messages > BURST { left.messages } else { refilled.min(BURST) } - 1.0;
        left.at = now;
        left.messages >= 0.0
    }

    fn grant(&self) {
        self.0.lock().messages += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn burst_is_accepted_and_flood_is_not() {
        let start = Instant::now() + Duration::from_secs(60);
        let allowance = Allowance::default();
        assert!((0..2_000).all(|_| allowance.take(start)));
        assert!(!allowance.take(start));
        assert!(allowance.take(start + Duration::from_secs(1)));
    }

    #[test]
    fn answers_are_always_accepted() {
        let now = Instant::now();
        let allowance = Allowance::default();
        (0..10_000).for_each(|_| allowance.grant());
        assert!((0..12_000).all(|_| allowance.take(now)));
        assert!(!allowance.take(now));
    }
}
