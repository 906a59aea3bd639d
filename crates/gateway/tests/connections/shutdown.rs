//! Shutdown: accepted work is finished, clients are notified, and the data directory is unlocked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gateway::{DataDirectory, Gateway, GatewaySettings};
use protocol::Hint as _;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::support::{Socket, World, ask, post, soon, until};

/// Almost the maximum of a batch, so that the shutdown reliably comes in the middle of it.
const SAVES: usize = 60;

/// Returns a batch of saves with different texts.
fn batch(world: &World) -> String {
    let save = |number: usize| {
        let params = world.with(json!({ "content": format!("text {number}") }));
        json!({ "jsonrpc": "2.0", "id": number, "method": "thread/agents_doc/save", "params": params })
    };
    json!((0..SAVES).map(save).collect::<Vec<_>>()).to_string()
}

/// Waits until part of a batch is done.
async fn is_under_way(gateway: &TestGateway, world: &World) {
    let owner = gateway.owner_in_memory();
    until("the batch to be under way", async || {
        ask(&owner, "thread/tree", world.with(json!({}))).await.unwrap()["seq"].as_u64().unwrap() > 10
    })
    .await;
}

/// Checks that every save of the batch was answered, and is there after a restart.
async fn is_finished(gateway: TestGateway, world: &World, answer: &Value) {
    let answers = answer.as_array().unwrap_or_else(|| panic!("no batch: {answer}"));
    assert_eq!(answers.len(), SAVES);
    for answer in answers {
        assert!(answer.get("result").is_some(), "{answer}");
    }
    let gateway = restart(gateway).await;
    let got = ask(&gateway.owner_in_memory(), "thread/agents_doc/get", world.with(json!({}))).await.unwrap();
    // Every text differs, so each acknowledged save must have become a version.
    assert_eq!(got["explicit"]["version"], SAVES);
}

