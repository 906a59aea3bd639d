//! A transport that ends with its server, and that a flood ends.

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::Instant;

use crate::process::End;

/// Messages that a server may send at once without having been asked.
const BURST: f64 = 2_000.0;
/// How many more it may send each second.
const PER_SECOND: f64 = 200.0;

/// A transport whose end is known.
pub(crate) struct Watched<T> {
    inner: T,
    end: End,
    allowance: Allowance,
}

impl<T> Watched<T> {
    pub(crate) fn new(inner: T, end: End) -> Self {
        Self { inner, end, allowance: Allowance::new(Instant::now()) }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let received = tokio::select! {
            received = self.inner.receive() => received,
            () = self.end.token.cancelled() => None,
        };
        let Some(message) = received else {
            self.end.tell(String::new());
            return None;
        };
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        if !is_answer && !self.allowance.take(Instant::now()) {
            self.end.tell("it sent more messages than anybody asked for".to_owned());
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// How many unasked messages are still taken.
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    fn new(now: Instant) -> Self {
        Self { left: BURST, at: now }
    }

    fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * PER_SECOND).min(BURST) - 1.0;
        self.at = now;
        self.left >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_taken_and_a_flood_is_not() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        assert!((0..2_000).all(|_| allowance.take(start)));
        assert!(!allowance.take(start));
        assert!(allowance.take(start + Duration::from_secs(1)));
    }
}
