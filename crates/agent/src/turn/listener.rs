//! Listeners that follow a turn while it runs.

use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::TurnId;

/// Hears a turn's answer while it comes.
pub trait TurnListener: Send + Sync + 'static {
    /// The next piece of the answer. The model is not listened to before this is done.
    fn delta<'a>(&'a self, turn_id: &'a TurnId, index: u64, text: &'a str) -> BoxFuture<'a, ()>;

    /// The provider could not answer and is asked again after a while.
    fn retrying<'a>(
        &'a self,
        turn_id: &'a TurnId,
        attempt: u32,
        delay: Duration,
        message: &'a str,
    ) -> BoxFuture<'a, ()>;

    /// Whether nobody listens any more; a turn that has not begun then need not.
    fn is_gone(&self) -> bool;

    /// Whom it tells, where two listeners may tell the same one.
    fn recipient(&self) -> Option<u64> {
        None
    }
}
