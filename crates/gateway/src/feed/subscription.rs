//! One connection's interest in one workspace.

use rpc::{Frame, Outgoing};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// A subscription: what is sent for it, until it is ended.
pub(crate) struct Subscription {
    outgoing: Outgoing,
    ended: CancellationToken,
    sending: Mutex<()>,
}

impl Subscription {
    pub(crate) fn new(outgoing: Outgoing) -> Self {
        Self { outgoing, ended: CancellationToken::new(), sending: Mutex::default() }
    }

    /// Sends a notification; false when nothing more may be sent.
    pub(crate) async fn send(&self, frame: Frame) -> bool {
        let _sending = self.sending.lock().await;
        !self.ended.is_cancelled() && self.outgoing.send(frame).await
    }

    /// Ends the subscription. Nothing is sent for it once this returns, so that an answer queued next is the last
    /// word of it, and another subscription the only one.
    pub(crate) async fn end(&self) {
        self.ended.cancel();
        drop(self.sending.lock().await);
    }

    /// Waits until the subscription or its connection is ended.
    pub(crate) async fn over(&self) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            _ = self.outgoing.closed() => {}
            () = self.outgoing.gone() => {}
        }
    }
}
