//! Hand-written HTTP requests, so that an attack controls every byte and can leave an answer unread.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Time limit for an answer that an attack waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A request to a gateway.
#[derive(Debug, Clone)]
pub(super) struct Request {
    address: String,
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl HttpAnswer {
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then(|| value.trim()))
    }
}

impl Request {
    pub(super) fn new(address: &str, method: &'static str, path: &str) -> Self {
        Self {
            address: address.to_owned(),
            method,
            path: path.to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(super) fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = body.to_string();
        self.header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
    }

    fn text(&self) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if self.headers.iter().all(|(name, _)| name != "host") {
            text.push_str("host: localhost\r\n");
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{}", self.body.len(), self.body));
        text
    }

    /// Sends the request and returns the connection with the answer unread.
    pub(super) async fn send(&self) -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).await?;
        stream.write_all(self.text().as_bytes()).await?;
        Ok(stream)
    }

    /// Sends the request and reads the answer.
    pub(super) async fn ask(&self) -> anyhow::Result<HttpAnswer> {
        let request = self.clone().header("connection", "close");
        let answered = async {
            let mut stream = request.send().await?;
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
            let status = status.context("no status")?;
            Ok(HttpAnswer { status, head: head.to_owned(), body: body.to_owned() })
        };
        tokio::time::timeout(PATIENCE, answered).await.context("no answer in time")?
    }

    /// Like [`Request::ask`], and fails unless the status is 200.
    pub(super) async fn ok(&self) -> anyhow::Result<serde_json::Value> {
        let answer = self.ask().await?;
        ensure!(answer.status == 200, "{} {}: {} {}", self.method, self.path, answer.status, answer.body);
        let json = answer.json();
        ensure!(json.get("error").is_none(), "{}: {json}", self.path);
        Ok(json)
    }
}
