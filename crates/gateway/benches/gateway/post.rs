//! HTTP POST over one connection that is kept open.

use anyhow::Context as _;
use protocol::Method;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// Just enough of an HTTP client for a server we know.
pub(crate) struct PostConnection {
    stream: BufReader<TcpStream>,
    head: String,
}

impl PostConnection {
    /// Connects to a gateway by its base address.
    pub(crate) async fn connect(url: &str, secret: &str) -> anyhow::Result<Self> {
        let host = url.strip_prefix("http://").context("not an http:// address")?;
        let stream = TcpStream::connect(host).await?;
        // Head and body are one write, and the answer should not wait for a delayed acknowledgement.
        stream.set_nodelay(true)?;
        let head = format!("POST /rpc HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {secret}\r\n");
        Ok(Self { stream: BufReader::new(stream), head })
    }

    pub(crate) async fn call<M: Method>(&mut self, params: &M::Params) -> anyhow::Result<M::Result> {
        #[derive(Deserialize)]
        struct Answer<R> {
            result: R,
        }
        let params = serde_json::to_string(params)?;
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}","params":{params}}}"#, M::NAME);
        let request = format!("{}content-length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.write_all(request.as_bytes()).await?;
        let mut answer = vec![0; self.read_head().await?];
        self.stream.read_exact(&mut answer).await?;
        Ok(serde_json::from_slice::<Answer<M::Result>>(&answer)?.result)
    }

    /// Reads the head of a response and returns the length of its body.
    async fn read_head(&mut self) -> anyhow::Result<usize> {
        let mut length = None;
        let mut line = String::new();
        loop {
            line.clear();
            anyhow::ensure!(self.stream.read_line(&mut line).await? > 0, "the gateway hung up");
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = Some(value.parse()?),
                Some(_) => {}
                None if line.trim_end().is_empty() => return length.context("the answer has no length"),
                None => anyhow::ensure!(line.contains(" 200 "), "the gateway answered {line}"),
            }
        }
    }
}
