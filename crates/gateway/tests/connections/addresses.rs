//! HTTP routes: public and protected ones, their answers, and allowed hosts and origins.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;
use test_gateway::TestGateway;
use tokio::net::TcpStream;

use crate::support::{Socket, World, get, metric, post, request, until};

#[tokio::test]
async fn health_and_readiness_need_no_token() {
    let gateway = TestGateway::start().await.unwrap();
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let answer = get(&gateway, path, None).await;
        assert_eq!((answer.status, answer.text()), (200, text));
    }
    assert_eq!(get(&gateway, "/nothing", None).await.status, 404);
}

#[tokio::test]
async fn the_front_page_is_public_without_data_or_scripts() {
    let gateway = TestGateway::start().await.unwrap();
    let _world = World::new(&gateway, "a-secret-name").await;
    let secret = gateway.owner_secret().unwrap();
    let answer = get(&gateway, "/", None).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let page = answer.text().to_owned();
    for part in ["Foreword gateway", env!("CARGO_PKG_VERSION"), "href=\"/healthz\"", "foreword --help"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for part in ["<script", "<style", "a-secret-name", "javascript:"] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    // The page is the same with and without a token.
    assert_eq!(get(&gateway, "/", Some(&secret)).await.text(), page);
    // A difference would reveal to any program that can connect which tokens exist.
    assert_eq!(get(&gateway, "/", Some("fwt_wrong")).await.text(), page);
}

#[tokio::test]
async fn metrics_need_a_token() {
    let gateway = TestGateway::start().await.unwrap();
    for secret in [None, Some("fwt_wrong")] {
        let answer = get(&gateway, "/metrics", secret).await;
        assert_eq!((answer.status, answer.error_code()), (401, -32001));
    }
    assert_eq!(get(&gateway, "/metrics", Some(&gateway.owner_secret().unwrap())).await.status, 200);
}

#[tokio::test]
async fn metrics_count_calls_connections_and_notifications() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut socket = Socket::owner(&gateway).await;
    socket.ok("events/subscribe", world.with(json!({}))).await;
    socket.ok("thread/agents_doc/save", world.with(json!({ "content": "a" }))).await;
    socket.ok("thread/agents_doc/save", world.with(json!({ "content": "b" }))).await;
    // The first save also changes the tree, in which the document appears.
    socket.sequences(3).await;
    socket.refused(-32004, "thread/tree", json!({ "workspace_id": "nowhere" })).await;
    socket.refused(-32601, "no/such \"method\"", json!({})).await;

    let requests = |method: &str, outcome: &str| {
        format!("foreword_requests_total{{method=\"{method}\",outcome=\"{outcome}\"}}")
    };
    for (line, value) in [
        (requests("thread/agents_doc/save", "ok"), 2.0),
        (requests("thread/tree", "-32004"), 1.0),
        (requests("unknown", "-32601"), 1.0),
        ("foreword_connections".to_owned(), 1.0),
        ("foreword_notifications_total".to_owned(), 3.0),
    ] {
        assert_eq!(metric(&gateway, &line).await, Some(value), "{line}");
    }
    drop(socket);
    until("the connection to be counted out", async || {
        metric(&gateway, "foreword_connections").await == Some(0.0)
    })
    .await;
}

#[tokio::test]
async fn metrics_are_well_formed_openmetrics() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    post(&gateway, &secret, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).await;
    let head = format!(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n\
         Accept: application/openmetrics-text"
    );
    let answer = request(&gateway, &head, b"").await;
    assert_eq!(
        answer.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mut kinds = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(comment) = line.strip_prefix("# ") {
            let (keyword, rest) = comment.split_once(' ').unwrap();
            let (name, value) = rest.split_once(' ').unwrap();
            match keyword {
                "TYPE" => assert!(kinds.insert(name, value).is_none(), "{name} has two types"),
                "HELP" => assert!(!value.is_empty()),
                keyword => panic!("unknown keyword {keyword}"),
            }
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        // Prometheus rejects the whole page if a series occurs twice.
        assert!(seen.insert(sample), "{sample} is there twice");
        let name = sample.split('{').next().unwrap();
        let belongs = kinds.iter().any(|(family, kind)| match *kind {
            "counter" => name == format!("{family}_total"),
            "histogram" => ["_bucket", "_sum", "_count"].iter().any(|end| name == format!("{family}{end}")),
            _ => name == *family,
        });
        assert!(belongs && name.starts_with("foreword_"), "{line} belongs to no family");
    }
    assert_eq!(kinds.get("foreword_requests"), Some(&"counter"));
    assert_eq!(kinds.get("foreword_request_seconds"), Some(&"histogram"));
}

