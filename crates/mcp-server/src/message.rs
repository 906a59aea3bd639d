//! Messages before rmcp reads them: batches, and errors for what is not a message.

use rmcp::model::{ClientJsonRpcMessage, ProtocolVersion};
use serde_json::{Value, json};

/// Maximum number of messages in a batch.
// A batch is answered as one message, so without a limit one small line could request an answer of any size.
const MAX_BATCH: usize = 64;

pub const PARSE_ERROR: i64 = -32_700;
pub const INVALID_REQUEST: i64 = -32_600;

/// One message of a client.
#[derive(Debug)]
pub enum Received {
    /// A call, whose answer the client waits for.
    Call(Box<ClientJsonRpcMessage>),
    Notification(Box<ClientJsonRpcMessage>),
    /// Neither a call nor a notification: a response to a call that no server of ours makes.
    Ignored,
    /// Not a message; the client gets this error.
    Malformed(Value),
}

/// What a client sends in one line or in one body.
#[derive(Debug)]
pub enum Sent {
    One(Received),
    /// A batch, which only protocol 2025-03-26 knows, and which rmcp does not.
    Batch(Vec<Received>),
}

impl Sent {
    /// Reads a message or a batch.
    pub fn read(text: &[u8]) -> Self {
        match serde_json::from_slice(text) {
            Ok(Value::Array(messages)) if messages.is_empty() || messages.len() > MAX_BATCH => {
                let message = format!("a batch has 1 to {MAX_BATCH} messages, not {}", messages.len());
                Self::One(malformed(&message))
            }
            Ok(Value::Array(messages)) => Self::Batch(messages.into_iter().map(Received::new).collect()),
            Ok(message) => Self::One(Received::new(message)),
            Err(error) => {
                Self::One(Received::Malformed(failure(Value::Null, PARSE_ERROR, &error.to_string())))
            }
        }
    }
}

impl Received {
    fn new(mut message: Value) -> Self {
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let is_answer = message.get("result").or(message.get("error")).is_some();
            return if is_answer { Self::Ignored } else { malformed("the message has no method") };
        };
        let is_initialize = method == "initialize";
        let is_call = match message.get("id") {
            None => false,
            // JSON-RPC permits `null` as an id, but MCP does not, and answers with it could not be assigned to calls.
            Some(id) if !id.is_string() && !id.is_i64() => {
                return malformed("`id` must be a text or a whole number");
            }
            Some(_) => true,
        };
        if let Some(params @ Value::Null) = message.get_mut("params") {
            *params = json!({});
        }
        if is_initialize && let Some(Value::Object(params)) = message.get_mut("params") {
            // Some small clients leave out what we do not need to answer them.
            params.entry("protocolVersion").or_insert_with(|| json!(ProtocolVersion::LATEST_WITH_INITIALIZE));
            params.entry("capabilities").or_insert_with(|| json!({}));
            let client = params.entry("clientInfo").or_insert_with(|| json!({}));
            if let Value::Object(client) = client {
                client.entry("name").or_insert_with(|| json!(""));
                client.entry("version").or_insert_with(|| json!(""));
            }
        }
        message["jsonrpc"] = json!("2.0");
        match serde_json::from_value(message) {
            Ok(message) if is_call => Self::Call(Box::new(message)),
            Ok(message) => Self::Notification(Box::new(message)),
            Err(error) => malformed(&error.to_string()),
        }
    }
}

fn malformed(message: &str) -> Received {
    Received::Malformed(failure(Value::Null, INVALID_REQUEST, message))
}

/// Returns an error response.
pub fn failure(id: Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
