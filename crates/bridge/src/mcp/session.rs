//! What one client and the server say to each other: JSON-RPC, whatever carries it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use instructions::ContentHash;
use serde_json::{Value, json};

use super::{Answer, Offer, Refusal, Resource};

/// Versions of the protocol that are spoken, newest first.
pub const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Messages that a batch may have.
const MAX_BATCH: usize = 64;

// What JSON-RPC and the protocol call their errors.
/// The message is no JSON.
pub const PARSE_ERROR: i64 = -32_700;
/// The message is none that the protocol knows.
pub const INVALID_REQUEST: i64 = -32_600;
const UNKNOWN_METHOD: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const UNKNOWN_RESOURCE: i64 = -32_002;

/// What the server remembers of a client.
#[derive(Debug)]
pub struct Session {
    /// The client, as it calls itself.
    client: Mutex<String>,
    /// Resources that the client follows, and what it has of them.
    followed: Mutex<BTreeMap<String, ContentHash>>,
    max_followed: usize,
}

impl Session {
    /// A client that has said nothing yet, and may follow so many resources.
    pub fn new(max_followed: usize) -> Self {
        Self { client: Mutex::new("unknown".to_owned()), followed: Mutex::default(), max_followed }
    }

    /// The answer to what a client sent, a message or a batch; none where nothing is to be answered.
    pub fn answer(&self, offer: &dyn Offer, version: &str, sent: Value) -> Option<Value> {
        match sent {
            Value::Array(messages) if messages.is_empty() || messages.len() > MAX_BATCH => {
                let message = format!("a batch has 1 to {MAX_BATCH} messages, not {}", messages.len());
                Some(failure(Value::Null, INVALID_REQUEST, &message))
            }
            Value::Array(messages) => {
                let answers: Vec<Value> = messages
                    .into_iter()
                    .filter_map(|message| self.answer_one(offer, version, &message))
                    .collect();
                (!answers.is_empty()).then_some(Value::Array(answers))
            }
            message => self.answer_one(offer, version, &message),
        }
    }

    /// What a client is to be told that follows resources which are others now.
    pub fn changes(&self, offer: &dyn Offer) -> Vec<Value> {
        let mut told = Vec::new();
        let followed = lock(&self.followed).clone();
        for (uri, had) in followed {
            // One that is gone is another, too.
            let now = ContentHash::of(offer.read(&uri).unwrap_or_default());
            if now == had {
                continue;
            }
            let mut followed = lock(&self.followed);
            let Some(known) = followed.get_mut(&uri) else { continue };
            *known = now;
            told.push(json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } }));
        }
        told
    }

    /// Whether a client follows anything.
    pub fn follows_nothing(&self) -> bool {
        lock(&self.followed).is_empty()
    }

    /// The answer to a message; none to a notification, and to an answer.
    fn answer_one(&self, offer: &dyn Offer, version: &str, message: &Value) -> Option<Value> {
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let is_answer = message.get("result").or(message.get("error")).is_some();
            return (!is_answer).then(|| failure(Value::Null, INVALID_REQUEST, "the message has no method"));
        };
        let id = message.get("id")?;
        if !id.is_string() && !id.is_number() {
            return Some(failure(Value::Null, INVALID_REQUEST, "`id` must be a text or a number"));
        }
        let id = id.clone();
        let none = Value::Null;
        let params = message.get("params").unwrap_or(&none);
        Some(match self.result(offer, version, method, params) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, Refusal { message, data })) => {
                let mut failed = failure(id, code, &message);
                if let Some(data) = data {
                    failed["error"]["data"] = data;
                }
                failed
            }
        })
    }

    fn result(
        &self,
        offer: &dyn Offer,
        version: &str,
        method: &str,
        params: &Value,
    ) -> Result<Value, (i64, Refusal)> {
        let unreadable = |refusal| (UNKNOWN_RESOURCE, refusal);
        match method {
            "initialize" => {
                if let Some(name) = params.pointer("/clientInfo/name").and_then(Value::as_str) {
                    *lock(&self.client) = name.to_owned();
                }
                let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
                let spoken = VERSIONS.iter().find(|version| **version == asked).unwrap_or(&VERSIONS[0]);
                Ok(json!({
                    "protocolVersion": spoken,
                    "capabilities": { "tools": {}, "resources": { "subscribe": true } },
                    "serverInfo": { "name": "foreword", "title": "Foreword", "version": version },
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": offer.tools() })),
            "tools/call" => self.call(offer, params),
            "resources/list" => Ok(json!({ "resources": listed(offer.resources(), "uri") })),
            "resources/templates/list" => {
                Ok(json!({ "resourceTemplates": listed(offer.templates(), "uriTemplate") }))
            }
            "resources/read" => {
                let uri = uri(params)?;
                let text = offer.read(uri).map_err(unreadable)?;
                Ok(json!({ "contents": [{ "uri": uri, "mimeType": "text/markdown", "text": text }] }))
            }
            "resources/subscribe" => {
                let uri = uri(params)?;
                let text = offer.read(uri).map_err(unreadable)?;
                let mut followed = lock(&self.followed);
                if followed.len() >= self.max_followed && !followed.contains_key(uri) {
                    let message = format!("no more than {} resources can be followed", self.max_followed);
                    return Err((INVALID_PARAMS, Refusal::new(message)));
                }
                followed.insert(uri.to_owned(), ContentHash::of(text));
                Ok(json!({}))
            }
            "resources/unsubscribe" => {
                lock(&self.followed).remove(uri(params)?);
                Ok(json!({}))
            }
            _ => Err((UNKNOWN_METHOD, Refusal::new(format!("there is no method `{method}`")))),
        }
    }

    fn call(&self, offer: &dyn Offer, params: &Value) -> Result<Value, (i64, Refusal)> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        if !offer.tools().iter().any(|tool| tool.name == name) {
            return Err((INVALID_PARAMS, Refusal::new(format!("there is no tool `{name}`"))));
        }
        let none = json!({});
        let arguments = params.get("arguments").filter(|arguments| !arguments.is_null()).unwrap_or(&none);
        let client = lock(&self.client).clone();
        let (text, data, is_error) = match offer.call(&client, name, arguments) {
            Ok(Answer { text, data }) => (text, data, false),
            Err(Refusal { message, data }) => (message, data, true),
        };
        let mut result = json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
        if let Some(data) = data {
            result["structuredContent"] = data;
        }
        Ok(result)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listed(resources: Vec<Resource>, address: &str) -> Vec<Value> {
    let listed = |Resource { uri, name, description }| json!({ address: uri, "name": name, "description": description, "mimeType": "text/markdown" });
    resources.into_iter().map(listed).collect()
}

fn uri(params: &Value) -> Result<&str, (i64, Refusal)> {
    let uri = params.get("uri").and_then(Value::as_str);
    uri.ok_or_else(|| (INVALID_PARAMS, Refusal::new("`uri` is missing")))
}

/// An error as JSON-RPC has it.
pub fn failure(id: Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
