//! A token's secret is shown once and stored nowhere.

use protocol::Role;
use serde_json::json;
use test_gateway::TestGateway;
use tokio::net::TcpStream;

use crate::support::{Log, Socket, World, get, post};

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
    // At the most verbose level, which also includes the logs of libraries.
    let _captured = log.capture(tracing::Level::TRACE);
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
    // The write-ahead log counts too: deleted rows stay readable there.
    assert!(!database.is_empty(), "{files:?}");
    for path in database {
        let bytes = std::fs::read(path).unwrap();
        for secret in &secrets {
            // Searched without the prefix, in case only the random part was stored.
            let digits = secret.trim_start_matches("fwt_");
            let found = bytes.windows(digits.len()).any(|window| window == digits.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn files_in_the_data_directory_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let gateway = TestGateway::start().await.unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(gateway.data()), 0o700);
    for name in ["owner.token", "gateway.json", "gateway.lock"] {
        assert_eq!(mode(&gateway.data().join(name)), 0o600, "{name}");
    }
}
