//! WebSocket transport for servers and clients.

use std::io;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Request, Response};
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, frame};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::task::AbortOnDropHandle;

use crate::endpoint::{CLOSING_TIME, Next, OutgoingQueue, Progress};
use crate::{CloseReason, ConnectionLimits, Endpoint, Frame, Inbound, Outgoing, error};
use protocol::error::ErrorObject;

pub const SUBPROTOCOL: &str = "foreword.v1";

/// Multiple of the size limit up to which a message is read, so that its sender receives an error instead of a closed
/// connection.
const READ_FACTOR: usize = 4;

/// Maximum size of a message a client accepts. The tree of a large workspace can be tens of megabytes, and the
/// library's default limit of 16 MiB per frame would end the connection.
const MAX_ANSWER_BYTES: usize = 1 << 30;

/// Read buffer size. The library allocates it for every connection, even one that only listens; its default of 128 KiB
/// would be most of a gateway's memory.
const READ_BYTES: usize = 4 * 1024;

/// Fragment size of long messages. The library copies what it sends into a buffer that lives as long as the connection,
/// so a large answer sent as one frame would be in memory twice until the connection ends.
const FRAGMENT_BYTES: usize = 64 * 1024;

/// Time limit for connecting. A server that accepts but never responds is not a gateway.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Returns the response to an upgrade request. Once it is sent, call [`accept`] on the connection.
pub fn handshake<Q, A: Default>(request: &Request<Q>) -> Result<Response<A>, HandshakeError> {
    let mut response = create_response_with_body(request, A::default)?;
    let offered = request.headers().get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let mut offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    if offered.any(|protocol| protocol.trim() == SUBPROTOCOL) {
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    Ok(response)
}

/// A request is not a valid WebSocket upgrade.
#[derive(Debug, thiserror::Error)]
#[error("not a WebSocket upgrade: {0}")]
pub struct HandshakeError(#[from] tungstenite::Error);

/// Returns an endpoint over an upgraded connection.
///
/// The returned handle completes when the connection is closed and everything queued was sent or abandoned.
pub async fn accept<S>(connection: S, limits: &ConnectionLimits) -> (Endpoint, JoinHandle<()>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // Messages slightly over the limit are read and answered with an error.
    let max_bytes = Some(limits.message_bytes.saturating_mul(READ_FACTOR));
    let config = configuration().max_message_size(max_bytes).max_frame_size(max_bytes);
    let socket = WebSocketStream::from_raw_socket(connection, Role::Server, Some(config)).await;
    let (outgoing, queue) = Outgoing::new(limits);
    let (sender, incoming) = mpsc::channel(1);
    let (sink, stream) = socket.split();
    let reader = AbortOnDropHandle::new(tokio::spawn(read(stream, sender, outgoing.clone(), limits.clone())));
    // Several pings fit into the allowed silence, so one late answer does not disconnect a live client.
    let ping_every = (limits.silence / 3).max(Duration::from_millis(10));
    let closed = tokio::spawn(write(sink, queue, ping_every, reader));
    (Endpoint { incoming, outgoing }, closed)
}

fn configuration() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(READ_BYTES).write_buffer_size(FRAGMENT_BYTES)
}

async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: SplitStream<WebSocketStream<S>>,
    sender: mpsc::Sender<Inbound>,
    outgoing: Outgoing,
    limits: ConnectionLimits,
) {
    loop {
        let Ok(received) = tokio::time::timeout(limits.silence, stream.next()).await else {
            outgoing.close(CloseReason::Silent);
            return;
        };
        let inbound = match received {
            None | Some(Ok(Message::Close(_))) => {
                outgoing.leave();
                return;
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Binary(_))) => {
                Inbound::Refused(error::not_json("binary frames are not accepted; send JSON in text frames"))
            }
            Some(Ok(Message::Text(text))) if text.len() > limits.message_bytes => {
                Inbound::Refused(error::too_large(limits.message_bytes, text.len()))
            }
            Some(Ok(Message::Text(text))) => Inbound::Text(Frame::from(text)),
            Some(Err(error)) => {
                outgoing.leave();
                if let Some((refused, reason)) = unreadable(error, &limits) {
                    let _ = sender.send(Inbound::Fatal(refused, reason)).await;
                }
                return;
            }
        };
        // Sending fails once the serving loop has ended. Dropping `sender` ends that loop after it has answered what
        // was read.
        if sender.send(inbound).await.is_err() {
            break;
        }
    }
    // Nothing is answered any more, but reading must continue: closing a socket with unread data makes the system reset
    // the connection, and the peer would lose the last messages sent to it.
    while let Some(Ok(message)) = stream.next().await {
        if matches!(message, Message::Close(_)) {
            return;
        }
    }
}

