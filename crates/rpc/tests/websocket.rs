//! Tests of a service behind a real WebSocket: panics, slow readers and invalid tokens.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what tests share fails the test that uses it")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use protocol::error::ErrorObject;
use rpc::{
    CallError, Caller, CloseReason, ConnectionLimits, Inbound, Outgoing, Reply, Service, serve, websocket,
};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server;
use tokio_tungstenite::{accept_hdr_async, client_async};

const PATIENCE: Duration = Duration::from_secs(30);

struct TestService;

impl Service for TestService {
    type Peer = Outgoing;

    async fn call(
        &self,
        outgoing: &Arc<Outgoing>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Reply, ErrorObject> {
        match method {
            "letters" => {
                let params: serde_json::Value = serde_json::from_str(params.unwrap().get()).unwrap();
                let letter = params["letter"].as_str().unwrap();
                let bytes = params["bytes"].as_u64().unwrap();
                Ok(Reply::new(letter.repeat(bytes as usize / letter.len() + 1)))
            }
            "hello" => Ok(Reply::new("hello")),
            "panic" => panic!("with a secret in it"),
            "panic later" => {
                tokio::task::yield_now().await;
                panic!("with a secret in it")
            }
            // More than the system's socket buffers hold, but less than the queue's limit.
            "much" => Ok(Reply::new("x".repeat(12 * 1024 * 1024))),
            "leave" => {
                outgoing.close(CloseReason::Unauthenticated);
                // Gives the sender enough time to violate the order if it does not wait.
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(Reply::new("goodbye"))
            }
            other => Err(rpc::no_method(other)),
        }
    }
}

/// Starts a server. The channel receives a message when a connection begins, and closes when it ends.
async fn start(
    limits: ConnectionLimits,
) -> (SocketAddr, mpsc::UnboundedReceiver<(Outgoing, mpsc::Receiver<()>)>) {
    let (begun, connections) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let limits = limits.clone();
            let begun = begun.clone();
            tokio::spawn(async move {
                let stream = accept_hdr_async(stream, answer).await.unwrap().into_inner();
                let (alive, ended) = mpsc::channel(1);
                let (endpoint, closed) = websocket::accept(stream, &limits).await;
                let outgoing = endpoint.outgoing.clone();
                let _ = begun.send((outgoing.clone(), ended));
                serve(endpoint, Arc::new(TestService), Arc::new(outgoing), Default::default()).await;
                let _ = closed.await;
                drop(alive);
            });
        }
    });
    (address, connections)
}

#[expect(clippy::result_large_err, reason = "the library's type")]
fn answer(request: &server::Request, _: server::Response) -> Result<server::Response, server::ErrorResponse> {
    Ok(websocket::handshake(request).unwrap())
}

