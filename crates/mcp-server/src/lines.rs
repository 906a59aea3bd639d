//! A client on two streams, one message per line. Calls are answered in order.

// Not rmcp's line transport (3.8): it has no batches, which protocol 2025-03-26 includes, and it ignores lines that are
// not messages, for which clients get an error here.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ResourceUpdatedNotificationParam, ServerJsonRpcMessage};
use rmcp::service::serve_directly;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, watch};

use super::message::{INVALID_REQUEST, Received, Sent, failure};
use super::{McpCatalog, Server};

/// Maximum size of a message.
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Serves one client until it closes its stream.
pub async fn serve<C: McpCatalog>(
    server: Server<C>,
    input: impl AsyncBufRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let lines = Lines {
        input,
        line: Vec::new(),
        is_too_long: false,
        received: VecDeque::new(),
        answering: Arc::new(AnswerQueue {
            output: Mutex::new(Output { stream: output, batch: None }),
            unanswered: watch::Sender::new(Unanswered::Nothing),
        }),
    };
    let looking = server.clone();
    let running = serve_directly(server, lines, None);
    let peer = running.peer().clone();
    let announce = async move {
        loop {
            tokio::time::sleep(looking.look_every()).await;
            for uri in looking.changes().await {
                // A failure means that the client is gone, which ends the service below.
                let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
            }
        }
    };
    tokio::select! {
        ended = running.waiting() => ended.map(|_| ()).map_err(io::Error::other),
        () = announce => Ok(()),
    }
}

struct Lines<R, W> {
    input: R,
    /// The line that is being read. It is kept here because rmcp drops `receive` whenever something else happens first.
    line: Vec<u8>,
    is_too_long: bool,
    received: VecDeque<Received>,
    answering: Arc<AnswerQueue<W>>,
}

struct AnswerQueue<W> {
    output: Mutex<Output<W>>,
    unanswered: watch::Sender<Unanswered>,
}

/// State of the call that was passed on last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unanswered {
    Nothing,
    Call,
}

struct Output<W> {
    stream: W,
    batch: Option<Batch>,
}

/// Answers to a batch, which are sent together.
struct Batch {
    missing: usize,
    answers: Vec<Value>,
}

impl<W: AsyncWrite + Send + Unpin> Output<W> {
    async fn write(&mut self, message: &Value) -> io::Result<()> {
        self.stream.write_all(format!("{message}\n").as_bytes()).await?;
        self.stream.flush().await
    }

    async fn answer(&mut self, answer: Value) -> io::Result<()> {
        let Some(batch) = &mut self.batch else { return self.write(&answer).await };
        batch.answers.push(answer);
        batch.missing -= 1;
        if batch.missing > 0 {
            return Ok(());
        }
        let answers = self.batch.take().map(|batch| batch.answers).unwrap_or_default();
        self.write(&Value::Array(answers)).await
    }
}

impl<R: AsyncBufRead + Send + Unpin, W: AsyncWrite + Send + Unpin> Lines<R, W> {
    /// Reads a line up to the limit, and the rest of it without keeping it; false at the end of the stream.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let buffer = self.input.fill_buf().await?;
            if buffer.is_empty() {
                return Ok(!self.line.is_empty());
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(buffer.len(), |end| end + 1);
            // Limited while reading, because a line without an end would otherwise fill the memory before its length is
            // known.
            if self.line.len() + length > MAX_MESSAGE_BYTES {
                self.is_too_long = true;
                self.line.clear();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(&buffer[..length]);
            }
            self.input.consume(length);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn parse(&mut self) -> Sent {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let message = format!("the message has more than {MAX_MESSAGE_BYTES} bytes");
            return Sent::One(Received::Malformed(failure(Value::Null, INVALID_REQUEST, &message)));
        }
        if line.trim_ascii().is_empty() {
            return Sent::One(Received::Ignored);
        }
        Sent::read(&line)
    }

    async fn next(&mut self) -> io::Result<Option<ClientJsonRpcMessage>> {
        loop {
            let mut unanswered = self.answering.unanswered.subscribe();
            // The sender is a part of `self`, so it cannot be gone.
            let _ = unanswered.wait_for(|unanswered| *unanswered == Unanswered::Nothing).await;
            match self.received.pop_front() {
                Some(Received::Call(call)) => {
                    // A subscription is answered when it ends, and other calls are made meanwhile.
                    if !is_subscription(&call) {
                        self.answering.unanswered.send_replace(Unanswered::Call);
                    }
                    return Ok(Some(*call));
                }
                Some(Received::Notification(notification)) => return Ok(Some(*notification)),
                Some(Received::Malformed(error)) => {
                    self.answering.output.lock().await.answer(error).await?;
                }
                Some(Received::Ignored) => {}
                None if !self.read_line().await? => return Ok(None),
                None => match self.parse() {
                    Sent::One(received) => self.received.push_back(received),
                    Sent::Batch(received) => {
                        let is_answered = |received: &&Received| {
                            matches!(received, Received::Call(_) | Received::Malformed(_))
                        };
                        let missing = received.iter().filter(is_answered).count();
                        if missing > 0 {
                            let batch = Batch { missing, answers: Vec::new() };
                            self.answering.output.lock().await.batch = Some(batch);
                        }
                        self.received.extend(received);
                    }
                },
            }
        }
    }
}

fn is_subscription(call: &ClientJsonRpcMessage) -> bool {
    matches!(call, ClientJsonRpcMessage::Request(call) if call.request.method() == "subscriptions/listen")
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncBufRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answering = Arc::clone(&self.answering);
        async move {
            let is_answer =
                matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_));
            let message = serde_json::to_value(message)?;
            let mut output = answering.output.lock().await;
            if !is_answer {
                return output.write(&message).await;
            }
            let written = output.answer(message).await;
            drop(output);
            answering.unanswered.send_replace(Unanswered::Nothing);
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // A stream that cannot be read has ended.
        self.next().await.unwrap_or_default()
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}
