//! A model that records and refuses requests. All APIs of the agents are JSON over HTTP, so one server is enough.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use serde_json::Value;

const REFUSAL: &str =
    r#"{"error":{"message":"nothing is answered here","code":400,"type":"invalid_request_error"}}"#;
const LISTS: &str = r#"{"data":[],"models":[]}"#;
/// Interval between checks for the end of the agent.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Texts of a request.
pub(crate) struct Sent {
    /// Each text with `system`, `developer` or `user`.
    pub(crate) texts: Vec<(String, String)>,
}

pub(crate) struct Model {
    pub(crate) url: String,
    requests: Receiver<Value>,
}

impl Model {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || serve(stream, &sender));
            }
        });
        Ok(Self { url, requests })
    }

    /// Waits for the first request with tools. Requests without tools ask for a title or classify the question.
    pub(crate) fn wait(&self, patience: Duration, mut has_ended: impl FnMut() -> bool) -> Option<Sent> {
        let begun = Instant::now();
        loop {
            match self.requests.recv_timeout(LOOK_EVERY) {
                Ok(request) if is_turn(&request) => return Some(Sent { texts: texts(&request) }),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if begun.elapsed() < patience && !has_ended() => {}
                Err(_) => return None,
            }
        }
    }
}

fn is_turn(request: &Value) -> bool {
    request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

fn serve(stream: TcpStream, requests: &Sender<Value>) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let is_post = line.starts_with("POST");
        let mut length = 0;
        let mut is_chunked = false;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
            is_chunked |= name.eq_ignore_ascii_case("transfer-encoding") && value.contains("chunked");
        }
        let body = if is_chunked { chunks(&mut reader)? } else { exactly(&mut reader, length)? };
        if let Ok(request) = serde_json::from_str(&String::from_utf8_lossy(&body)) {
            requests.send(request).ok()?;
        }
        // Requests other than POST list the available models. An empty list lets the agent continue to its first turn.
        let (status, answer) = if is_post { ("400 Bad Request", REFUSAL) } else { ("200 OK", LISTS) };
        let length = answer.len();
        write!(
            writer,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{answer}"
        )
        .ok()?;
    }
}

fn exactly(reader: &mut BufReader<TcpStream>, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn chunks(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim().split(';').next()?, 16).ok()?;
        body.extend(exactly(reader, length)?);
        reader.read_line(&mut line).ok()?;
        if length == 0 {
            return Some(body);
        }
    }
}

/// Returns the texts of a request of any of the APIs, by role.
fn texts(request: &Value) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for key in ["system", "instructions", "systemInstruction"] {
        add(&request[key], "system", &mut texts);
    }
    for key in ["messages", "input", "contents"] {
        for message in request[key].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap_or_default();
            add(message, role, &mut texts);
        }
    }
    texts
}

fn add(value: &Value, role: &str, texts: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => texts.push((role.to_owned(), text.clone())),
        Value::Array(parts) => parts.iter().for_each(|part| add(part, role, texts)),
        Value::Object(fields) => {
            for key in ["text", "content", "parts"] {
                if let Some(inner) = fields.get(key) {
                    add(inner, role, texts);
                }
            }
        }
        _ => {}
    }
}
