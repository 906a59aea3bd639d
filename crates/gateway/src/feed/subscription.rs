use rpc::{Frame, Outgoing};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// One connection's subscription to a workspace.
pub(crate) struct Subscription {
    outgoing: Outgoing,
    ended: CancellationToken,
    sending: Mutex<()>,
}

impl Subscription {
    pub(crate) fn new(outgoing: Outgoing) -> Self {
        Self { outgoing, ended: CancellationToken::new(), sending: Mutex::default() }
    }

    /// Sends a notification. Returns false once the subscription or its connection has ended.
    pub(crate) async fn send(&self, frame: Frame) -> bool {
        let _sending = self.sending.lock().await;
        !self.ended.is_cancelled() && self.outgoing.send(frame).await
    }

    /// Ends the subscription. No notification is sent after this returns, so a response queued next is guaranteed to be
    /// the last message about it, and a new subscription never interleaves with the old one.
    pub(crate) async fn end(&self) {
        self.ended.cancel();
        drop(self.sending.lock().await);
    }

    /// Waits until the subscription or its connection ends.
    pub(crate) async fn over(&self) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            _ = self.outgoing.closed() => {}
            () = self.outgoing.gone() => {}
        }
    }
}
