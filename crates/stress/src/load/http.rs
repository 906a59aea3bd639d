//! Client for the gateway's plain HTTP routes.

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Returns the status and body of a response.
pub(crate) async fn get(url: &str, path: &str, token: Option<&str>) -> anyhow::Result<(u16, String)> {
    let address = url.trim_start_matches("http://");
    let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{authorization}connection: close\r\n\r\n");
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    // The gateway closes the connection after its answer, so the end of the stream is the end of the body.
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    Ok((status, body.trim().to_owned()))
}
