//! A model asked over a plain socket: the least that a first delta can cost.

use anyhow::Context as _;
use scripted_model::{ScriptedModel, Wire};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Prefix of an event with a delta.
const DELTA: &[u8] = b"event: content_block_delta";

/// The bytes of a request and their destination.
pub(crate) struct Bare {
    host: String,
    bytes: Vec<u8>,
}

impl Bare {
    pub(crate) fn new(model: &ScriptedModel, body: &str) -> anyhow::Result<Self> {
        let url = model.base_url(Wire::Anthropic);
        let host = url.strip_prefix("http://").context("not an http:// address")?.to_owned();
        let head =
            format!("POST /v1/messages HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
        let bytes = format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes();
        Ok(Self { host, bytes })
    }

    /// Connects, asks and waits for the first delta. Returns the connection, so that closing it is not measured.
    pub(crate) async fn first_delta(&self) -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host).await?;
        // The provider crate sends without delay as well, so that the comparison is fair.
        stream.set_nodelay(true)?;
        stream.write_all(&self.bytes).await?;
        let mut answer = Vec::new();
        while !answer.windows(DELTA.len()).any(|window| window == DELTA) {
            anyhow::ensure!(stream.read_buf(&mut answer).await? > 0, "the model hung up");
        }
        Ok(stream)
    }
}