/// Starts again on the directory of a gateway that was shut down.
async fn restart(gateway: TestGateway) -> TestGateway {
    let directory = gateway.stop().await.unwrap();
    TestGateway::start_in(directory, |_| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_websocket_requests_are_finished() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut socket = Socket::owner(&gateway).await;
    socket.send(batch(&world)).await;
    is_under_way(&gateway, &world).await;
    gateway.gateway().shutdown().await;
    let answer = socket.receive().await;
    assert_eq!(socket.closed().await.map(|(code, _)| code), Some(1001));
    is_finished(gateway, &world, &answer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_http_requests_are_finished() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let secret = gateway.owner_secret().unwrap();
    let (answer, ()) = tokio::join!(post(&gateway, &secret, batch(&world)), async {
        is_under_way(&gateway, &world).await;
        gateway.gateway().shutdown().await;
    });
    is_finished(gateway, &world, &answer.json()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_stdio_requests_are_finished() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let (mut input, stdin) = tokio::io::duplex(1024 * 1024);
    let (stdout, output) = tokio::io::duplex(1024 * 1024);
    let serving = {
        let gateway = gateway.gateway();
        tokio::spawn(async move { gateway.serve_stdio(stdin, stdout).await })
    };
    input.write_all(format!("{}\n", batch(&world)).as_bytes()).await.unwrap();
    is_under_way(&gateway, &world).await;
    // The caller may stop waiting for stdio; the batch must still be finished.
    serving.abort();
    gateway.gateway().shutdown().await;
    let mut lines = BufReader::new(output).lines();
    let line = soon("the answer", lines.next_line()).await.unwrap().expect("an answer");
    is_finished(gateway, &world, &serde_json::from_str(&line).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_save_is_there_afterwards() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut savers = Vec::new();
    for saver in 0..10 {
        let mut socket = Socket::owner(&gateway).await;
        let world = world.clone();
        savers.push(tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for number in 0.. {
                let params = world.with(json!({ "content": format!("saver {saver} text {number}") }));
                let message =
                    json!({ "jsonrpc": "2.0", "id": 1, "method": "thread/agents_doc/save", "params": params });
                let message = tokio_tungstenite::tungstenite::Message::text(message.to_string());
                if socket.send_message(message).await.is_err() {
                    // A failed write is not the end yet: the close frame may still be unread in the buffer.
                    return (acknowledged, socket.closed().await);
                }
                match socket.text().await {
                    Ok(text) => {
                        let answer: Value = serde_json::from_str(&text).unwrap();
                        let doc = &answer["result"]["doc"];
                        assert!(doc.is_object(), "{answer}");
                        acknowledged.push((doc["version"].as_u64().unwrap(), doc["content_sha256"].clone()));
                    }
                    Err(closed) => return (acknowledged, closed),
                }
            }
            unreachable!("the loop ends with the connection")
        }));
    }
    is_under_way(&gateway, &world).await;
    gateway.gateway().shutdown().await;
    let mut acknowledged = BTreeMap::new();
    for saver in savers {
        let (saves, closed) = saver.await.unwrap();
        assert_eq!(closed.map(|(code, _)| code), Some(1001));
        acknowledged.extend(saves);
    }
    assert!(!acknowledged.is_empty());

    let gateway = restart(gateway).await;
    let owner = gateway.owner_in_memory();
    let mut kept = BTreeMap::new();
    let mut before = u64::MAX;
    loop {
        let page = world.with(json!({ "limit": 500, "before": before }));
        let page = ask(&owner, "thread/agents_doc/history", page).await.unwrap();
        let revisions = page["revisions"].as_array().unwrap();
        let Some(oldest) = revisions.last() else { break };
        before = oldest["version"].as_u64().unwrap();
        kept.extend(
            revisions.iter().map(|each| (each["version"].as_u64().unwrap(), each["content_sha256"].clone())),
        );
    }
    // There may be more versions than acknowledgements, because a save can be committed although its answer was never
    // read.
    assert!(kept.keys().copied().eq(1..=kept.len() as u64), "versions have no gap");
    for (version, digest) in &acknowledged {
        assert_eq!(kept.get(version), Some(digest), "version {version} was acknowledged");
    }
}

#[tokio::test]
async fn shutdown_informs_clients_and_frees_the_directory() {
    let gateway = TestGateway::start().await.unwrap();
    let announced = gateway.data().join("gateway.json");
    let file: Value = serde_json::from_slice(&std::fs::read(&announced).unwrap()).unwrap();
    assert_eq!(file, json!({ "url": gateway.url(), "pid": std::process::id() }));
    let mut idle = Socket::owner(&gateway).await;
    let url = gateway.url();
    let secret = gateway.owner_secret().unwrap();

    let directory = gateway.stop().await.unwrap();
    let (code, reason) = idle.closed().await.unwrap();
    assert_eq!(code, 1001);
    assert!(reason.contains("shutting down"), "{reason}");
    assert!(!announced.exists());
    let address = url.strip_prefix("http://").unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
    // The directory must be free as soon as the shutdown returns, or a service manager could not restart the gateway
    // immediately.
    drop(DataDirectory::lock(directory.path()).unwrap());

    let again = TestGateway::start_in(directory, |_| {}).await.unwrap();
    assert_eq!(again.owner_secret().unwrap(), secret, "the owner's token stays");
    Socket::owner(&again).await.ok("initialize", json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_has_one_gateway_at_a_time() {
    let gateway = TestGateway::start().await.unwrap();
    let mut settings = GatewaySettings::new(gateway.data());
    settings.listen = "127.0.0.1:0".to_owned();
    let Err(error) = Gateway::start(settings).await else { panic!("two gateways on one directory") };
    assert!(error.is_already_running());
    assert!(error.to_string().contains(&gateway.url()), "{error}");
    assert!(error.hint().is_some());
    // The running gateway is not disturbed, and its announcement still exists.
    gateway.owner().await.unwrap();
}

#[tokio::test]
async fn an_address_that_others_can_reach_has_to_be_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = GatewaySettings::new(directory.path());
    settings.listen = "0.0.0.0:0".to_owned();
    let Err(error) = Gateway::start(settings).await else { panic!("listens on every address") };
    assert!(error.hint().unwrap().contains("--allow-remote"), "{error}");
    // The address is checked first. A refused start must not leave a token or a database behind.
    assert!(directory.path().read_dir().unwrap().next().is_none(), "nothing was touched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_does_not_delay_shutdown() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let big = world.with(json!({ "content": "x".repeat(65_000) }));
    ask(&gateway.owner_in_memory(), "thread/agents_doc/save", big).await.unwrap();
    let mut asleep = Socket::owner(&gateway).await;
    // More than the sockets' buffers hold, so that the writer is stuck, but less than the gateway's queue, so that the
    // client is not disconnected as slow before the shutdown.
    for _ in 0..80 {
        asleep.request("thread/agents_doc/get", world.with(json!({}))).await;
    }
    let counted = "foreword_requests_total{method=\"thread/agents_doc/get\",outcome=\"ok\"}";
    until("the answers", async || crate::support::metric(&gateway, counted).await == Some(80.0)).await;
    let begun = Instant::now();
    gateway.gateway().shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    drop(asleep);
}
