//! Clients that send or read a byte at a time, on each transport. The gateway neither waits for them indefinitely nor
//! delays others.

use std::time::Duration;

use rpc::ConnectionLimits;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, duplex};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{Socket, World, metric, soon, until};

/// Time limit of each test, and interval between bytes. A limit that every byte extended would never expire.
const LIMIT: Duration = Duration::from_millis(500);
const BYTE_EVERY: Duration = Duration::from_millis(50);

/// Sends single bytes until the peer closes, and returns what the peer sent.
async fn drip(mut stream: TcpStream) -> Vec<u8> {
    let (mut reader, mut writer) = stream.split();
    let mut said = Vec::new();
    let dripping = async {
        while writer.write_all(b"x").await.is_ok() {
            tokio::time::sleep(BYTE_EVERY).await;
        }
    };
    soon("the gateway to close the connection", async {
        tokio::select! {
            // The gateway may close while bytes are still arriving, and the system then reports a reset instead of an
            // end.
            _ = reader.read_to_end(&mut said) => {}
            () = dripping => {}
        }
    })
    .await;
    said
}

async fn connect(gateway: &TestGateway) -> TcpStream {
    TcpStream::connect(gateway.gateway().address()).await.unwrap()
}

#[tokio::test]
async fn a_head_that_drips_is_not_waited_for() {
    let gateway = TestGateway::start_with(|settings| settings.listener.head_time = LIMIT).await.unwrap();
    let mut stream = connect(&gateway).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ").await.unwrap();
    drip(stream).await;
}

#[tokio::test]
async fn a_body_that_drips_is_not_waited_for() {
    let gateway = TestGateway::start_with(|settings| settings.listener.body_time = LIMIT).await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\ncontent-length: 100000\r\n\r\n"
    );
    let mut stream = connect(&gateway).await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let said = drip(stream).await;
    assert!(said.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&said));
}

#[tokio::test]
async fn a_websocket_message_that_drips_is_not_waited_for() {
    let gateway = TestGateway::start_with(|settings| settings.limits.silence = LIMIT).await.unwrap();
    let key = "dGhlIHNhbXBsZSBub25jZQ==";
    let upgrade = format!(
        "GET /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n",
        gateway.owner_secret().unwrap()
    );
    let mut stream = connect(&gateway).await;
    stream.write_all(upgrade.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon("the upgrade", stream.read_u8()).await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{head:?}");
    // The head of a masked text frame of 65,535 bytes; its content follows byte by byte.
    stream.write_all(&[0x81, 0xfe, 0xff, 0xff, 0, 0, 0, 0]).await.unwrap();
    drip(stream).await;
    let dropped = "foreword_connections_dropped_total{reason=\"silent\"}";
    until("it to be dropped", async || metric(&gateway, dropped).await == Some(1.0)).await;
}

/// Connects with a small receive buffer.
async fn connect_with_small_buffer(gateway: &TestGateway) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(gateway.gateway().address()).await.unwrap()
}

/// Creates a large document.
async fn big_document(gateway: &TestGateway) -> World {
    let world = World::new(gateway, "w").await;
    let big = world.with(json!({ "content": "x".repeat(60_000) }));
    Socket::owner(gateway).await.ok("thread/agents_doc/save", big).await;
    world
}

fn call(world: &World, id: usize) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "thread/agents_doc/get", "params": world.with(json!({})) })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unread_http_answer_is_dropped() {
    let gateway = TestGateway::start_with(|settings| settings.listener.write_time = LIMIT).await.unwrap();
    let world = big_document(&gateway).await;
    let body = json!((0..64).map(|id| call(&world, id)).collect::<Vec<_>>()).to_string();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        gateway.owner_secret().unwrap(),
        body.len()
    );
    let mut stream = connect_with_small_buffer(&gateway).await;
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    // The answer begins to arrive and is not read: the server closes, and rejects whatever is still sent.
    soon("the beginning of the answer", stream.readable()).await.unwrap();
    until("the gateway to give up", async || {
        stream.try_write(b"x").is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
    })
    .await;
    let mut said = Vec::new();
    let read = soon("the end", stream.read_to_end(&mut said)).await;
    // Less than the whole answer of about 4 MB: buffers may still deliver what was written before the gateway gave up.
    assert!(read.is_err() || said.len() < 3_000_000, "{} bytes came after all", said.len());
    Socket::owner(&gateway).await.ok("workspace/list", json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_that_never_reads_is_dropped_alone() {
    let gateway = TestGateway::start().await.unwrap();
    let world = big_document(&gateway).await;
    let limits =
        ConnectionLimits { outgoing_bytes: 256 * 1024, patience: LIMIT, ..ConnectionLimits::default() };
    // The same setup as `serve --stdio` on standard input and output.
    let (parent, child) = duplex(4 * 1024);
    let (reader, writer) = tokio::io::split(child);
    let (endpoint, written) = rpc::stdio::endpoint(reader, writer, &limits);
    let serving = gateway.gateway();
    let served = tokio::spawn(async move { serving.serve_owner(endpoint).await });

    let (reading, mut writing) = tokio::io::split(parent);
    let asking = tokio::spawn(async move {
        let mut reading = BufReader::new(reading);
        for id in 0..100 {
            let line = format!("{}\n", call(&world, id));
            // The write fails once the gateway has given up and stopped reading.
            if writing.write_all(line.as_bytes()).await.is_err() {
                break;
            }
            // The first answer is read to be sure that the connection works before the parent stops reading.
            if id == 0 {
                let mut answer = String::new();
                reading.read_line(&mut answer).await.unwrap();
                assert!(answer.contains("\"result\""), "{answer}");
            }
        }
        (reading, writing)
    });
    let mut owner = Socket::owner(&gateway).await;
    owner.ok("workspace/list", json!({})).await;
    soon("its writer to give up", written).await.unwrap();
    owner.ok("workspace/list", json!({})).await;
    drop(asking);
    soon("its connection to end", served).await.unwrap();
}

#[tokio::test]
async fn half_a_line_over_stdio_blocks_no_other_message() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let (parent, child) = duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(child);
    let (endpoint, _written) = rpc::stdio::endpoint(reader, writer, &ConnectionLimits::default());
    let serving = gateway.gateway();
    tokio::spawn(async move { serving.serve_owner(endpoint).await });
    let (reading, mut writing) = tokio::io::split(parent);
    let mut lines = BufReader::new(reading).lines();
    let subscribe =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "events/subscribe", "params": world.with(json!({})) });
    // The subscription and the beginning of another request arrive in one write. The reader waits for the rest of the
    // line, and that must not hold back the writer.
    writing.write_all(format!("{subscribe}\n{{\"jsonrpc\":").as_bytes()).await.unwrap();
    let answer = soon("the answer", lines.next_line()).await.unwrap().unwrap();
    assert!(answer.contains("\"result\""), "{answer}");
    Socket::owner(&gateway).await.ok("thread/agents_doc/save", world.with(json!({ "content": "a" }))).await;
    let told = soon("a notification", lines.next_line()).await.unwrap().unwrap();
    assert!(told.contains("thread/agents_doc/changed"), "{told}");
    // The rest of the line arrives later and completes the request.
    writing.write_all(b"\"2.0\",\"id\":2,\"method\":\"workspace/list\"}\n").await.unwrap();
    loop {
        let line = soon("the second answer", lines.next_line()).await.unwrap().unwrap();
        if line.contains("\"id\":2") {
            break;
        }
    }
}
