//! Listeners that follow a turn while it runs.

use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::TurnId;

/// Receives a turn's answer as it is produced.
pub trait TurnListener: Send + Sync + 'static {
    /// Receives the next piece of the answer. The model's stream is not read further until this returns.
    fn delta<'a>(&'a self, turn_id: &'a TurnId, index: u64, text: &'a str) -> BoxFuture<'a, ()>;

    /// Reports that the provider failed and will be asked again after `delay`.
    fn retrying<'a>(
        &'a self,
        turn_id: &'a TurnId,
        attempt: u32,
        delay: Duration,
        message: &'a str,
    ) -> BoxFuture<'a, ()>;

    /// Returns true once the listener has disconnected; a queued turn is then dropped.
    fn is_gone(&self) -> bool;

    /// Identifies the recipient, so that two listeners of one recipient are notified once.
    fn recipient(&self) -> Option<u64> {
        None
    }
}
