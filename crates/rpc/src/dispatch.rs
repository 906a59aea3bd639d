//! Dispatch of messages to a service, independent of the transport.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::message::{Call, Id, Malformed, Message, parse};
use crate::reserved::SMALL;
use crate::{Frame, Reserved, error};
use protocol::error::ErrorObject;

/// Limits of one batch, so that a small message cannot request an answer a thousand times its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Maximum calls; a longer batch is rejected as a whole.
    pub calls: usize,
    /// Maximum total size of the answers in bytes.
    pub answer_bytes: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { calls: 64, answer_bytes: 8 * 1024 * 1024 }
    }
}

pub trait Service: Send + Sync + 'static {
    /// State of the remote side of a connection.
    type Peer: Send + Sync + 'static;

    fn batch_limits(&self) -> BatchLimits {
        BatchLimits::default()
    }

    /// Sets memory aside for an answer, waiting for it if necessary. A batch reserves the most it may answer before its
    /// first call; a single call reserves the size of its answer.
    fn reserve(
        &self,
        peer: &Arc<Self::Peer>,
        bytes: usize,
    ) -> impl Future<Output = Result<Reserved, ErrorObject>> + Send {
        let _ = (peer, bytes);
        std::future::ready(Ok(Reserved::default()))
    }

    /// Runs a method. A panic becomes an internal error of this call only.
    fn call(
        &self,
        peer: &Arc<Self::Peer>,
        method: &str,
        params: Option<&RawValue>,
    ) -> impl Future<Output = Result<Reply, ErrorObject>> + Send;
}

/// Action to run after the answer was queued, such as starting notifications.
pub type After = Box<dyn FnOnce() + Send>;

pub struct Reply {
    result: ReplyBody,
    after: Option<After>,
}

enum ReplyBody {
    /// Serialized when the answer is written.
    Value(Box<dyn WriteJson>),
    /// Already serialized.
    Json(Vec<u8>),
}

impl Reply {
    pub fn new(result: impl Serialize + Send + 'static) -> Self {
        Self { result: ReplyBody::Value(Box::new(result)), after: None }
    }

    /// Returns a reply whose result is already JSON, such as a large one written row by row. The bytes must be valid
    /// JSON and become the answer without being copied.
    pub fn from_json(result: Vec<u8>) -> Self {
        Self { result: ReplyBody::Json(result), after: None }
    }

    /// Adds an action to run after the answer was queued.
    pub fn then(mut self, after: impl FnOnce() + Send + 'static) -> Self {
        self.after = Some(Box::new(after));
        self
    }
}

/// Object-safe version of `Serialize`.
trait WriteJson: Send {
    fn write(&self, buffer: &mut Vec<u8>) -> Result<(), serde_json::Error>;
}

impl<T: Serialize + Send> WriteJson for T {
    fn write(&self, buffer: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        serde_json::to_writer(buffer, self)
    }
}

/// Answers up to this size stay in a batch that has reached its limit, because an error in their place would not be
/// shorter.
const MAX_ERROR_BYTES: usize = 512;

/// Result of handling a message.
#[derive(Default)]
pub struct Answer {
    /// Text to send back; `None` for notifications.
    pub frame: Option<Frame>,
    /// Actions to run after the text was queued.
    pub after: Vec<After>,
    /// Memory set aside for the text, to be kept as long as the text.
    pub reserved: Reserved,
}

