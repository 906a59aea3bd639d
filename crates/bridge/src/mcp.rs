//! A server of the Model Context Protocol on two streams: JSON-RPC, one message a line.
//!
//! What is offered is for whoever starts it to say; this knows the protocol alone. Calls are answered in their order.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use instructions::ContentHash;
use serde::Serialize;
use serde_json::{Value, json};

/// Versions of the protocol that are spoken, newest first.
const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Longest message that is read.
const MAX_MESSAGE_BYTES: u64 = 8 * 1024 * 1024;
/// Most resources that one client can follow.
const MAX_SUBSCRIPTIONS: usize = 64;

// What JSON-RPC and the protocol call their errors.
const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const UNKNOWN_METHOD: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const UNKNOWN_RESOURCE: i64 = -32_002;

/// What a server has.
pub trait Offer: Sync {
    /// The tools.
    fn tools(&self) -> Vec<Tool>;
    /// Runs a tool for a client that calls itself `client`. The error is for the model, which may try again.
    fn call(&self, client: &str, tool: &str, arguments: &Value) -> Result<Answer, String>;
    /// Resources that a client can read.
    fn resources(&self) -> Vec<Resource>;
    /// Forms of the addresses of others.
    fn templates(&self) -> Vec<Resource>;
    /// The text of a resource; the error says why there is none.
    fn read(&self, uri: &str) -> Result<String, String>;
}

/// A tool.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// Hints for clients that ask their user first.
    pub annotations: Value,
}

/// What a tool answers: a text for the model, and the same as data.
#[derive(Debug, Clone)]
pub struct Answer {
    /// For the model.
    pub text: String,
    /// For programs.
    pub data: Option<Value>,
}

/// A resource, or a form of addresses.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub description: &'static str,
}

/// Serves one client until it closes its stream. Resources that it follows are looked at this often.
pub fn serve(
    offer: &dyn Offer,
    version: &str,
    look_every: Duration,
    mut input: impl BufRead,
    output: impl Write + Send,
) -> io::Result<()> {
    let server = Server { offer, version, output: Mutex::new(output), followed: Mutex::default() };
    let (ended, end) = mpsc::channel::<()>();
    let server = &server;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while end.recv_timeout(look_every) == Err(RecvTimeoutError::Timeout) {
                server.tell_changes();
            }
        });
        // Dropped when the client has gone, which ends the other thread.
        let _ended = ended;
        let mut client = "unknown".to_owned();
        loop {
            let mut line = Vec::new();
            if (&mut input).take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.len() as u64 >= MAX_MESSAGE_BYTES && !line.ends_with(b"\n") {
                server.send(&failure(Value::Null, INVALID_REQUEST, "the message is too long"))?;
                return Ok(());
            }
            match serde_json::from_slice::<Value>(&line) {
                Ok(Value::Array(messages)) if !messages.is_empty() => {
                    let answers: Vec<Value> = messages
                        .into_iter()
                        .filter_map(|message| server.answer(message, &mut client))
                        .collect();
                    if !answers.is_empty() {
                        server.send(&Value::Array(answers))?;
                    }
                }
                Ok(message) => {
                    if let Some(answer) = server.answer(message, &mut client) {
                        server.send(&answer)?;
                    }
                }
                Err(error) => server.send(&failure(Value::Null, PARSE_ERROR, &error.to_string()))?,
            }
        }
    })
}

struct Server<'a, W> {
    offer: &'a dyn Offer,
    version: &'a str,
    output: Mutex<W>,
    /// Resources that the client follows, and what it has of them.
    followed: Mutex<BTreeMap<String, ContentHash>>,
}