/// Requests a large answer and never reads it.
async fn never_read(address: SocketAddr) -> tokio_tungstenite::WebSocketStream<tokio::net::TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    // With the system's default, much of the answer could disappear into socket buffers, and the server would not
    // notice that the client does not read.
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let stream = socket.connect(address).await.unwrap();
    let (mut socket, _) = client_async(format!("ws://{address}/"), stream).await.unwrap();
    socket.send(Message::text(r#"{"jsonrpc":"2.0","id":1,"method":"much"}"#)).await.unwrap();
    socket
}

async fn ends(mut connection: mpsc::Receiver<()>) -> bool {
    tokio::time::timeout(PATIENCE, connection.recv()).await.is_ok()
}

#[tokio::test]
async fn a_panic_is_an_error_on_an_open_connection() {
    let (address, _connections) = start(ConnectionLimits::default()).await;
    let endpoint =
        websocket::connect(&format!("ws://{address}/"), "t", &ConnectionLimits::default()).await.unwrap();
    let (caller, _notifications) = Caller::new(endpoint);
    for method in ["panic", "panic later"] {
        let Err(CallError::Answered(error)) = caller.call_raw(method, &json!({})).await else {
            panic!("`{method}` should fail")
        };
        assert_eq!(
            (error.code, serde_json::to_value(error.data).unwrap()),
            (-32603, json!({ "kind": "internal_error", "reason": "panic" }))
        );
        assert!(!error.message.contains("secret"), "{}", error.message);
        let answer: String = caller.call("hello", &json!({})).await.unwrap();
        assert_eq!(answer, "hello", "on the same connection");
    }
}

#[tokio::test]
async fn a_long_answer_comes_in_fragments_that_make_one_message() {
    let (address, _connections) = start(ConnectionLimits::default()).await;
    let endpoint =
        websocket::connect(&format!("ws://{address}/"), "t", &ConnectionLimits::default()).await.unwrap();
    let (caller, _notifications) = Caller::new(endpoint);
    // The second letter is a multi-byte character, which fragment boundaries split.
    for (letter, bytes) in [("x", 20 << 20), ("€", 1 << 20)] {
        let params = json!({ "letter": letter, "bytes": bytes });
        let answer: String = caller.call("letters", &params).await.unwrap();
        assert!(answer.len() >= bytes && answer == letter.repeat(answer.len() / letter.len()));
    }
}

#[tokio::test]
async fn a_client_accepts_an_answer_larger_than_the_librarys_bound() {
    const BYTES: usize = 20 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/rpc", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut socket = accept_hdr_async(listener.accept().await.unwrap().0, answer).await.unwrap();
        socket.send(Message::text("x".repeat(BYTES))).await.unwrap();
        socket
    });
    let mut endpoint = websocket::connect(&url, "token", &ConnectionLimits::default()).await.unwrap();
    let Some(Inbound::Text(frame)) = endpoint.incoming.recv().await else { panic!("nothing arrived") };
    assert_eq!(frame.as_str().len(), BYTES);
    drop(server.await);
}

#[tokio::test]
async fn a_request_is_answered_before_its_connection_is_closed() {
    let (address, _connections) = start(ConnectionLimits::default()).await;
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut socket, _) = client_async(format!("ws://{address}/"), stream).await.unwrap();
    socket.send(Message::text(r#"{"jsonrpc":"2.0","id":1,"method":"leave"}"#)).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    assert_eq!(answer.into_text().unwrap().as_str(), r#"{"jsonrpc":"2.0","id":1,"result":"goodbye"}"#);
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else { panic!("not closed") };
    assert_eq!(u16::from(frame.code), 1008);
}

#[tokio::test]
async fn closing_does_not_wait_for_an_unread_connection() {
    let (address, mut connections) = start(ConnectionLimits::default()).await;
    let asleep = never_read(address).await;
    let (outgoing, connection) = connections.recv().await.unwrap();
    // Lets the server fill the socket's buffers, so that its writer is stuck in the middle of the answer when the
    // connection is closed.
    tokio::time::sleep(Duration::from_millis(500)).await;
    outgoing.close(CloseReason::Unauthenticated);
    drop(outgoing);
    assert!(ends(connection).await);
    drop(asleep);
}

#[tokio::test]
async fn a_client_that_neither_reads_nor_speaks_is_dropped() {
    let limits = ConnectionLimits { silence: Duration::from_millis(300), ..ConnectionLimits::default() };
    let (address, mut connections) = start(limits).await;
    let asleep = never_read(address).await;
    let (outgoing, connection) = connections.recv().await.unwrap();
    assert_eq!(tokio::time::timeout(PATIENCE, outgoing.closed()).await.ok(), Some(CloseReason::Silent));
    drop(outgoing);
    assert!(ends(connection).await);
    drop(asleep);
}

#[tokio::test]
async fn a_client_that_is_quiet_but_alive_stays() {
    let limits = ConnectionLimits { silence: Duration::from_millis(600), ..ConnectionLimits::default() };
    let (address, mut connections) = start(limits).await;
    // The client library answers pings automatically.
    let endpoint =
        websocket::connect(&format!("ws://{address}/"), "t", &ConnectionLimits::default()).await.unwrap();
    let (caller, _notifications) = Caller::new(endpoint);
    let (outgoing, _connection) = connections.recv().await.unwrap();
    // More than three times the allowed silence: without pings, the connection would be closed by then.
    let closed = tokio::time::timeout(Duration::from_secs(2), outgoing.closed()).await;
    assert!(closed.is_err(), "{closed:?}");
    let answer: String = caller.call("hello", &json!({})).await.unwrap();
    assert_eq!(answer, "hello");
}

/// A listener that accepts but never responds, like a proxy without a gateway behind it.
#[tokio::test(start_paused = true)]
async fn a_silent_server_is_not_a_gateway() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/rpc", listener.local_addr().unwrap());
    let connecting = websocket::connect(&url, "t", &ConnectionLimits::default()).await;
    let Err(websocket::ConnectError::Unreachable { source, .. }) = connecting else { panic!("connected") };
    assert!(source.to_string().contains("no answer within 10 s"), "{source}");
    drop(listener);
}

