//! Connections that exceed their share of slots, time or answers.

mod addresses;
mod events;
mod malformed;
mod outage;
mod shutdown;
mod slow;
mod traffic;

use std::time::{Duration, Instant};

use protocol::Role;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Socket, World, post};

/// More than these tests need, less than the default limits.
const SOON: Duration = Duration::from_secs(8);

async fn connect(gateway: &TestGateway) -> TcpStream {
    TcpStream::connect(gateway.gateway().address()).await.unwrap()
}

/// Reads until the gateway closes the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    let read = tokio::time::timeout(SOON, stream.read_to_end(&mut said)).await;
    let read = read.expect("the gateway does not close the connection");
    // A reset is acceptable only before the first byte: it could discard a part of an answer that the client should
    // have seen.
    assert!(read.is_ok() || said.is_empty(), "{read:?}");
    String::from_utf8(said).unwrap()
}

#[tokio::test]
async fn half_a_head_is_not_waited_for() {
    let gateway =
        TestGateway::start_with(|settings| settings.listener.head_time = Duration::from_millis(200))
            .await
            .unwrap();
    let mut stream = connect(&gateway).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.").await.unwrap();
    until_closed(stream).await;
}

#[tokio::test]
async fn half_a_body_is_not_waited_for() {
    let gateway =
        TestGateway::start_with(|settings| settings.listener.body_time = Duration::from_millis(200))
            .await
            .unwrap();
    let mut stream = connect(&gateway).await;
    let secret = gateway.owner_secret().unwrap();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\ncontent-length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let said = until_closed(stream).await;
    assert!(said.starts_with("HTTP/1.1 408 ") && said.contains("did not arrive within"), "{said}");
}

#[tokio::test]
async fn connections_without_a_token_are_closed() {
    let gateway = TestGateway::start_with(|settings| settings.listener.token_time = Duration::from_secs(2))
        .await
        .unwrap();
    let mut stranger = connect(&gateway).await;
    stranger.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await.unwrap();
    // The owner connects before the deadline of the stranger and stays idle past it, which must not matter for a
    // connection that has shown its token.
    let mut owner = Socket::owner(&gateway).await;
    let said = until_closed(stranger).await;
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    owner.ok("workspace/list", json!({})).await;
}

#[tokio::test]
async fn silent_sockets_do_not_block_tokens() {
    let gateway = TestGateway::start_with(|settings| settings.listener.unauthenticated = 4).await.unwrap();
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(connect(&gateway).await);
    }
    Socket::owner(&gateway).await.ok("workspace/list", json!({})).await;
    // The oldest connections were evicted.
    // Only some are checked: the newest may remain open, depending on the order in which the system delivers
    // connections.
    for stream in silent.drain(..30) {
        assert_eq!(until_closed(stream).await, "");
    }
}

#[tokio::test]
async fn a_full_gateway_reports_its_limit() {
    let gateway = TestGateway::start_with(|settings| settings.listener.connections = 2).await.unwrap();
    let mut first = Socket::owner(&gateway).await;
    // Both slots belong to authenticated connections, so there is none that could be evicted for the third.
    let _second = Socket::owner(&gateway).await;
    let said = until_closed(connect(&gateway).await).await;
    assert!(said.starts_with("HTTP/1.1 503 ") && said.ends_with("as many connections as it can\n"), "{said}");
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{said}");
    first.ok("workspace/list", json!({})).await;
}