impl<W: Write> Server<'_, W> {
    fn send(&self, message: &Value) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(format!("{message}\n").as_bytes())?;
        output.flush()
    }

    /// The answer to a message; none to a notification, and to an answer.
    fn answer(&self, message: Value, client: &mut String) -> Option<Value> {
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let is_answer = message.get("result").or(message.get("error")).is_some();
            return (!is_answer).then(|| failure(Value::Null, INVALID_REQUEST, "the message has no method"));
        };
        let id = message.get("id").filter(|id| id.is_string() || id.is_number())?.clone();
        let none = Value::Null;
        let params = message.get("params").unwrap_or(&none);
        Some(match self.result(method, params, client) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => failure(id, code, &message),
        })
    }

    fn result(&self, method: &str, params: &Value, client: &mut String) -> Result<Value, (i64, String)> {
        match method {
            "initialize" => {
                if let Some(name) = params.pointer("/clientInfo/name").and_then(Value::as_str) {
                    *client = name.to_owned();
                }
                let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
                let version = VERSIONS.iter().find(|version| **version == asked).unwrap_or(&VERSIONS[0]);
                Ok(json!({
                    "protocolVersion": version,
                    "capabilities": { "tools": {}, "resources": { "subscribe": true } },
                    "serverInfo": { "name": "foreword", "title": "Foreword", "version": self.version },
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": self.offer.tools() })),
            "tools/call" => self.call(params, client),
            "resources/list" => {
                let listed = |resource: Resource| {
                    let Resource { uri, name, description } = resource;
                    json!({ "uri": uri, "name": name, "description": description, "mimeType": "text/markdown" })
                };
                Ok(json!({ "resources": self.offer.resources().into_iter().map(listed).collect::<Vec<_>>() }))
            }
            "resources/templates/list" => {
                let listed = |form: Resource| {
                    let Resource { uri, name, description } = form;
                    json!({ "uriTemplate": uri, "name": name, "description": description, "mimeType": "text/markdown" })
                };
                Ok(
                    json!({ "resourceTemplates": self.offer.templates().into_iter().map(listed).collect::<Vec<_>>() }),
                )
            }
            "resources/read" => {
                let uri = uri(params)?;
                let text = self.offer.read(uri).map_err(|reason| (UNKNOWN_RESOURCE, reason))?;
                Ok(json!({ "contents": [{ "uri": uri, "mimeType": "text/markdown", "text": text }] }))
            }
            "resources/subscribe" => {
                let uri = uri(params)?;
                let text = self.offer.read(uri).map_err(|reason| (UNKNOWN_RESOURCE, reason))?;
                let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
                if followed.len() >= MAX_SUBSCRIPTIONS && !followed.contains_key(uri) {
                    return Err((
                        INVALID_PARAMS,
                        format!("no more than {MAX_SUBSCRIPTIONS} resources can be followed"),
                    ));
                }
                followed.insert(uri.to_owned(), ContentHash::of(text));
                Ok(json!({}))
            }
            "resources/unsubscribe" => {
                self.followed.lock().unwrap_or_else(PoisonError::into_inner).remove(uri(params)?);
                Ok(json!({}))
            }
            _ => Err((UNKNOWN_METHOD, format!("there is no method `{method}`"))),
        }
    }

    fn call(&self, params: &Value, client: &str) -> Result<Value, (i64, String)> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        if !self.offer.tools().iter().any(|tool| tool.name == name) {
            return Err((INVALID_PARAMS, format!("there is no tool `{name}`")));
        }
        let none = json!({});
        let arguments = params.get("arguments").filter(|arguments| !arguments.is_null()).unwrap_or(&none);
        Ok(match self.offer.call(client, name, arguments) {
            Ok(Answer { text, data }) => {
                let mut result = json!({ "content": [{ "type": "text", "text": text }], "isError": false });
                if let Some(data) = data {
                    result["structuredContent"] = data;
                }
                result
            }
            Err(reason) => json!({ "content": [{ "type": "text", "text": reason }], "isError": true }),
        })
    }

    /// Tells the client which of the resources that it follows are others now.
    fn tell_changes(&self) {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (uri, had) in followed {
            // One that is gone is another, too.
            let now = ContentHash::of(self.offer.read(&uri).unwrap_or_default());
            if now == had {
                continue;
            }
            let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(known) = followed.get_mut(&uri) else { continue };
            *known = now;
            drop(followed);
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
            // Who does not listen any more is found out by the one who reads.
            let _ = self.send(&told);
        }
    }
}

fn uri(params: &Value) -> Result<&str, (i64, String)> {
    let uri = params.get("uri").and_then(Value::as_str);
    uri.ok_or_else(|| (INVALID_PARAMS, "`uri` is missing".to_owned()))
}

fn failure(id: Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
