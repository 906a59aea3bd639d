//! WebSocket on both sides: accepted by a server, opened by a client.

use std::time::Duration;

use axum::extract::ws;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_util::task::AbortOnDropHandle;

use crate::endpoint::{Next, OutgoingQueue};
use crate::{CloseReason, Endpoint, Error, Frame, Inbound, Limits, Outgoing};

/// The subprotocol that both sides speak.
pub const SUBPROTOCOL: &str = "foreword.v1";

/// How far over the limit a message may be and still get an answer instead of a closed connection.
const READ_FACTOR: usize = 4;

/// Most bytes of one message that a client accepts from its gateway. The tree of a large workspace has tens of
/// megabytes; the library's own bound of 16 MiB a frame would end the connection instead.
const MAX_ANSWER_BYTES: usize = 1 << 30;

/// How long a client that does not read, or does not close its side, is waited for when the connection ends.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// Bounds an upgrade so that a message somewhat over the limit can still be answered.
pub fn configure(upgrade: ws::WebSocketUpgrade, limits: &Limits) -> ws::WebSocketUpgrade {
    let most = limits.message_bytes.saturating_mul(READ_FACTOR);
    upgrade.max_message_size(most).max_frame_size(most)
}

/// An endpoint over an accepted WebSocket.
///
/// The returned handle ends when the connection is closed and everything queued was sent or given up.
pub fn accept(socket: ws::WebSocket, limits: &Limits) -> (Endpoint, JoinHandle<()>) {
    let (outgoing, queue) = Outgoing::new(limits);
    let (sender, incoming) = mpsc::channel(1);
    let (sink, stream) = socket.split();
    let reader = AbortOnDropHandle::new(tokio::spawn(read(stream, sender, outgoing.clone(), limits.clone())));
    let ping_every = (limits.silence / 3).max(Duration::from_millis(10));
    let closed = tokio::spawn(write(sink, queue, ping_every, reader));
    (Endpoint { incoming, outgoing }, closed)
}

async fn read(
    mut stream: SplitStream<ws::WebSocket>,
    sender: mpsc::Sender<Inbound>,
    outgoing: Outgoing,
    limits: Limits,
) {
    loop {
        let Ok(received) = tokio::time::timeout(limits.silence, stream.next()).await else {
            outgoing.close(CloseReason::Silent);
            return;
        };
        let inbound = match received {
            None | Some(Ok(ws::Message::Close(_))) => {
                outgoing.leave();
                return;
            }
            Some(Ok(ws::Message::Ping(_) | ws::Message::Pong(_))) => continue,
            Some(Ok(ws::Message::Binary(_))) => {
                Inbound::Refused(Error::parse("binary frames are not accepted; send JSON in text frames"))
            }
            Some(Ok(ws::Message::Text(text))) if text.len() > limits.message_bytes => {
                Inbound::Refused(Error::too_large(limits.message_bytes, text.len()))
            }
            Some(Ok(ws::Message::Text(text))) => Inbound::Text(Frame::from(text)),
            Some(Err(error)) => {
                outgoing.leave();
                if let Some((refused, reason)) = unreadable(error, &limits) {
                    let _ = sender.send(Inbound::Fatal(refused, reason)).await;
                }
                return;
            }
        };
        // Dropping the sender ends the loop that serves this connection, after what was read is answered.
        if sender.send(inbound).await.is_err() {
            break;
        }
    }
    // Nobody answers any more. What still comes is read all the same: were it left unread, the system would reset
    // the connection, and with it take back what was sent last.
    while let Some(Ok(message)) = stream.next().await {
        if matches!(message, ws::Message::Close(_)) {
            return;
        }
    }
}

/// What an unreadable frame is answered with and how the connection then ends; none when it is simply gone.
fn unreadable(error: axum::Error, limits: &Limits) -> Option<(Error, CloseReason)> {
    let inner = error.into_inner();
    match inner.downcast_ref::<tungstenite::Error>()? {
        tungstenite::Error::Capacity(CapacityError::MessageTooLong { size, .. }) => {
            Some((Error::too_large(limits.message_bytes, *size), CloseReason::TooLarge))
        }
        tungstenite::Error::Utf8(_) => {
            Some((Error::parse("the text frame is not UTF-8"), CloseReason::InvalidUtf8))
        }
        tungstenite::Error::Protocol(
            ProtocolError::ResetWithoutClosingHandshake | ProtocolError::ReceivedAfterClosing,
        ) => None,
        tungstenite::Error::Protocol(broken) => {
            Some((Error::parse(format!("not a WebSocket frame: {broken}")), CloseReason::InvalidFrame))
        }
        _ => None,
    }
}