/// Returns the error and close reason for an unreadable frame, or `None` if the connection is simply gone.
fn unreadable(error: tungstenite::Error, limits: &ConnectionLimits) -> Option<(ErrorObject, CloseReason)> {
    match error {
        tungstenite::Error::Capacity(CapacityError::MessageTooLong { size, .. }) => {
            Some((error::too_large(limits.message_bytes, size), CloseReason::TooLarge))
        }
        tungstenite::Error::Utf8(_) => {
            Some((error::not_json("the text frame is not UTF-8"), CloseReason::InvalidUtf8))
        }
        tungstenite::Error::Protocol(
            ProtocolError::ResetWithoutClosingHandshake | ProtocolError::ReceivedAfterClosing,
        ) => None,
        tungstenite::Error::Protocol(broken) => {
            Some((error::not_json(format!("not a WebSocket frame: {broken}")), CloseReason::InvalidFrame))
        }
        _ => None,
    }
}

async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    mut sink: SplitSink<WebSocketStream<S>, Message>,
    mut queue: OutgoingQueue,
    ping_every: Duration,
    reader: AbortOnDropHandle<()>,
) {
    let mut pings = tokio::time::interval(ping_every);
    // The first tick of an interval is immediate, and a connection that was just opened needs no ping.
    pings.reset();
    let progress = queue.progress();
    let reason = loop {
        // `queued` holds the message's share of the limit, which is released after it was sent.
        let queued = tokio::select! {
            next = queue.next() => match next {
                Next::Send(queued) => Some(queued),
                Next::Close(reason) => break reason,
            },
            _ = pings.tick() => None,
        };
        let sending = async {
            match &queued {
                Some(queued) => send(&mut sink, queued.frame.clone(), &progress).await,
                None => sink.send(Message::Ping(Default::default())).await,
            }
        };
        let sent = tokio::select! {
            sent = sending => sent.is_ok(),
            () = queue.overdue(CLOSING_TIME) => false,
        };
        // A peer that is too slow still gets a close frame if it has read something in the meantime. After any other
        // failed write the connection is broken.
        if !sent && !queue.is_slow() {
            return;
        }
    };
    let goodbye = Message::Close(reason.map(|reason| {
        let (code, text) = reason.code_and_text();
        CloseFrame { code: code.into(), reason: text.into() }
    }));
    let closing = async {
        let _ = sink.send(goodbye).await;
        let _ = sink.close().await;
        let _ = reader.await;
    };
    let _ = tokio::time::timeout(CLOSING_TIME, closing).await;
}

/// Sends a message, splitting long ones into fragments.
async fn send<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    message: Frame,
    progress: &Progress,
) -> Result<(), tungstenite::Error> {
    let text = message.into_utf8_bytes();
    if text.len() <= FRAGMENT_BYTES {
        let sent = sink.send(Message::Text(text)).await;
        progress.made();
        return sent;
    }
    let mut rest = tungstenite::Bytes::from(text);
    let mut kind = Data::Text;
    while !rest.is_empty() {
        let fragment = rest.split_to(FRAGMENT_BYTES.min(rest.len()));
        let fragment = frame::Frame::message(fragment, OpCode::Data(kind), rest.is_empty());
        sink.send(Message::Frame(fragment)).await?;
        progress.made();
        kind = Data::Continue;
    }
    Ok(())
}

