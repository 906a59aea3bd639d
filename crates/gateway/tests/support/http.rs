//! HTTP by hand: one request, one answer, nothing hidden.

use serde_json::Value;
use test_gateway::TestGateway;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::soon;

#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl HttpAnswer {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// Returns the code of the JSON-RPC error in the body.
    pub(crate) fn error_code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap()
    }
}

/// Sends `head` (request line and headers, without the blank line) and a body, and reads the answer to its end.
pub(crate) async fn request(gateway: &TestGateway, head: &str, body: &[u8]) -> HttpAnswer {
    let stream = TcpStream::connect(gateway.gateway().address()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    // Closing after the answer lets the client read to the end without understanding lengths and chunks, so that a
    // wrong length or a stray byte is not hidden.
    let head = format!("{head}\r\nConnection: close\r\n\r\n");
    let write = async {
        writer.write_all(head.as_bytes()).await?;
        writer.write_all(body).await
    };
    let mut received = Vec::new();
    // A gateway may answer and stop reading before it has received the whole body, so a failed write is not an error.
    let (_, read) =
        soon("an HTTP answer", async { tokio::join!(write, reader.read_to_end(&mut received)) }).await;
    parse(&received).unwrap_or_else(|| panic!("no HTTP answer ({read:?}): {received:?}"))
}

pub(crate) async fn get(gateway: &TestGateway, path: &str, secret: Option<&str>) -> HttpAnswer {
    let authorization =
        secret.map(|secret| format!("\r\nAuthorization: Bearer {secret}")).unwrap_or_default();
    request(gateway, &format!("GET {path} HTTP/1.1\r\nHost: localhost{authorization}"), b"").await
}

/// Sends an ordinary POST to `/rpc`.
pub(crate) async fn post(gateway: &TestGateway, secret: &str, body: impl AsRef<[u8]>) -> HttpAnswer {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}"
    );
    request(gateway, &head, body).await
}

/// Returns the value of one line of `/metrics`; `None` if there is no such line.
pub(crate) async fn metric(gateway: &TestGateway, name_and_labels: &str) -> Option<f64> {
    let answer = get(gateway, "/metrics", Some(&gateway.owner_secret().unwrap())).await;
    answer.text().lines().find_map(|line| line.strip_prefix(name_and_labels)?.trim().parse().ok())
}

fn parse(received: &[u8]) -> Option<HttpAnswer> {
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8(received[..end].to_vec()).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(HttpAnswer { status, head, body: received[end + 4..].to_vec() })
}
