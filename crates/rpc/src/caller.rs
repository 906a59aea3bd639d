//! The asking side: makes requests on an endpoint and hands on notifications.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::endpoint::CLOSING_TIME;
use crate::{CloseReason, Endpoint, Frame, Inbound, Outgoing};
use protocol::error::ErrorObject;

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The other side answered with an error.
    #[error(transparent)]
    Answered(#[from] ErrorObject),
    /// The connection ended before the answer came; whether the call took effect is not known.
    #[error("the connection to the gateway was lost")]
    ConnectionLost,
    /// The parameters could not be written, or the answer could not be read.
    #[error("unexpected data: {0}")]
    Unexpected(#[from] serde_json::Error),
}

/// A notification as it arrived.
#[derive(Debug, Clone)]
pub struct Notification {
    pub method: String,
    pub params: Box<RawValue>,
}

/// Notifications that wait for whoever asked for them. Once there are so many, nothing more is read until there is room
/// again, and a reader that never makes any loses its connection.
const MAX_NOTIFICATIONS: usize = 10_000;

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Box<RawValue>, ErrorObject>>>>>;

/// Makes requests; clones share the connection.
#[derive(Clone)]
pub struct Caller {
    outgoing: Outgoing,
    waiting: Waiting,
    next: Arc<AtomicU64>,
    /// Ends when everything that arrived was handed on.
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
    /// Takes over an endpoint; notifications arrive on the returned channel, which ends with the connection.
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
                // Whoever does not want notifications has dropped the channel, and goes on calling.
                let passed_on = notify.send(notification);
                if tokio::time::timeout(hearing.patience(), passed_on).await.is_err() {
                    hearing.close(CloseReason::Slow);
                    break;
                }
            }
            // Dropping the senders tells every waiting call that the connection is lost.
            lock(&answers).clear();
            drop(ended);
        });
        let hangup = Arc::new(Hangup(outgoing.clone()));
        let next = Arc::new(AtomicU64::new(1));
        (Self { outgoing, waiting, next, heard, _connection: hangup }, notifications)
    }

    /// Makes a request and waits for its answer.
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, CallError> {
        let raw = self.call_raw(method, params).await?;
        Ok(serde_json::from_str(raw.get())?)
    }

    /// Makes a request and waits for its answer as JSON text.
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

    /// The part that is the same for all methods, boxed, so that it is compiled once.
    fn request(&self, id: u64, text: String) -> BoxFuture<'_, Result<Box<RawValue>, CallError>> {
        Box::pin(self.send_and_wait(id, text))
    }

    async fn send_and_wait(&self, id: u64, text: String) -> Result<Box<RawValue>, CallError> {
        let (sender, mut answer) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        if !self.outgoing.send(Frame::from(text)).await {
            lock(&self.waiting).remove(&id);
            return Err(CallError::ConnectionLost);
        }
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered.ok(),
            // A request queued after the transport stopped would otherwise wait for ever.
            () = self.lost() => answer.try_recv().ok(),
        };
        answered.map_or(Err(CallError::ConnectionLost), |answered| answered.map_err(CallError::Answered))
    }

    /// Resolves when no answer can come any more. An answer that arrived is one, although the transport may have
    /// stopped right after it and before it was handed on.
    async fn lost(&self) {
        self.outgoing.gone().await;
        let _ = tokio::time::timeout(CLOSING_TIME, self.heard.cancelled()).await;
    }
}

/// Hands an answer to whoever waits for it; a notification is returned.
fn receive(text: &str, waiting: &Waiting) -> Option<Notification> {
    let Ok(arrived) = serde_json::from_str::<Arrived>(text) else {
        tracing::warn!("the gateway sent something that is not JSON-RPC");
        return None;
    };
    if let (Some(method), None) = (arrived.method, arrived.id) {
        let params = arrived.params.unwrap_or_else(|| RawValue::NULL.to_owned());
        return Some(Notification { method, params });
    }
    let Some(sender) = arrived.id.and_then(|id| lock(waiting).remove(&id)) else {
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