/// Handles a message: a request, a notification or a batch.
pub async fn dispatch<S: Service>(service: &S, peer: &Arc<S::Peer>, text: &str) -> Answer {
    let mut buffer = Vec::new();
    let mut after = Vec::new();
    let mut reserved = Reserved::default();
    let limits = service.batch_limits();
    match parse(text, limits.calls) {
        Message::Single(call) => {
            let id = call.as_ref().ok().and_then(|call| call.id.clone());
            answer(service, peer, call, &mut buffer, &mut after).await;
            if buffer.len() > SMALL {
                match service.reserve(peer, buffer.len()).await {
                    Ok(room) => reserved = room,
                    Err(error) => {
                        buffer = Vec::new();
                        write_error(&mut buffer, id.as_ref(), &error);
                    }
                }
            }
        }
        Message::Batch(calls) => {
            // Reserved before the calls run: a refused batch then has changed nothing, and batches that are being
            // answered cannot use more memory than those that wait to be read.
            match service.reserve(peer, limits.answer_bytes).await {
                Ok(room) => reserved = room,
                Err(error) => return Answer { frame: Some(error_frame(&error)), ..Answer::default() },
            }
            // Calls of a batch run one after another in their order, so a client can save a document and read it back
            // in one batch.
            for call in calls {
                let start = buffer.len();
                buffer.push(if start == 0 { b'[' } else { b',' });
                let answered = buffer.len();
                let id = call.as_ref().ok().and_then(|call| call.id.clone());
                answer(service, peer, call, &mut buffer, &mut after).await;
                let bytes = buffer.len() - answered;
                // A notification has no answer, so the separator written for it is removed again. A batch of
                // notifications leaves the buffer empty, and JSON-RPC requires that nothing is sent for it.
                if bytes == 0 {
                    buffer.truncate(start);
                } else if buffer.len() > limits.answer_bytes && bytes > MAX_ERROR_BYTES {
                    buffer.truncate(answered);
                    // Truncating alone would keep the capacity, and with it the memory of the largest rejected answer
                    // until the batch is sent.
                    buffer.shrink_to(limits.answer_bytes);
                    let left = limits.answer_bytes.saturating_sub(answered);
                    write_error(&mut buffer, id.as_ref(), &error::answer_too_large(limits, bytes, left));
                }
            }
            if !buffer.is_empty() {
                buffer.push(b']');
            }
        }
    }
    reserved.shrink_to(buffer.len());
    let frame = match String::from_utf8(buffer) {
        Ok(text) if !text.is_empty() => Some(Frame::from(text)),
        _ => None,
    };
    Answer { frame, after, reserved }
}

async fn answer<S: Service>(
    service: &S,
    peer: &Arc<S::Peer>,
    call: Result<Call<'_>, Malformed>,
    buffer: &mut Vec<u8>,
    after: &mut Vec<After>,
) {
    let call = match call {
        Ok(call) => call,
        Err(Malformed { id, error }) => return write_error(buffer, id.as_ref(), &error),
    };
    // The service and the peer are shared by reference and guard their own state, so a panic cannot leave them half
    // changed for this function. Failing only this call keeps the connection and the rest of a batch alive.
    let outcome = AssertUnwindSafe(service.call(peer, &call.method, call.params)).catch_unwind().await;
    let outcome = outcome.unwrap_or_else(|_| {
        tracing::error!(method = %call.method, "method panicked");
        Err(error::panicked(&call.method))
    });
    match (outcome, &call.id) {
        (Ok(reply), id) => {
            if let Some(id) = id {
                write_result(buffer, id, reply.result, &call.method);
            }
            after.extend(reply.after);
        }
        (Err(error), Some(id)) => write_error(buffer, Some(id), &error),
        (Err(error), None) => tracing::debug!(method = %call.method, %error, "notification failed"),
    }
}

fn write_result(buffer: &mut Vec<u8>, id: &Id, result: ReplyBody, method: &str) {
    let start = buffer.len();
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    let written = serde_json::to_writer(&mut *buffer, id).and_then(|()| {
        buffer.extend_from_slice(b",\"result\":");
        match result {
            ReplyBody::Value(value) => value.write(buffer)?,
            ReplyBody::Json(mut json) => {
                // The envelope is inserted into the result, not the other way around: the result may be many megabytes.
                json.splice(0..0, buffer.drain(..));
                *buffer = json;
            }
        }
        Ok(())
    });
    match written {
        Ok(()) => buffer.push(b'}'),
        Err(error) => {
            tracing::error!(method, %error, "failed to serialize result");
            buffer.truncate(start);
            write_error(buffer, Some(id), &error::panicked(method));
        }
    }
}

fn write_error(buffer: &mut Vec<u8>, id: Option<&Id>, error: &ErrorObject) {
    #[derive(Serialize)]
    struct Failure<'a> {
        jsonrpc: &'static str,
        id: Option<&'a Id>,
        error: &'a ErrorObject,
    }
    // An error consists of strings and numbers, so serializing it cannot fail.
    let _ = serde_json::to_writer(buffer, &Failure { jsonrpc: "2.0", id, error });
}

