//! Malformed input on every transport is answered according to the standard, and the gateway keeps running.

mod table;
mod transport;

use serde_json::{Value, json};
use test_gateway::TestGateway;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use self::table::cases;
use self::transport::{Line, Memory, summary};
use crate::support::{Socket, post, request};

/// Sent after each case; its answer must be the next one.
const PROBE: &str = r#"{"jsonrpc":"2.0","id":"probe","method":"workspace/list"}"#;
const ALIVE: &str = "\"probe\" ok";

const MIB: usize = 1024 * 1024;

/// Returns a valid request of the given size.
fn padded(bytes: usize) -> String {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    format!("{request}{}", " ".repeat(bytes - request.len()))
}

fn is_too_large(answer: &Value, actual: usize) {
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32013)), "{answer}");
    let data = json!({ "kind": "too_large", "limit": MIB, "actual": actual });
    assert_eq!(answer["error"]["data"], data, "{answer}");
}

#[tokio::test]
async fn every_case_over_websocket() {
    let gateway = TestGateway::start().await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    for case in cases() {
        socket.send(case.text.clone()).await;
        // Requests are answered in order, so everything before the probe's answer belongs to the case. Some cases have
        // no answer at all.
        socket.send(PROBE).await;
        let mut answers = Vec::new();
        loop {
            let answer = summary(&socket.text().await.unwrap());
            if answer == ALIVE {
                break;
            }
            answers.push(answer);
        }
        assert_eq!(answers.join(" then "), case.expected, "{}", case.name);
    }
    Socket::owner(&gateway).await.ok("initialize", json!({})).await;
}

#[tokio::test]
async fn every_case_over_http() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    for case in cases() {
        let answer = post(&gateway, &secret, &case.text).await;
        if case.expected.is_empty() {
            assert_eq!((answer.status, answer.text()), (204, ""), "{}", case.name);
        } else {
            assert_eq!(summary(answer.text()), case.expected, "{}", case.name);
            assert_eq!(answer.status, 200, "{}", case.name);
            assert_eq!(answer.header("content-type"), Some("application/json"), "{}", case.name);
        }
        assert_eq!(summary(post(&gateway, &secret, PROBE).await.text()), ALIVE, "after {}", case.name);
    }
}

#[tokio::test]
async fn every_case_over_stdio() {
    let gateway = TestGateway::start().await.unwrap();
    let mut line = Line::open(&gateway);
    for case in cases() {
        line.send(&case.text).await;
        assert_eq!(line.answers_before_probe().await, case.expected, "{}", case.name);
    }
    Line::open(&gateway).answers_before_probe().await;
}

#[tokio::test]
async fn every_case_in_memory() {
    let gateway = TestGateway::start().await.unwrap();
    let mut memory = Memory::open(&gateway);
    for case in cases() {
        memory.send(&case.text).await;
        assert_eq!(memory.answers_before_probe().await, case.expected, "{}", case.name);
    }
}

#[tokio::test]
async fn a_message_of_exactly_the_limit_is_taken() {
    let gateway = TestGateway::start().await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    socket.send(padded(MIB)).await;
    assert_eq!(summary(&socket.text().await.unwrap()), "1 ok");
    let answer = post(&gateway, &gateway.owner_secret().unwrap(), padded(MIB)).await;
    assert_eq!(summary(answer.text()), "1 ok");
    let mut line = Line::open(&gateway);
    line.send(&padded(MIB)).await;
    assert_eq!(line.answers_before_probe().await, "1 ok");
}