#[tokio::test]
async fn metrics_default_to_the_format_of_prometheus() {
    let gateway = TestGateway::start().await.unwrap();
    let answer = get(&gateway, "/metrics", Some(&gateway.owner_secret().unwrap())).await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = answer.text();
    assert!(
        text.contains("# TYPE foreword_database_statements_total counter\n") && !text.contains("# EOF"),
        "{text}"
    );
    // Prometheus' own checker, where it is installed (Debian's package `prometheus` has it).
    let checker = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut checker) = checker else { return };
    checker.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let checked = checker.wait_with_output().unwrap();
    assert!(checked.status.success(), "{}\n{text}", String::from_utf8_lossy(&checked.stderr));
}

#[tokio::test]
async fn strange_hosts_and_origins_are_turned_away() {
    let gateway = TestGateway::start_with(|settings| {
        settings.allowed_hosts = vec!["gateway.example".to_owned()];
        settings.allowed_origins = vec!["https://app.example".to_owned()];
    })
    .await
    .unwrap();
    let secret = gateway.owner_secret().unwrap();
    for (headers, status) in [
        ("Host: localhost", 200),
        ("Host: 127.0.0.1:4670", 200),
        ("Host: gateway.example", 200),
        ("Host: localhost\r\nOrigin: http://localhost:3000", 200),
        ("Host: localhost\r\nOrigin: https://app.example", 200),
        ("Host: evil.example", 403),
        ("Host: localhost.evil.example", 403),
        ("Host: localhost:80@evil.example", 403),
        ("Host: localhost\r\nOrigin: https://evil.example", 403),
        ("Host: localhost\r\nOrigin: null", 403),
        ("Host: localhost\r\nOrigin: http://localhost:80@evil.example", 403),
        ("Host: localhost\r\nOrigin: http://[::1].evil.example", 403),
        ("Host: gateway.example\r\nOrigin: https://evil.example", 403),
        ("X-No-Host: 1", 403),
    ] {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
        let length = body.len();
        let post = format!(
            "POST /rpc HTTP/1.1\r\n{headers}\r\nAuthorization: Bearer {secret}\r\nContent-Length: {length}"
        );
        let answer = request(&gateway, &post, body.as_bytes()).await;
        assert_eq!(answer.status, status, "{headers}");
        if status == 403 {
            assert_eq!(answer.error_code(), -32003, "{headers}");
        }
        // Public pages check the host as well: with DNS rebinding, a web page could otherwise find out that a gateway
        // runs here.
        for path in ["/", "/healthz", "/readyz"] {
            let answer = request(&gateway, &format!("GET {path} HTTP/1.1\r\n{headers}"), b"").await;
            assert_eq!(answer.status, status, "{path} {headers}");
        }
    }
}

#[tokio::test]
async fn a_web_page_from_elsewhere_cannot_open_a_websocket() {
    let gateway = TestGateway::start().await.unwrap();
    let bearer = format!("Bearer {}", gateway.owner_secret().unwrap());
    for (origin, allowed) in [("http://localhost:8080", true), ("https://evil.example", false)] {
        let stream = TcpStream::connect(gateway.gateway().address()).await.unwrap();
        let upgraded = Socket::upgrade(stream, &[("authorization", &bearer), ("origin", origin)]).await;
        match upgraded.err().map(|error| *error) {
            None => assert!(allowed, "{origin}"),
            Some(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                assert!(!allowed && response.status() == 403, "{origin}");
            }
            Some(error) => panic!("{error}"),
        }
    }
}
