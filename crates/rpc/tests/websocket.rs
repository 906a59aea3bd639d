//! A service behind a real WebSocket: what panics, what never reads, and what is shown the door.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what tests share fails the test that uses it")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::routing::get;
use futures_util::{SinkExt as _, StreamExt as _};
use rpc::{CallError, Caller, CloseReason, Error, Limits, Outgoing, Reply, Service, serve, websocket};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

const PATIENCE: Duration = Duration::from_secs(30);

struct TestService;

impl Service for TestService {
    type Peer = Outgoing;

    async fn call(
        &self,
        outgoing: &Arc<Outgoing>,
        method: &str,
        _: Option<&RawValue>,
    ) -> Result<Reply, Error> {
        match method {
            "hello" => Ok(Reply::new("hello")),
            "panic" => panic!("with a secret in it"),
            "panic later" => {
                tokio::task::yield_now().await;
                panic!("with a secret in it")
            }
            // More than the system's buffers hold, and less than the queue does.
            "much" => Ok(Reply::new("x".repeat(12 * 1024 * 1024))),
            "leave" => {
                outgoing.close(CloseReason::Unauthenticated);
                // Whoever sends has all the time it needs to do so too early.
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(Reply::new("goodbye"))
            }
            other => Err(Error::method_not_found(other)),
        }
    }
}

/// A server; the channel tells of each connection that it has begun, and, by closing, that it has ended.
async fn start(limits: Limits) -> (SocketAddr, mpsc::UnboundedReceiver<(Outgoing, mpsc::Receiver<()>)>) {
    let (begun, connections) = mpsc::unbounded_channel();
    let upgrade = async move |upgrade: WebSocketUpgrade| {
        let upgrade = websocket::configure(upgrade, &limits).protocols([websocket::SUBPROTOCOL]);
        upgrade.on_upgrade(async move |socket| {
            let (alive, ended) = mpsc::channel(1);
            let (endpoint, closed) = websocket::accept(socket, &limits);
            let outgoing = endpoint.outgoing.clone();
            let _ = begun.send((outgoing.clone(), ended));
            serve(endpoint, Arc::new(TestService), Arc::new(outgoing), Default::default()).await;
            let _ = closed.await;
            drop(alive);
        })
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = axum::serve(listener, Router::new().route("/", get(upgrade)));
    tokio::spawn(async move { server.await });
    (address, connections)
}

/// Asks for much and reads nothing of it.
async fn never_read(address: SocketAddr) -> impl Sized {
    let socket = TcpSocket::new_v4().unwrap();
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
async fn a_panic_is_an_internal_error_and_not_a_dead_connection() {
    let (address, _connections) = start(Limits::default()).await;
    let endpoint = websocket::connect(&format!("ws://{address}/"), "t", &Limits::default()).await.unwrap();
    let (caller, _notifications) = Caller::new(endpoint);
    for method in ["panic", "panic later"] {
        let Err(CallError::Answered(error)) = caller.call_raw(method, &json!({})).await else {
            panic!("`{method}` should fail")
        };
        assert_eq!(
            (error.code, error.data),
            (-32603, Some(json!({ "kind": "internal_error", "reason": "panic" })))
        );
        assert!(!error.message.contains("secret"), "{}", error.message);
        let answer: String = caller.call("hello", &json!({})).await.unwrap();
        assert_eq!(answer, "hello", "on the same connection");
    }
}

#[tokio::test]
async fn a_request_is_answered_before_its_connection_is_closed() {
    let (address, _connections) = start(Limits::default()).await;
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut socket, _) = client_async(format!("ws://{address}/"), stream).await.unwrap();
    socket.send(Message::text(r#"{"jsonrpc":"2.0","id":1,"method":"leave"}"#)).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    assert_eq!(answer.into_text().unwrap().as_str(), r#"{"jsonrpc":"2.0","id":1,"result":"goodbye"}"#);
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else { panic!("not closed") };
    assert_eq!(u16::from(frame.code), 1008);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_waited_for_when_its_connection_is_closed() {
    let (address, mut connections) = start(Limits::default()).await;
    let asleep = never_read(address).await;
    let (outgoing, connection) = connections.recv().await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    outgoing.close(CloseReason::Unauthenticated);
    drop(outgoing);
    assert!(ends(connection).await);
    drop(asleep);
}

#[tokio::test]
async fn a_client_that_neither_reads_nor_speaks_is_dropped() {
    let limits = Limits { silence: Duration::from_millis(300), ..Limits::default() };
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
    let limits = Limits { silence: Duration::from_millis(600), ..Limits::default() };
    let (address, mut connections) = start(limits).await;
    // The client answers pings by itself.
    let endpoint = websocket::connect(&format!("ws://{address}/"), "t", &Limits::default()).await.unwrap();
    let (caller, _notifications) = Caller::new(endpoint);
    let (outgoing, _connection) = connections.recv().await.unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(2), outgoing.closed()).await;
    assert!(closed.is_err(), "{closed:?}");
    let answer: String = caller.call("hello", &json!({})).await.unwrap();
    assert_eq!(answer, "hello");
}
