//! Messages between one client and the server: JSON-RPC without a transport.

// Not rmcp's server (3.8): its messages have no batches, which protocol version 2025-03-26 includes, and its line
// transport ignores input that cannot be parsed, where clients get an error here. It is also asynchronous, while this
// crate is plain synchronous Rust, and a gateway limits sessions per token and authenticates every request on its own.

use std::collections::BTreeMap;

use instructions::ContentHash;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{McpCatalog, Refusal, Resource, ToolAnswer};

/// Supported protocol versions, newest first.
pub const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Maximum number of messages in a batch.
// A batch is answered as one message, so without a limit one small line could request an answer of any size.
const MAX_BATCH: usize = 64;

pub const PARSE_ERROR: i64 = -32_700;
pub const INVALID_REQUEST: i64 = -32_600;
const UNKNOWN_METHOD: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const UNKNOWN_RESOURCE: i64 = -32_002;

/// State of a client.
#[derive(Debug)]
pub struct Session {
    /// Name the client sent in `initialize`.
    client: Mutex<String>,
    /// Subscribed resources, with the digest of the version the client knows.
    followed: Mutex<BTreeMap<String, ContentHash>>,
    max_followed: usize,
}

impl Session {
    /// Returns the session of a new client that may subscribe to `max_followed` resources.
    pub fn new(max_followed: usize) -> Self {
        Self { client: Mutex::new("unknown".to_owned()), followed: Mutex::default(), max_followed }
    }

    /// Answers a message or a batch; `None` if no answer is due.
    pub fn answer(&self, catalog: &dyn McpCatalog, version: &str, sent: Value) -> Option<Value> {
        match sent {
            Value::Array(messages) if messages.is_empty() || messages.len() > MAX_BATCH => {
                let message = format!("a batch has 1 to {MAX_BATCH} messages, not {}", messages.len());
                Some(failure(Value::Null, INVALID_REQUEST, &message))
            }
            Value::Array(messages) => {
                let answers: Vec<Value> = messages
                    .into_iter()
                    .filter_map(|message| self.answer_one(catalog, version, &message))
                    .collect();
                (!answers.is_empty()).then_some(Value::Array(answers))
            }
            message => self.answer_one(catalog, version, &message),
        }
    }

    /// Returns notifications about subscribed resources that have changed.
    pub fn changes(&self, catalog: &dyn McpCatalog) -> Vec<Value> {
        let mut notifications = Vec::new();
        // Copied, because reading resources takes long and must not block calls of the same client. It may unsubscribe
        // meanwhile, which is why each address is looked up again below.
        let followed = self.followed.lock().clone();
        for (uri, had) in followed {
            // A removed resource counts as changed.
            let now = ContentHash::of(catalog.read(&uri).unwrap_or_default());
            if now == had {
                continue;
            }
            let mut followed = self.followed.lock();
            let Some(known) = followed.get_mut(&uri) else { continue };
            *known = now;
            notifications.push(json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } }));
        }
        notifications
    }

    /// Returns true if the client has no subscriptions.
    pub fn follows_nothing(&self) -> bool {
        self.followed.lock().is_empty()
    }

    /// Answers a message; `None` for notifications and responses.
    fn answer_one(&self, catalog: &dyn McpCatalog, version: &str, message: &Value) -> Option<Value> {
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let is_answer = message.get("result").or(message.get("error")).is_some();
            return (!is_answer).then(|| failure(Value::Null, INVALID_REQUEST, "the message has no method"));
        };
        let id = message.get("id")?;
        // JSON-RPC permits `null` as an id, but MCP does not, and answers with it could not be assigned to calls.
        if !id.is_string() && !id.is_number() {
            return Some(failure(Value::Null, INVALID_REQUEST, "`id` must be a text or a number"));
        }
        let id = id.clone();
        let none = Value::Null;
        let params = message.get("params").unwrap_or(&none);
        Some(match self.result(catalog, version, method, params) {
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
        catalog: &dyn McpCatalog,
        version: &str,
        method: &str,
        params: &Value,
    ) -> Result<Value, (i64, Refusal)> {
        let unreadable = |refusal| (UNKNOWN_RESOURCE, refusal);
        match method {
            "initialize" => {
                if let Some(name) = params.pointer("/clientInfo/name").and_then(Value::as_str) {
                    *self.client.lock() = name.to_owned();
                }
                let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
                // An unknown version is not an error: the specification lets the client decide whether it can use the
                // version offered instead.
                let spoken = VERSIONS.iter().find(|version| **version == asked).unwrap_or(&VERSIONS[0]);
                Ok(json!({
                    "protocolVersion": spoken,
                    "capabilities": { "tools": {}, "resources": { "subscribe": true } },
                    "serverInfo": { "name": "foreword", "title": "Foreword", "version": version },
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": catalog.tools() })),
            "tools/call" => self.call(catalog, params),
            "resources/list" => Ok(json!({ "resources": listed(catalog.resources(), "uri") })),
            "resources/templates/list" => {
                Ok(json!({ "resourceTemplates": listed(catalog.templates(), "uriTemplate") }))
            }
            "resources/read" => {
                let uri = uri(params)?;
                let text = catalog.read(uri).map_err(unreadable)?;
                Ok(json!({ "contents": [{ "uri": uri, "mimeType": "text/markdown", "text": text }] }))
            }
            "resources/subscribe" => {
                let uri = uri(params)?;
                let text = catalog.read(uri).map_err(unreadable)?;
                let mut followed = self.followed.lock();
                if followed.len() >= self.max_followed && !followed.contains_key(uri) {
                    let message = format!("no more than {} resources can be followed", self.max_followed);
                    return Err((INVALID_PARAMS, Refusal::new(message)));
                }
                followed.insert(uri.to_owned(), ContentHash::of(text));
                Ok(json!({}))
            }
            "resources/unsubscribe" => {
                self.followed.lock().remove(uri(params)?);
                Ok(json!({}))
            }
            _ => Err((UNKNOWN_METHOD, Refusal::new(format!("there is no method `{method}`")))),
        }
    }

    fn call(&self, catalog: &dyn McpCatalog, params: &Value) -> Result<Value, (i64, Refusal)> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        if !catalog.tools().iter().any(|tool| tool.name == name) {
            return Err((INVALID_PARAMS, Refusal::new(format!("there is no tool `{name}`"))));
        }
        let none = json!({});
        let arguments = params.get("arguments").filter(|arguments| !arguments.is_null()).unwrap_or(&none);
        let client = self.client.lock().clone();
        let (text, data, is_error) = match catalog.call(&client, name, arguments) {
            Ok(ToolAnswer { text, data }) => (text, data, false),
            Err(Refusal { message, data }) => (message, data, true),
        };
        let mut result = json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
        if let Some(data) = data {
            result["structuredContent"] = data;
        }
        Ok(result)
    }
}

fn listed(resources: Vec<Resource>, address: &str) -> Vec<Value> {
    let listed = |Resource { uri, name, description }| json!({ address: uri, "name": name, "description": description, "mimeType": "text/markdown" });
    resources.into_iter().map(listed).collect()
}

fn uri(params: &Value) -> Result<&str, (i64, Refusal)> {
    let uri = params.get("uri").and_then(Value::as_str);
    uri.ok_or_else(|| (INVALID_PARAMS, Refusal::new("`uri` is missing")))
}

/// Returns an error response.
pub fn failure(id: Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