async fn write(
    mut sink: SplitSink<ws::WebSocket, ws::Message>,
    mut queue: OutgoingQueue,
    ping_every: Duration,
    reader: AbortOnDropHandle<()>,
) {
    let mut pings = tokio::time::interval(ping_every);
    pings.reset();
    let reason = loop {
        // What a message takes of the queue's bound is given back when it was sent.
        let (message, _room) = tokio::select! {
            next = queue.next() => match next {
                Next::Send(queued) => {
                    (ws::Message::Text(queued.frame.clone().into_utf8_bytes()), Some(queued))
                }
                Next::Close(reason) => break reason,
            },
            _ = pings.tick() => (ws::Message::Ping(Default::default()), None),
        };
        let sent = tokio::select! {
            sent = sink.send(message) => sent.is_ok(),
            () = queue.overdue(CLOSING_TIME) => false,
        };
        if !sent && !queue.is_slow() {
            return;
        }
    };
    let goodbye = ws::Message::Close(reason.map(|reason| {
        let (code, text) = reason.code_and_text();
        ws::CloseFrame { code, reason: text.into() }
    }));
    let closing = async {
        let _ = sink.send(goodbye).await;
        let _ = sink.close().await;
        let _ = reader.await;
    };
    let _ = tokio::time::timeout(CLOSING_TIME, closing).await;
}

/// Why a WebSocket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address is not one.
    #[error("`{url}` is not a WebSocket address: {reason}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server answered the upgrade with something else.
    #[error("the gateway refused the connection with status {status}: {body}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What the server said.
        body: String,
    },
    /// Nothing answered.
    #[error("could not connect to {url}: {source}")]
    Unreachable {
        /// The address.
        url: String,
        /// What the system said.
        source: Box<tungstenite::Error>,
    },
}

/// Opens a WebSocket to a gateway and makes an endpoint of it.
pub async fn connect(url: &str, token: &str, limits: &Limits) -> Result<Endpoint, ConnectError> {
    use tungstenite::client::IntoClientRequest as _;
    let address = |reason: String| ConnectError::Address { url: url.to_owned(), reason };
    let mut request = url.into_client_request().map_err(|error| address(error.to_string()))?;
    let bearer =
        format!("Bearer {token}").parse().map_err(|_| address("the token is not printable".into()))?;
    request.headers_mut().insert("authorization", bearer);
    let protocol = tungstenite::http::HeaderValue::from_static(SUBPROTOCOL);
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let config = tungstenite::protocol::WebSocketConfig::default()
        .max_message_size(Some(MAX_ANSWER_BYTES))
        .max_frame_size(Some(MAX_ANSWER_BYTES));
    let connected = tokio_tungstenite::connect_async_with_config(request, Some(config), true).await;
    let (socket, _) = connected.map_err(|error| match error {
        tungstenite::Error::Http(response) => ConnectError::Refused {
            status: response.status().as_u16(),
            body: String::from_utf8_lossy(response.body().as_deref().unwrap_or_default()).trim().to_owned(),
        },
        error => ConnectError::Unreachable { url: url.to_owned(), source: Box::new(error) },
    })?;
    Ok(client_endpoint(socket, limits))
}

fn client_endpoint<S>(socket: tokio_tungstenite::WebSocketStream<S>, limits: &Limits) -> Endpoint
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (outgoing, mut queue) = Outgoing::new(limits);
    let (sender, incoming) = mpsc::channel(16);
    let (mut sink, mut stream) = socket.split();
    // The gateway pings; one that is silent for this long is gone, whatever the system believes of the connection.
    let silence = limits.silence;
    let reader = tokio::spawn(async move {
        while let Ok(Some(Ok(message))) = tokio::time::timeout(silence, stream.next()).await {
            let tungstenite::Message::Text(text) = message else { continue };
            if sender.send(Inbound::Text(Frame::from(text.as_str().to_owned()))).await.is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        loop {
            let message = match queue.next().await {
                Next::Send(queued) => tungstenite::Message::text(queued.frame.as_str().to_owned()),
                Next::Close(_) => {
                    let _ = tokio::time::timeout(CLOSING_TIME, sink.close()).await;
                    // The server's close frame ends the reader; one that never comes is not waited for.
                    let _ = tokio::time::timeout(CLOSING_TIME, reader).await;
                    return;
                }
            };
            if sink.send(message).await.is_err() {
                return;
            }
        }
    });
    Endpoint { incoming, outgoing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_accepts_an_answer_larger_than_the_librarys_bound() {
        const BYTES: usize = 20 << 20;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/rpc", listener.local_addr().unwrap());
        let accept = |upgrade: ws::WebSocketUpgrade| async {
            upgrade.protocols([SUBPROTOCOL]).on_upgrade(|mut socket| async move {
                socket.send(ws::Message::Text("x".repeat(BYTES).into())).await.unwrap();
            })
        };
        let routes = axum::Router::new().route("/rpc", axum::routing::get(accept));
        let server = tokio::spawn(async { axum::serve(listener, routes).await });
        let mut endpoint = connect(&url, "token", &Limits::default()).await.unwrap();
        let Some(Inbound::Text(frame)) = endpoint.incoming.recv().await else { panic!("nothing arrived") };
        assert_eq!(frame.as_str().len(), BYTES);
        server.abort();
    }
}