/// Returns the text of an error that answers no particular request.
pub fn error_frame(error: &ErrorObject) -> Frame {
    let mut buffer = Vec::new();
    write_error(&mut buffer, None, error);
    Frame::from(String::from_utf8(buffer).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use protocol::ErrorKind;

    use super::*;

    struct Calculator;

    impl Service for Calculator {
        type Peer = ();

        async fn call(
            &self,
            _: &Arc<()>,
            method: &str,
            params: Option<&RawValue>,
        ) -> Result<Reply, ErrorObject> {
            match method {
                "sum" => {
                    let numbers: Vec<i64> = serde_json::from_str(params.map_or("[]", RawValue::get))
                        .map_err(|error| ErrorObject::new(ErrorKind::InvalidParams, error.to_string()))?;
                    Ok(Reply::new(numbers.iter().sum::<i64>()))
                }
                "json" => Ok(Reply::from_json(b"[7]".to_vec())),
                "long" => Ok(Reply::new("x".repeat(600))),
                "panic" => panic!("on purpose"),
                other => Err(error::no_method(other)),
            }
        }
    }

    /// A service with limits small enough to reach in a test.
    struct Bounded;

    impl Service for Bounded {
        type Peer = ();

        fn batch_limits(&self) -> BatchLimits {
            BatchLimits { calls: 4, answer_bytes: 1500 }
        }

        async fn call(
            &self,
            peer: &Arc<()>,
            method: &str,
            params: Option<&RawValue>,
        ) -> Result<Reply, ErrorObject> {
            Calculator.call(peer, method, params).await
        }
    }

    async fn ask_bounded(methods: &[&str]) -> serde_json::Value {
        let calls: Vec<String> = (1..)
            .zip(methods)
            .map(|(id, method)| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#))
            .collect();
        let answer = dispatch(&Bounded, &Arc::new(()), &format!("[{}]", calls.join(","))).await;
        serde_json::from_str(answer.frame.unwrap().as_str()).unwrap()
    }

    #[tokio::test]
    async fn batches_with_too_many_calls_are_rejected() {
        let answer = ask_bounded(&["sum"; 5]).await;
        assert_eq!(answer["error"]["code"], -32030, "{answer}");
        assert_eq!(answer["error"]["data"]["what"], "batch");
        assert_eq!(answer["error"]["data"]["limit"], 4);
    }

    #[tokio::test]
    async fn oversized_answers_in_a_batch_become_errors() {
        let answer = ask_bounded(&["long", "long", "long", "sum"]).await;
        assert!(answer[0]["result"].is_string() && answer[1]["result"].is_string(), "{answer}");
        assert_eq!((&answer[2]["id"], &answer[2]["error"]["code"]), (&3.into(), &(-32013).into()));
        assert_eq!(answer[3]["result"], 0, "a short answer still fits: {answer}");
    }

    async fn ask(text: &str) -> String {
        let answer = dispatch(&Calculator, &Arc::new(()), text).await;
        answer.frame.map(|frame| frame.as_str().to_owned()).unwrap_or_default()
    }

    #[tokio::test]
    async fn requests_are_answered_and_notifications_are_not() {
        assert_eq!(
            ask(r#"{"jsonrpc":"2.0","id":"x","method":"sum","params":[1,2]}"#).await,
            r#"{"jsonrpc":"2.0","id":"x","result":3}"#
        );
        assert_eq!(ask(r#"{"jsonrpc":"2.0","method":"sum","params":[1,2]}"#).await, "");
        assert_eq!(ask(r#"{"jsonrpc":"2.0","method":"nothing"}"#).await, "");
    }

    #[tokio::test]
    async fn batches_answer_requests_only() {
        let batch = r#"[{"jsonrpc":"2.0","method":"sum"},{"jsonrpc":"2.0","id":1,"method":"sum","params":[4]},7,
            {"jsonrpc":"2.0","method":"sum"}]"#;
        assert_eq!(
            ask(batch).await,
            r#"[{"jsonrpc":"2.0","id":1,"result":4},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request must be an object","data":{"kind":"invalid_request"}}}]"#
        );
        assert_eq!(ask(r#"[{"jsonrpc":"2.0","method":"sum"}]"#).await, "");
    }

    #[tokio::test]
    async fn serialized_results_are_sent_unchanged() {
        assert_eq!(
            ask(r#"{"jsonrpc":"2.0","id":1,"method":"json"}"#).await,
            r#"{"jsonrpc":"2.0","id":1,"result":[7]}"#
        );
        let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"sum"},{"jsonrpc":"2.0","id":2,"method":"json"}]"#;
        assert_eq!(
            ask(batch).await,
            r#"[{"jsonrpc":"2.0","id":1,"result":0},{"jsonrpc":"2.0","id":2,"result":[7]}]"#
        );
    }

    #[tokio::test]
    async fn a_panic_only_fails_its_own_call() {
        let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"panic"},{"jsonrpc":"2.0","id":2,"method":"sum"}]"#;
        let text = ask(batch).await;
        assert!(text.contains(r#""code":-32603"#) && text.contains(r#""id":2,"result":0"#), "{text}");
        assert!(!text.contains("on purpose"), "{text}");
    }
}
