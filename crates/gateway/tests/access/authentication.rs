//! Presentation of tokens, missing tokens, and revoked tokens.

use gateway::Database;
use protocol::Role;
use serde_json::json;
use test_gateway::TestGateway;
use test_postgres::test_database;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;

use crate::support::{Socket, World, ask, post, request, soon};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;

/// Returns the status and JSON-RPC error code of a rejected upgrade.
async fn refused_upgrade(gateway: &TestGateway, headers: &[(&'static str, &str)]) -> (u16, i64) {
    let stream = TcpStream::connect(gateway.gateway().address()).await.unwrap();
    match Socket::upgrade(stream, headers).await.err().map(|error| *error) {
        Some(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            let body: serde_json::Value = serde_json::from_slice(body).unwrap();
            (response.status().as_u16(), body["error"]["code"].as_i64().unwrap())
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_answered() {
    let gateway = TestGateway::start().await.unwrap();
    let revoked = gateway.token("gone", Role::Owner, None).await.unwrap();
    ask(&gateway.owner_in_memory(), "token/revoke", json!({ "name": "gone" })).await.unwrap();
    let owner = gateway.owner_secret().unwrap();
    let authorizations = [
        None,
        Some("Bearer fwt_wrong".to_owned()),
        Some(format!("Bearer {revoked}")),
        Some(format!("Bearer {owner}x")),
        // Hexadecimal digits invite a lookup that ignores case, which would accept more secrets than were issued.
        Some(format!("Bearer {}", owner.to_uppercase())),
        Some(format!("Basic {owner}")),
        Some(owner.clone()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
    ];
    for authorization in &authorizations {
        let shown =
            authorization.as_ref().map(|value| format!("\r\nAuthorization: {value}")).unwrap_or_default();
        let length = INITIALIZE.len();
        let head = format!("POST /rpc HTTP/1.1\r\nHost: localhost{shown}\r\nContent-Length: {length}");
        let answer = request(&gateway, &head, INITIALIZE.as_bytes()).await;
        assert_eq!((answer.status, answer.error_code()), (401, -32001), "{authorization:?}");
        assert_eq!(answer.json()["error"]["data"]["kind"], "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));

        let headers: Vec<_> = authorization.iter().map(|value| ("authorization", value.as_str())).collect();
        assert_eq!(refused_upgrade(&gateway, &headers).await, (401, -32001), "{authorization:?}");
    }
    for protocols in ["foreword.v1", "foreword.v1, bearer.fwt_wrong", "foreword.v1, bearer."] {
        let headers = [("sec-websocket-protocol", protocols)];
        assert_eq!(refused_upgrade(&gateway, &headers).await, (401, -32001), "{protocols}");
    }
}

#[tokio::test]
async fn tokens_come_from_header_or_subprotocol() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    assert_eq!(post(&gateway, &secret, INITIALIZE).await.status, 200);

    let bearer = format!("Bearer {secret}");
    let lowercase = format!("bearer {secret}");
    let subprotocols = format!("foreword.v1, bearer.{secret}");
    let reversed = format!("bearer.{secret}, foreword.v1");
    for (headers, echoed) in [
        (vec![("authorization", bearer.as_str())], None),
        (vec![("authorization", lowercase.as_str())], None),
        (vec![("authorization", &bearer), ("sec-websocket-protocol", "foreword.v1")], Some("foreword.v1")),
        (vec![("sec-websocket-protocol", subprotocols.as_str())], Some("foreword.v1")),
        (vec![("sec-websocket-protocol", reversed.as_str())], Some("foreword.v1")),
    ] {
        let stream = TcpStream::connect(gateway.gateway().address()).await.unwrap();
        let (mut socket, response) = Socket::upgrade(stream, &headers).await.unwrap();
        let protocol = response.headers().get("sec-websocket-protocol").map(|value| value.to_str().unwrap());
        assert_eq!(protocol, echoed, "{headers:?}");
        socket.ok("initialize", json!({})).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_a_revoked_token_are_closed_at_once() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let secret = gateway.token("leaving", Role::Reader, None).await.unwrap();
    let mut idle = Socket::connect(&gateway, &secret).await;
    let mut following = Socket::connect(&gateway, &secret).await;
    following.ok("events/subscribe", world.with(json!({}))).await;
    let mut owner = Socket::owner(&gateway).await;

    let token = owner.ok("token/revoke", json!({ "name": "leaving" })).await["token"].clone();
    assert!(token["revoked_at"].is_string());
    owner.ok("thread/agents_doc/save", world.with(json!({ "content": "not for them" }))).await;
    for socket in [&mut idle, &mut following] {
        let (code, reason) = soon("the close", socket.closed()).await.unwrap();
        assert_eq!((code, reason.as_str()), (1008, "the token is no longer valid"));
    }
    // The document was saved after the revocation, so the follower must not have received the notification before it
    // was closed.
    let seen = following.traffic.iter().filter(|message| message.get("method").is_some()).count();
    assert_eq!(seen, 1, "only its own request: {:?}", following.traffic);
    assert_eq!(post(&gateway, &secret, INITIALIZE).await.status, 401);
    owner.ok("initialize", json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_token_is_rejected_after_its_revocation() {
    let gateway = TestGateway::start().await.unwrap();
    let mut owner = Socket::owner(&gateway).await;
    // The race between a lookup in progress and the revocation is narrow, so a cache that keeps the outdated result
    // would pass a single round.
    for round in 0..30 {
        let name = format!("busy {round}");
        let secret = gateway.token(&name, Role::Reader, None).await.unwrap();
        let mut idle = Socket::connect(&gateway, &secret).await;
        let knocking = {
            let address = gateway.gateway().address();
            let secret = secret.clone();
            tokio::spawn(async move {
                let mut let_in = Vec::new();
                loop {
                    let stream = TcpStream::connect(address).await.unwrap();
                    let authorization = format!("Bearer {secret}");
                    match Socket::upgrade(stream, &[("authorization", &authorization)]).await {
                        Ok((socket, _)) => let_in.push(socket),
                        Err(_) => return let_in,
                    }
                }
            })
        };
        owner.ok("token/revoke", json!({ "name": name })).await;
        assert_eq!(idle.closed().await.map(|(code, _)| code), Some(1008), "round {round}");
        // A connection may still have been accepted just before the revocation, but then it must be closed like the
        // others.
        for mut socket in soon("the door to stay shut", knocking).await.unwrap() {
            assert_eq!(socket.closed().await.map(|(code, _)| code), Some(1008), "round {round}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoking_the_own_token_is_answered() {
    let gateway = TestGateway::start().await.unwrap();
    for round in 0..20 {
        // The revocation closes the connection that made it. Its answer must be queued before, or the owner could not
        // know that it worked.
        let name = format!("own {round}");
        let secret = gateway.token(&name, Role::Owner, None).await.unwrap();
        let mut socket = Socket::connect(&gateway, &secret).await;
        socket.ok("token/revoke", json!({ "name": name })).await;
        assert_eq!(socket.closed().await.map(|(code, _)| code), Some(1008));
    }
}

#[tokio::test]
async fn a_token_revoked_through_another_gateway_is_closed_here_too() {
    let Some(database) = test_database() else { return };
    let database = Database::Postgres(database.url().to_owned());
    let here = TestGateway::start_on(database.clone()).await.unwrap();
    let there = TestGateway::start_on(database).await.unwrap();
    let secret = here.token("shared", Role::Editor, None).await.unwrap();
    let mut idle = Socket::connect(&here, &secret).await;
    let mut elsewhere = Socket::connect(&there, &secret).await;
    elsewhere.ok("initialize", json!({})).await;

    Socket::owner(&there).await.ok("token/revoke", json!({ "name": "shared" })).await;
    assert_eq!(idle.closed().await.map(|(code, _)| code), Some(1008));
    assert_eq!(elsewhere.closed().await.map(|(code, _)| code), Some(1008));
    assert_eq!(post(&here, &secret, INITIALIZE).await.status, 401);
}
