//! Clients for stdio and memory, and the short form of answers.

use protocol::error::ErrorObject;
use rpc::{Endpoint, Frame, Inbound, memory};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use test_gateway::TestGateway;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};

use super::{ALIVE, PROBE};
use crate::support::soon;

/// Returns the short form of an answer, with its id as it was written: `7 ok`, `"a" -32602`, `[1 ok, 2 ok]`.
pub(super) fn summary(text: &str) -> String {
    #[derive(Deserialize)]
    struct Answer<'a> {
        jsonrpc: &'a str,
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow, default)]
        result: Option<&'a RawValue>,
        #[serde(default)]
        error: Option<ErrorObject>,
    }
    let one = |answer: &Answer<'_>| {
        assert_eq!(answer.jsonrpc, "2.0", "{text}");
        match (answer.result, &answer.error) {
            (Some(_), None) => format!("{} ok", answer.id),
            (None, Some(error)) => format!("{} {}", answer.id, error.code),
            _ => panic!("neither a result nor an error, or both: {text}"),
        }
    };
    if text.starts_with('[') {
        let answers: Vec<Answer<'_>> = serde_json::from_str(text).unwrap();
        format!("[{}]", answers.iter().map(one).collect::<Vec<_>>().join(", "))
    } else {
        one(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }
}

/// Parent process on the other end of stdio.
pub(super) struct Line {
    writer: DuplexStream,
    reader: Lines<BufReader<DuplexStream>>,
}

impl Line {
    pub(super) fn open(gateway: &TestGateway) -> Self {
        let (writer, stdin) = tokio::io::duplex(64 * 1024);
        let (stdout, reader) = tokio::io::duplex(64 * 1024);
        let gateway = gateway.gateway();
        tokio::spawn(async move { gateway.serve_stdio(stdin, stdout).await });
        Self { writer, reader: BufReader::new(reader).lines() }
    }

    pub(super) async fn send(&mut self, line: impl AsRef<[u8]>) {
        soon("room to send", self.writer.write_all(line.as_ref())).await.unwrap();
        soon("room to send", self.writer.write_all(b"\n")).await.unwrap();
    }

    /// Sends a line without its end, and then nothing more.
    pub(super) async fn send_unfinished(&mut self, line: &str) {
        soon("room to send", self.writer.write_all(line.as_bytes())).await.unwrap();
        self.writer.shutdown().await.unwrap();
    }

    pub(super) async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.line().await.expect("stdio was closed")).unwrap()
    }

    /// Returns the short form of all answers until the gateway closes its end.
    pub(super) async fn rest(&mut self) -> Vec<String> {
        let mut answers = Vec::new();
        while let Some(line) = self.line().await {
            answers.push(summary(&line));
        }
        answers
    }

    /// Returns the short form of the answers so far.
    pub(super) async fn answers_before_probe(&mut self) -> String {
        self.send(PROBE).await;
        let mut answers = Vec::new();
        loop {
            match summary(&self.line().await.expect("stdio was closed")) {
                answer if answer == ALIVE => return answers.join(" then "),
                answer => answers.push(answer),
            }
        }
    }

    async fn line(&mut self) -> Option<String> {
        soon("a line", self.reader.next_line()).await.unwrap()
    }
}

/// A client in the gateway's own process.
pub(super) struct Memory(Endpoint);

impl Memory {
    pub(super) fn open(gateway: &TestGateway) -> Self {
        let (near, far) = memory::pair();
        let gateway = gateway.gateway();
        tokio::spawn(async move { gateway.serve_owner(far).await });
        Self(near)
    }

    pub(super) async fn send(&mut self, text: &str) {
        assert!(self.0.outgoing.send(Frame::from(text.to_owned())).await);
    }

    pub(super) async fn answers_before_probe(&mut self) -> String {
        self.send(PROBE).await;
        let mut answers = Vec::new();
        loop {
            let Some(Inbound::Text(frame)) = soon("an answer", self.0.incoming.recv()).await else {
                panic!("the connection was closed")
            };
            match summary(frame.as_str()) {
                answer if answer == ALIVE => return answers.join(" then "),
                answer => answers.push(answer),
            }
        }
    }
}