/// Failure to open a WebSocket.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("`{url}` is not a WebSocket address: {reason}")]
    Address { url: String, reason: String },
    /// The server did not accept the upgrade.
    #[error("the gateway refused the connection with status {status}: {body}")]
    Refused { status: u16, body: String },
    #[error("could not connect to {url}: {}", reason(source))]
    Unreachable { url: String, source: Box<tungstenite::Error> },
}

/// Returns the system's error without the library's prefix.
fn reason(error: &tungstenite::Error) -> String {
    match error {
        tungstenite::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// Connects to a gateway.
pub fn connect<'a>(
    url: &'a str,
    token: &'a str,
    limits: &'a ConnectionLimits,
) -> BoxFuture<'a, Result<Endpoint, ConnectError>> {
    Box::pin(open(url, token, limits))
}

async fn open(url: &str, token: &str, limits: &ConnectionLimits) -> Result<Endpoint, ConnectError> {
    use tungstenite::client::IntoClientRequest as _;
    let address = |reason: String| ConnectError::Address { url: url.to_owned(), reason };
    let mut request = url.into_client_request().map_err(|error| address(error.to_string()))?;
    let bearer =
        format!("Bearer {token}").parse().map_err(|_| address("the token is not printable".into()))?;
    request.headers_mut().insert("authorization", bearer);
    request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    let config =
        configuration().max_message_size(Some(MAX_ANSWER_BYTES)).max_frame_size(Some(MAX_ANSWER_BYTES));
    let connecting = tokio_tungstenite::connect_async_with_config(request, Some(config), true);
    let connected = tokio::time::timeout(CONNECT_TIME, connecting).await.unwrap_or_else(|_| {
        let silent = format!("no answer within {} s", CONNECT_TIME.as_secs());
        Err(tungstenite::Error::Io(io::Error::new(io::ErrorKind::TimedOut, silent)))
    });
    let (socket, _) = connected.map_err(|error| match error {
        tungstenite::Error::Http(response) => ConnectError::Refused {
            status: response.status().as_u16(),
            body: String::from_utf8_lossy(response.body().as_deref().unwrap_or_default()).trim().to_owned(),
        },
        error => ConnectError::Unreachable { url: url.to_owned(), source: Box::new(error) },
    })?;
    Ok(client_endpoint(socket, limits))
}

fn client_endpoint<S>(socket: WebSocketStream<S>, limits: &ConnectionLimits) -> Endpoint
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (outgoing, mut queue) = Outgoing::new(limits);
    let (sender, incoming) = mpsc::channel(16);
    let (mut sink, mut stream) = socket.split();
    // The gateway sends pings. If nothing arrives for this long, it is gone, even if the system still considers the
    // connection open.
    let silence = limits.silence;
    let reading = outgoing.clone();
    let reader = tokio::spawn(async move {
        loop {
            let Ok(received) = tokio::time::timeout(silence, stream.next()).await else {
                break reading.close(CloseReason::Silent);
            };
            let Some(Ok(message)) = received else {
                break reading.close(CloseReason::Finished);
            };
            let Message::Text(text) = message else { continue };
            if sender.send(Inbound::Text(Frame::from(text))).await.is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        let progress = queue.progress();
        loop {
            let queued = match queue.next().await {
                Next::Send(queued) => queued,
                Next::Close(_) => {
                    let _ = tokio::time::timeout(CLOSING_TIME, sink.close()).await;
                    // The server's close frame ends the reader. Do not wait forever for one that never arrives.
                    let _ = tokio::time::timeout(CLOSING_TIME, reader).await;
                    return;
                }
            };
            let sent = tokio::select! {
                sent = sink.send(Message::Text(queued.frame.clone().into_utf8_bytes())) => sent.is_ok(),
                () = queue.overdue(CLOSING_TIME) => false,
            };
            if !sent {
                return;
            }
            progress.made();
        }
    });
    Endpoint { incoming, outgoing }
}