#[tokio::test]
async fn a_call_after_the_gateway_went_silent_does_not_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/rpc", listener.local_addr().unwrap());
    // The peer sends no pings, and its system acknowledges everything we send.
    let server = tokio::spawn(async move {
        accept_hdr_async(listener.accept().await.unwrap().0, answer).await.unwrap().into_inner()
    });
    let limits = ConnectionLimits { silence: Duration::from_millis(200), ..ConnectionLimits::default() };
    let (caller, mut notifications) = Caller::new(websocket::connect(&url, "t", &limits).await.unwrap());
    assert!(notifications.recv().await.is_none());
    let called = tokio::time::timeout(PATIENCE, caller.call_raw("hello", &json!({}))).await;
    assert!(matches!(called, Ok(Err(CallError::ConnectionLost))), "{called:?}");
    drop(server.await);
}

/// Every piece is read in time, although the whole takes far longer than the limit.
#[tokio::test]
async fn a_client_that_reads_slowly_but_steadily_gets_everything() {
    // The system reports free buffer space only when much of it is free again, so progress comes in bursts.
    const BYTES_A_SECOND: f64 = 2.0 * 1024.0 * 1024.0;
    let patience = Duration::from_secs(3);
    let limits =
        ConnectionLimits { patience, outgoing_bytes: 13 * 1024 * 1024, ..ConnectionLimits::default() };
    let (address, mut connections) = start(limits).await;
    let mut stream = never_read(address).await.into_inner();
    let (outgoing, _connection) = connections.recv().await.unwrap();
    let begun = std::time::Instant::now();
    let (arrived, on_its_way) = tokio::sync::oneshot::channel();
    let reading = tokio::spawn(async move {
        let mut buffer = vec![0; 64 * 1024];
        let mut read = 0;
        read += stream.read(&mut buffer).await.unwrap();
        arrived.send(()).unwrap();
        while read < 12 * 1024 * 1024 {
            if read as f64 > begun.elapsed().as_secs_f64() * BYTES_A_SECOND {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
            read += stream.read(&mut buffer).await.unwrap();
        }
        stream
    });
    // The first answer is being sent, and this one does not fit next to it.
    on_its_way.await.unwrap();
    assert!(outgoing.send(rpc::Frame::from("y".repeat(12 * 1024 * 1024))).await, "{:?}", outgoing.closing());
    assert!(begun.elapsed() > patience, "it was not slow");
    drop(reading.await);
}

/// Notifications that the client does not read must not exhaust memory.
#[tokio::test(start_paused = true)]
async fn unread_notifications_close_the_connection() {
    let (near, far) = rpc::memory::pair();
    let (caller, mut notifications) = Caller::new(near);
    let sending = tokio::spawn(async move {
        for number in 0..50_000 {
            far.outgoing.send(rpc::notification("n", &number).unwrap()).await;
        }
        far
    });
    let called = tokio::time::timeout(PATIENCE, caller.call_raw("hello", &json!({}))).await;
    assert!(matches!(called, Ok(Err(CallError::ConnectionLost))), "{called:?}");
    let mut taken = 0;
    while notifications.recv().await.is_some() {
        taken += 1;
    }
    assert!((1..=10_000).contains(&taken), "{taken}");
    drop(sending.await);
}