#[tokio::test]
async fn one_token_cannot_take_every_place() {
    let gateway = TestGateway::start_with(|settings| settings.listener.of_token = 2).await.unwrap();
    let greedy = gateway.token("greedy", Role::Reader, None).await.unwrap();
    let first = Socket::connect(&gateway, &greedy).await;
    let mut second = Socket::connect(&gateway, &greedy).await;
    let ask = async |secret: &str| {
        let mut stream = connect(&gateway).await;
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"workspace/list","params":{}}"#;
        let head = format!(
            "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        until_closed(stream).await
    };
    let said = ask(&greedy).await;
    assert!(said.starts_with("HTTP/1.1 503 "), "{said}");
    let (_, body) = said.split_once("\r\n\r\n").unwrap();
    let error = &serde_json::from_str::<serde_json::Value>(body).unwrap()["error"];
    assert_eq!((&error["code"], &error["data"]["what"]), (&json!(-32030), &json!("token_connections")));
    assert_eq!(error["data"]["limit"], json!(2));
    assert!(error["data"]["hint"].as_str().unwrap().contains("limits.connections_of_token"), "{error}");

    // Existing connections stay, others get a slot, and a freed slot can be used again.
    second.ok("workspace/list", json!({})).await;
    let said = ask(&gateway.owner_secret().unwrap()).await;
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    drop(first);
    // The gateway frees the slot when it has noticed the end of the connection, which may be after the next request.
    crate::support::until("a place to be free again", async || {
        ask(&greedy).await.starts_with("HTTP/1.1 200 ")
    })
    .await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_half_requests() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    let mut half_head = connect(&gateway).await;
    half_head.write_all(b"GET /healthz HT").await.unwrap();
    let mut half_body = connect(&gateway).await;
    let head = format!(
        "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\ncontent-length: 9\r\n\r\n{{"
    );
    half_body.write_all(head.as_bytes()).await.unwrap();
    // The gateway accepts connections in order, so this answer proves that both are accepted.
    Socket::owner(&gateway).await.ok("workspace/list", json!({})).await;
    let started = Instant::now();
    gateway.gateway().shutdown().await;
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    until_closed(half_head).await;
    until_closed(half_body).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_sent_whole_although_the_gateway_stops() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let content = "x".repeat(60_000);
    Socket::owner(&gateway)
        .await
        .ok("thread/agents_doc/save", world.with(json!({ "content": content })))
        .await;
    let call = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "thread/agents_doc/get", "params": world.with(json!({})) });
    // More than the sockets' buffers hold, so the answer cannot be sent before the shutdown begins.
    let body = json!((0..64).map(call).collect::<Vec<_>>()).to_string();
    let secret = gateway.owner_secret().unwrap();
    let length = body.len();
    let mut stream = connect(&gateway).await;
    let head = format!(
        "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut said = vec![0; 1];
    // The first byte proves that the answer is being sent when the shutdown begins.
    stream.read_exact(&mut said).await.unwrap();
    let stopping = gateway.gateway();
    let stopped = tokio::spawn(async move { stopping.shutdown().await });
    // Connecting fails once the shutdown has begun.
    crate::support::until("the listener to close", async || {
        TcpStream::connect(gateway.gateway().address()).await.is_err()
    })
    .await;
    stream.read_to_end(&mut said).await.unwrap();
    stopped.await.unwrap();
    let said = String::from_utf8(said).unwrap();
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert!(body.len() > 7_000_000 && body.len().to_string() == length, "{} of {length} bytes", body.len());
}

#[tokio::test]
async fn a_small_batch_cannot_ask_for_an_endless_answer() {
    let limit = 100_000;
    let gateway = TestGateway::start_with(|settings| settings.batch.answer_bytes = limit).await.unwrap();
    let world = World::new(&gateway, "w").await;
    let content = "x".repeat(30_000);
    Socket::owner(&gateway)
        .await
        .ok("thread/agents_doc/save", world.with(json!({ "content": content })))
        .await;
    let call = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "thread/agents_doc/get", "params": world.with(json!({})) });
    let batch = |count: usize| json!((0..count).map(call).collect::<Vec<_>>()).to_string();
    let secret = gateway.owner_secret().unwrap();

    let answer = post(&gateway, &secret, batch(60)).await.text().to_owned();
    // Each rejected answer is replaced by an error of at most 512 bytes, which the limit does not cover.
    assert!(answer.len() < limit + 60 * 512, "{} bytes", answer.len());
    let answers: Vec<Value> = serde_json::from_str(&answer).unwrap();
    let codes: Vec<i64> = answers.iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
    assert!(answers.len() == 60 && codes.len() > 50 && codes.iter().all(|code| *code == -32013), "{codes:?}");

    let answer = post(&gateway, &secret, batch(65)).await.text().to_owned();
    let refused: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(refused["error"]["code"], -32030, "{refused}");
    assert_eq!(
        (&refused["error"]["data"]["what"], &refused["error"]["data"]["limit"]),
        (&json!("batch"), &json!(64))
    );
}
