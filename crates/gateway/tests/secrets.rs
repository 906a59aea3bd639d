//! A token's secret is shown once, and is nowhere else.

use std::io::Write;
use std::sync::{Arc, Mutex};

use protocol::Role;
use serde_json::json;
use test_gateway::TestGateway;
use tokio::net::TcpStream;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::support::{Socket, World, get, post};

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Uses a token in every way there is, well and badly; the result is every secret that was shown.
async fn use_tokens(gateway: &TestGateway) -> Vec<String> {
    let world = World::new(gateway, "w").await;
    let owner = gateway.owner_secret().unwrap();
    let guessed = "fwt_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef".to_owned();
    let mut socket = Socket::owner(gateway).await;
    socket.ok("initialize", json!({ "client": { "name": "a test", "version": "1" } })).await;
    let made = socket.ok("token/create", json!({ "name": "made", "role": "editor" })).await;
    let made = made["secret"].as_str().unwrap().to_owned();
    let bound = gateway.token("bound", Role::Reader, Some(world.workspace.parse().unwrap())).await.unwrap();
    for secret in [&owner, &made, &bound, &guessed] {
        post(gateway, secret, r#"{"jsonrpc":"2.0","id":1,"method":"no/such/method","params":{}}"#).await;
        post(gateway, secret, "not JSON").await;
        get(gateway, "/metrics", Some(secret)).await;
        let subprotocols = format!("foreword.v1, bearer.{secret}");
        let stream = TcpStream::connect(gateway.gateway().address()).await.unwrap();
        if let Ok((mut socket, _)) =
            Socket::upgrade(stream, &[("sec-websocket-protocol", &subprotocols)]).await
        {
            socket.ok("thread/tree", world.with(json!({}))).await;
            let _ = socket.call("thread/agents_doc/save", world.with(json!({ "content": "text" }))).await;
        }
    }
    socket.refused(-32010, "token/create", json!({ "name": "made", "role": "editor" })).await;
    socket.ok("token/list", json!({})).await;
    socket.ok("token/revoke", json!({ "name": "made" })).await;
    vec![owner, made, bound, guessed]
}

#[tokio::test]
async fn secrets_never_reach_the_log() {
    let log = Log::default();
    let writer = log.clone();
    let capturing = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
    // Of this thread alone, which is the one that all of the gateway runs on.
    let _captured = capturing.with_writer(move || writer.clone()).set_default();
    let gateway = TestGateway::start().await.unwrap();
    let secrets = use_tokens(&gateway).await;
    gateway.stop().await.unwrap();
    let text = log.text();
    assert!(text.contains("a client introduced itself"), "nothing was captured");
    for secret in secrets {
        assert!(!text.contains(&secret), "{secret} is in the log");
    }
}

#[tokio::test]
async fn secrets_are_not_in_the_database() {
    let gateway = TestGateway::start().await.unwrap();
    let secrets = use_tokens(&gateway).await;
    let files: Vec<_> = gateway.data().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let database: Vec<_> = files
        .iter()
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("foreword.db"))
        .collect();
    assert!(!database.is_empty(), "{files:?}");
    for path in database {
        let bytes = std::fs::read(path).unwrap();
        for secret in &secrets {
            let digits = secret.trim_start_matches("fwt_");
            let found = bytes.windows(digits.len()).any(|window| window == digits.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn what_lies_in_the_data_directory_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let gateway = TestGateway::start().await.unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(gateway.data()), 0o700);
    for name in ["owner.token", "gateway.json", "gateway.lock"] {
        assert_eq!(mode(&gateway.data().join(name)), 0o600, "{name}");
    }
}