#[tokio::test]
async fn an_oversized_message_is_refused_on_an_open_websocket() {
    let gateway = TestGateway::start().await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    for bytes in [MIB + 1, 2 * MIB] {
        socket.send(padded(bytes)).await;
        is_too_large(&socket.receive().await, bytes);
        socket.ok("initialize", json!({})).await;
    }
    // The limit applies to the whole message, so fragments below it do not help.
    let text = padded(2 * MIB);
    let (first, second) = text.as_bytes().split_at(MIB);
    for (part, opcode, last) in [(first, Data::Text, false), (second, Data::Continue, true)] {
        let frame = Frame::message(part.to_vec(), OpCode::Data(opcode), last);
        socket.send_message(Message::Frame(frame)).await.unwrap();
    }
    is_too_large(&socket.receive().await, 2 * MIB);
    socket.ok("initialize", json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_far_over_the_limit_closes_the_websocket() {
    let gateway = TestGateway::start().await.unwrap();
    for round in 0..5 {
        let mut socket = Socket::owner(&gateway).await;
        // The gateway may stop reading early, so sending may fail. Only its answer matters.
        let _ = socket.send_message(Message::text(padded(5 * MIB))).await;
        is_too_large(&socket.receive().await, 5 * MIB);
        let closed = socket.closed().await;
        assert_eq!(closed, Some((1009, "the message is over the limit".to_owned())), "round {round}");
        Socket::owner(&gateway).await.ok("initialize", json!({})).await;
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    for bytes in [MIB + 1, 2 * MIB, 5 * MIB, 20 * MIB] {
        let answer = post(&gateway, &secret, padded(bytes)).await;
        assert_eq!(answer.status, 413);
        is_too_large(&answer.json(), bytes);
    }
    // Without an announced length, only the number of bytes read is known.
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\nTransfer-Encoding: chunked"
    );
    // The second body is cut off at four times the limit, so the error can only report the first byte beyond that.
    for (bytes, actual) in [(2 * MIB, 2 * MIB), (5 * MIB, 4 * MIB + 1)] {
        let body = format!("{bytes:x}\r\n{}\r\n0\r\n\r\n", padded(bytes));
        let answer = request(&gateway, &head, body.as_bytes()).await;
        assert_eq!(answer.status, 413);
        is_too_large(&answer.json(), actual);
    }
    assert_eq!(summary(post(&gateway, &secret, PROBE).await.text()), ALIVE);
}

#[tokio::test]
async fn an_oversized_line_does_not_block_the_next() {
    let gateway = TestGateway::start().await.unwrap();
    let mut line = Line::open(&gateway);
    for bytes in [MIB + 1, 2 * MIB, 5 * MIB] {
        line.send(&padded(bytes)).await;
        is_too_large(&line.receive().await, bytes);
        assert_eq!(line.answers_before_probe().await, "");
    }
}

#[tokio::test]
async fn a_binary_frame_is_a_parse_error() {
    let gateway = TestGateway::start().await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    for bytes in [PROBE.as_bytes(), b"", b"\x00\xff"] {
        socket.send_message(Message::binary(bytes.to_vec())).await.unwrap();
        assert_eq!(summary(&socket.text().await.unwrap()), "null -32700");
        socket.ok("initialize", json!({})).await;
    }
    // Control frames belong to WebSocket itself and get no JSON-RPC answer.
    socket.send_message(Message::Ping("x".into())).await.unwrap();
    socket.send_message(Message::Pong("x".into())).await.unwrap();
    assert!(socket.is_quiet().await);
}

#[tokio::test]
async fn invalid_utf8_is_a_parse_error_that_closes_the_websocket() {
    let gateway = TestGateway::start().await.unwrap();
    for bytes in [&b"\xff\xfe"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\"}", b"\xed\xa0\x80"] {
        let mut socket = Socket::owner(&gateway).await;
        let frame = Frame::message(bytes.to_vec(), OpCode::Data(Data::Text), true);
        socket.send_message(Message::Frame(frame)).await.unwrap();
        assert_eq!(summary(&socket.text().await.unwrap()), "null -32700");
        assert_eq!(socket.closed().await, Some((1007, "a text frame was not UTF-8".to_owned())));
        Socket::owner(&gateway).await.ok("initialize", json!({})).await;
    }
}

#[tokio::test]
async fn a_frame_that_breaks_the_websocket_rules_ends_the_websocket() {
    let gateway = TestGateway::start().await.unwrap();
    let mut reserved_bit = Frame::message(&b"{}"[..], OpCode::Data(Data::Text), true);
    reserved_bit.header_mut().rsv2 = true;
    for (name, frame) in [
        ("nothing to continue", Frame::message(&b"{}"[..], OpCode::Data(Data::Continue), true)),
        ("a reserved bit", reserved_bit),
        ("a control frame in parts", {
            let mut ping = Frame::ping(&b"x"[..]);
            ping.header_mut().is_final = false;
            ping
        }),
    ] {
        let mut socket = Socket::owner(&gateway).await;
        socket.send_message(Message::Frame(frame)).await.unwrap();
        assert_eq!(socket.closed().await.map(|(code, _)| code), Some(1002), "{name}");
        Socket::owner(&gateway).await.ok("initialize", json!({})).await;
    }
}

#[tokio::test]
async fn a_body_that_is_not_utf8_is_a_parse_error() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    for body in [&b"\xff\xfe"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\"}"] {
        let answer = post(&gateway, &secret, body).await;
        assert_eq!((answer.status, summary(answer.text()).as_str()), (400, "null -32700"));
    }
    assert_eq!(summary(post(&gateway, &secret, PROBE).await.text()), ALIVE);
}

#[tokio::test]
async fn a_line_that_is_not_utf8_is_a_parse_error() {
    let gateway = TestGateway::start().await.unwrap();
    let mut line = Line::open(&gateway);
    line.send(b"\xff\xfe").await;
    assert_eq!(line.answers_before_probe().await, "null -32700");
}

#[tokio::test]
async fn empty_messages_are_parse_errors_but_empty_lines_are_ignored() {
    let gateway = TestGateway::start().await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    socket.send("").await;
    assert_eq!(summary(&socket.text().await.unwrap()), "null -32700");
    let answer = post(&gateway, &gateway.owner_secret().unwrap(), "").await;
    assert_eq!((answer.status, summary(answer.text()).as_str()), (200, "null -32700"));
    let mut line = Line::open(&gateway);
    for blank in ["", " \t", "\r"] {
        line.send(blank).await;
        assert_eq!(line.answers_before_probe().await, "");
    }
}

#[tokio::test]
async fn an_unterminated_last_line_is_answered() {
    let gateway = TestGateway::start().await.unwrap();
    let mut line = Line::open(&gateway);
    line.send_unfinished(r#"{"jsonrpc":"2.0","id":"last","method":"initialize"}"#).await;
    assert_eq!(line.rest().await, ["\"last\" ok"]);
}

#[tokio::test]
async fn http_that_is_no_request_of_ours_is_turned_away() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    let authorized = format!("Host: localhost\r\nAuthorization: Bearer {secret}");
    for (head, status) in [
        (format!("PUT /rpc HTTP/1.1\r\n{authorized}"), 405),
        (format!("DELETE /rpc HTTP/1.1\r\n{authorized}"), 405),
        (format!("GET /rpc HTTP/1.1\r\n{authorized}"), 400),
        (format!("GET /rpc HTTP/1.1\r\n{authorized}\r\nConnection: upgrade\r\nUpgrade: h2c"), 400),
        (format!("POST /healthz HTTP/1.1\r\n{authorized}"), 405),
        ("GARBAGE".to_owned(), 400),
    ] {
        assert_eq!(request(&gateway, &head, b"").await.status, status, "{head}");
    }
    assert_eq!(summary(post(&gateway, &secret, PROBE).await.text()), ALIVE);
}
