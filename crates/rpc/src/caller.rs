//! Client side: sends requests over an endpoint and forwards notifications.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::endpoint::CLOSING_TIME;
use crate::{CloseReason, Endpoint, Frame, Inbound, Outgoing};
use protocol::error::ErrorObject;

/// Failure of a call.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Answered(#[from] ErrorObject),
    /// The connection ended before the answer arrived. The call may or may not have taken effect.
    #[error("the connection to the gateway was lost")]
    ConnectionLost,
    #[error("unexpected data: {0}")]
    Unexpected(#[from] serde_json::Error),
}

#[derive(Debug, Clone)]
pub struct Notification {
    pub method: String,
    pub params: Box<RawValue>,
}

/// Notifications buffered for a slow reader. Reading from the connection pauses while the buffer is full; a reader that
/// never catches up loses its connection.
const MAX_NOTIFICATIONS: usize = 10_000;

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Box<RawValue>, ErrorObject>>>>>;

/// Sends requests. Clones share the connection.
#[derive(Clone)]
pub struct Caller {
    outgoing: Outgoing,
    waiting: Waiting,
    next: Arc<AtomicU64>,
    /// Cancelled once everything that arrived has been processed.
    heard: CancellationToken,
    _connection: Arc<Hangup>,
}

/// Closes the connection when the last caller is dropped.
struct Hangup(Outgoing);

impl Drop for Hangup {
    fn drop(&mut self) {
        self.0.close(CloseReason::Finished);
    }
}

#[derive(Deserialize)]
struct Arrived {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

impl Caller {
    /// Takes over an endpoint. Notifications arrive on the returned channel, which ends with the connection.
    pub fn new(endpoint: Endpoint) -> (Self, mpsc::Receiver<Notification>) {
        let waiting: Waiting = Arc::default();
        let (notify, notifications) = mpsc::channel(MAX_NOTIFICATIONS);
        let answers = Arc::clone(&waiting);
        let Endpoint { mut incoming, outgoing } = endpoint;
        let hearing = outgoing.clone();
        let heard = CancellationToken::new();
        let ended = heard.clone().drop_guard();
        tokio::spawn(async move {
            while let Some(inbound) = incoming.recv().await {
                let Inbound::Text(frame) = inbound else { continue };
                let Some(notification) = receive(frame.as_str(), &answers) else { continue };
                // Sending fails if the caller dropped the channel because it wants no notifications. That must not end
                // the loop, because answers arrive here too.
                let passed_on = notify.send(notification);
                if tokio::time::timeout(hearing.patience(), passed_on).await.is_err() {
                    hearing.close(CloseReason::Slow);
                    break;
                }
            }
            // Dropping the senders makes every pending call fail with `ConnectionLost`.
            answers.lock().clear();
            drop(ended);
        });
        let hangup = Arc::new(Hangup(outgoing.clone()));
        let next = Arc::new(AtomicU64::new(1));
        (Self { outgoing, waiting, next, heard, _connection: hangup }, notifications)
    }

    pub async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, CallError> {
        let raw = self.call_raw(method, params).await?;
        Ok(serde_json::from_str(raw.get())?)
    }

    /// Sends a request and returns its answer as JSON text.
    pub async fn call_raw(&self, method: &str, params: &impl Serialize) -> Result<Box<RawValue>, CallError> {
        #[derive(Serialize)]
        struct Request<'a, P> {
            jsonrpc: &'static str,
            id: u64,
            method: &'a str,
            params: &'a P,
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let text = serde_json::to_string(&Request { jsonrpc: "2.0", id, method, params })?;
        self.request(id, text).await
    }

    /// The non-generic part of a call, boxed so that it is compiled only once.
    fn request(&self, id: u64, text: String) -> BoxFuture<'_, Result<Box<RawValue>, CallError>> {
        Box::pin(self.send_and_wait(id, text))
    }

    async fn send_and_wait(&self, id: u64, text: String) -> Result<Box<RawValue>, CallError> {
        let (sender, mut answer) = oneshot::channel();
        // Registered before sending, because the answer may arrive before `send` returns.
        self.waiting.lock().insert(id, sender);
        if !self.outgoing.send(Frame::from(text)).await {
            self.waiting.lock().remove(&id);
            return Err(CallError::ConnectionLost);
        }
        let answered = tokio::select! {
            // An answer wins over the loss of the connection: the caller would otherwise have to assume that the
            // outcome of a call is unknown although it was answered.
            biased;
            answered = &mut answer => answered.ok(),
            // Without this, a request queued after the transport stopped would wait forever.
            () = self.lost() => answer.try_recv().ok(),
        };
        answered.map_or(Err(CallError::ConnectionLost), |answered| answered.map_err(CallError::Answered))
    }

    /// Resolves once no answer can arrive any more. The transport may stop right after it received an answer, so this
    /// also waits until everything that arrived was processed.
    async fn lost(&self) {
        self.outgoing.gone().await;
        let _ = tokio::time::timeout(CLOSING_TIME, self.heard.cancelled()).await;
    }
}

/// Delivers an answer to its pending call, and returns a notification.
fn receive(text: &str, waiting: &Waiting) -> Option<Notification> {
    let Ok(arrived) = serde_json::from_str::<Arrived>(text) else {
        tracing::warn!("the gateway sent something that is not JSON-RPC");
        return None;
    };
    if let (Some(method), None) = (arrived.method, arrived.id) {
        let params = arrived.params.unwrap_or_else(|| RawValue::NULL.to_owned());
        return Some(Notification { method, params });
    }
    let Some(sender) = arrived.id.and_then(|id| waiting.lock().remove(&id)) else {
        if let Some(error) = arrived.error {
            tracing::warn!(%error, "the gateway refused a message");
        }
        return None;
    };
    let _ = sender.send(match (arrived.result, arrived.error) {
        (_, Some(error)) => Err(error),
        (Some(result), None) => Ok(result),
        (None, None) => Ok(RawValue::NULL.to_owned()),
    });
    None
}
