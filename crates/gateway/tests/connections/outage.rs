//! A database that is unavailable or whose disk is full: clear errors, no partial writes, and recovery.

use std::time::{Duration, Instant};

use gateway::Database;
use scripted_model::Answer;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use test_postgres::{Options, test_cluster};
use tokio::task::block_in_place;

use crate::support::{Log, Setting, Socket, Stage, World, ask, get, post, until};

/// Time limit for an answer while the database is unavailable.
const BOUND: Duration = Duration::from_secs(20);

fn save(world: &World, text: &str) -> Value {
    world.with(json!({ "content": text }))
}

/// Makes a call that must fail in time because of the database.
async fn fails(socket: &mut Socket, reason: &str, method: &str, params: Value) {
    let begun = Instant::now();
    let data = socket.refused(-32603, method, params).await;
    assert_eq!(data["reason"], reason, "{method}: {data}");
    assert!(begun.elapsed() < BOUND, "{method} took {:?}", begun.elapsed());
}

async fn is_ready(gateway: &TestGateway) -> bool {
    assert_eq!(get(gateway, "/healthz", None).await.status, 200, "the gateway itself is well");
    get(gateway, "/readyz", None).await.status == 200
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_goes_away_and_comes_back() {
    // A server of its own, because this test stops it and others share the common one.
    let Some(cluster) = block_in_place(|| test_cluster(Options::fast())) else { return };
    let url = block_in_place(|| cluster.create_database()).unwrap();
    let gateway = TestGateway::start_on(Database::Postgres(url)).await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut follower = Socket::owner(&gateway).await;
    follower.ok("events/subscribe", world.with(json!({}))).await;
    let mut socket = Socket::owner(&gateway).await;
    let mut reading = Socket::owner(&gateway).await;
    socket.ok("thread/agents_doc/save", save(&world, "before")).await;
    assert_eq!(follower.sequences(2).await, [4, 5]);
    assert!(is_ready(&gateway).await);

    block_in_place(|| cluster.stop()).unwrap();
    // Concurrent, because each call may wait several seconds for the database.
    let (.., ready, answer) = tokio::join!(
        fails(&mut socket, "database_unavailable", "thread/agents_doc/save", save(&world, "during")),
        fails(&mut reading, "database_unavailable", "thread/tree", world.with(json!({}))),
        is_ready(&gateway),
        post(&gateway, "fwt_never_seen_before", "{}"),
    );
    assert!(!ready);
    // A client that cannot be authenticated now must not receive an error about a wrong token.
    assert_eq!((answer.status, answer.error_code()), (503, -32603));
    assert_eq!(answer.json()["error"]["data"]["reason"], "database_unavailable");

    block_in_place(|| cluster.start_again()).unwrap();
    until("the gateway to be ready again", async || is_ready(&gateway).await).await;
    until("a save to succeed", async || {
        socket.call("thread/agents_doc/save", save(&world, "after")).await.is_ok()
    })
    .await;
    let told = follower.notification().await;
    // The failed save must not have used up a number: followers would wait for the gap forever.
    assert_eq!(told["params"]["seq"], 6, "the connection, its subscription and the numbers go on");
    let history = socket.ok("thread/agents_doc/history", world.with(json!({}))).await;
    assert_eq!(history["revisions"].as_array().unwrap().len(), 2, "what failed left nothing: {history}");
    // Wakes from other gateways arrive again as well.
    let other = TestGateway::start_on(gateway.gateway().database().clone()).await.unwrap();
    ask(&other.owner_in_memory(), "thread/agents_doc/save", save(&world, "elsewhere")).await.unwrap();
    assert_eq!(follower.sequences(1).await, [7]);
}

// An asynchronous standby lacks the newest changes and gives their numbers to others. A subscriber that continued after the
// number it has seen would silently miss those.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_reload_after_a_standby_was_promoted() {
    let Some(cluster) = block_in_place(|| test_cluster(Options::fast())) else { return };
    let url = block_in_place(|| cluster.create_database()).unwrap();
    let gateway = TestGateway::start_on(Database::Postgres(url)).await.unwrap();
    let world = World::new(&gateway, "w").await;
    block_in_place(|| cluster.copy_to_standby()).unwrap();
    until("the gateway to be ready again", async || is_ready(&gateway).await).await;
    let mut follower = Socket::owner(&gateway).await;
    let instance = follower.ok("initialize", json!({})).await["instance"].clone();
    follower.ok("events/subscribe", world.with(json!({}))).await;
    let mut socket = Socket::owner(&gateway).await;
    socket.ok("thread/agents_doc/save", save(&world, "lost with the old server")).await;
    let seen = follower.sequences(2).await[1];

    block_in_place(|| cluster.fail_over()).unwrap();
    until("the gateway to be ready again", async || is_ready(&gateway).await).await;
    assert_eq!(follower.closed().await.map(|(code, _)| code), Some(1012));
    let mut socket = Socket::owner(&gateway).await;
    let now = socket.ok("initialize", json!({})).await["instance"].clone();
    assert_ne!(now, instance);
    // The numbers that the follower has seen belong to other changes now.
    for text in ["one", "two", "three"] {
        socket.ok("thread/agents_doc/save", save(&world, text)).await;
    }
    let resume = |instance: &Value| world.with(json!({ "since": seen, "instance": instance }));
    socket.refused(-32012, "events/subscribe", resume(&instance)).await;
    socket.ok("events/subscribe", resume(&now)).await;
}

#[tokio::test]
async fn an_approval_survives_a_short_database_outage() {
    let Some(cluster) = test_cluster(Options::fast()) else { return };
    let database = Some(Database::Postgres(cluster.create_database().unwrap()));
    let log = Log::default();
    let _captured = log.capture(tracing::Level::WARN);
    let files = &[("a.txt", "old")];
    let mut stage = Stage::set(Setting { mode: "agent", files, database, ..Setting::default() }).await;
    let arguments = json!({ "path": "a.txt", "content": "new" }).to_string();
    stage.model.answer(Answer::empty().tool_call("call_1", "write_file", &arguments));
    stage.model.answer(Answer::text("Written."));
    let turn = stage.start("Write it.").await;
    stage.until(&turn, |answer| answer["approvals"] != json!([])).await;

    cluster.stop().unwrap();
    let in_vain = "failed to look up an approval";
    until("the answer to be looked for in vain", async || log.text().contains(in_vain)).await;
    cluster.start_again().unwrap();
    let yes = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": true }));
    until("a yes", async || stage.socket.call("turn/approve", yes.clone()).await.is_ok()).await;
    let ended = stage.ended(&turn).await;
    assert_eq!(
        (&ended["turn"]["status"], stage.read("a.txt").as_str()),
        (&json!("completed"), "new"),
        "{ended:#}"
    );
    assert_eq!(ended["decided"][0]["decision"]["allowed"], true, "{ended:#}");
}

#[tokio::test]
async fn an_sqlite_file_is_moved_away_and_back() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut socket = Socket::owner(&gateway).await;
    socket.ok("events/subscribe", world.with(json!({}))).await;
    socket.ok("thread/agents_doc/save", save(&world, "before")).await;
    assert_eq!(socket.sequences(2).await, [4, 5]);
    let place = gateway.data().join("foreword.db");
    let elsewhere = gateway.data().join("elsewhere.db");

    // The file stays open in the gateway, so SQLite alone would keep writing into the moved file and lose those changes
    // once another file takes its place.
    std::fs::rename(&place, &elsewhere).unwrap();
    fails(&mut socket, "database_unavailable", "thread/agents_doc/save", save(&world, "during")).await;
    assert!(!is_ready(&gateway).await);
    assert!(!place.exists(), "no empty database takes its place");

    std::fs::rename(&elsewhere, &place).unwrap();
    assert!(is_ready(&gateway).await);
    socket.ok("thread/agents_doc/save", save(&world, "after")).await;
    assert_eq!(socket.sequences(1).await, [6]);
}

/// Environment variable with the mount point of the small disk, set for the child process of the test below.
const SMALL_DISK: &str = "FOREWORD_TEST_SMALL_DISK";

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_without_losing_saves() {
    if std::env::var_os(SMALL_DISK).is_some() {
        return on_a_small_disk();
    }
    // The disk is mounted in a namespace that ends with the child process, so even a crash leaves no mount behind.
    let directory = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o size=10m none \"${SMALL_DISK}\" || exit 77; exec \"$@\"");
    let run = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "outage::a_full_disk_is_reported_without_losing_saves", "--nocapture"])
        .env(SMALL_DISK, directory.path())
        .output();
    match run {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // Containers often forbid namespaces. Only that may skip the test; a failure inside must fail it.
            let not_permitted = output.status.code() == Some(77) || said.contains("unshare");
            assert!(not_permitted, "{said}{}", String::from_utf8_lossy(&output.stdout));
            skip(&said);
        }
        Err(error) => skip(&error.to_string()),
    }
}

#[cfg(target_os = "linux")]
fn skip(why: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "no small disk can be mounted here, skipping: {why}");
}

#[cfg(target_os = "linux")]
#[tokio::main(flavor = "current_thread")]
async fn on_a_small_disk() {
    let disk = std::path::PathBuf::from(std::env::var_os(SMALL_DISK).unwrap());
    let ballast = disk.join("ballast");
    // Without the ballast, the disk holds the write-ahead log twice, which SQLite needs to clean it up afterwards.
    std::fs::write(&ballast, vec![0; 6 * 1024 * 1024]).unwrap();
    let directory = tempfile::tempdir_in(&disk).unwrap();
    let gateway = TestGateway::start_in(directory, |_| {}).await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut socket = Socket::owner(&gateway).await;
    socket.ok("events/subscribe", world.with(json!({}))).await;
    let text = |number: u64| format!("{number} {}", "x".repeat(60_000));

    let mut acknowledged = 0;
    let mut refused = 0;
    // After the first failure, SQLite may still free space by cleaning up its log, so save until it no longer can.
    while refused < 5 {
        match socket.call("thread/agents_doc/save", save(&world, &text(acknowledged + 1))).await {
            // Only refusals in a row count, since SQLite may find space for one more save in between.
            Ok(_) => (acknowledged, refused) = (acknowledged + 1, 0),
            Err(error) => {
                refused += 1;
                assert_eq!(
                    error["data"],
                    json!({ "kind": "internal_error", "reason": "disk_full" }),
                    "{error}"
                );
            }
        }
        assert!(acknowledged < 1_000, "the disk is not small");
    }
    let answer = get(&gateway, "/readyz", None).await;
    assert_eq!(
        (answer.status, answer.text()),
        (503, "the disk that holds the database is full\n"),
        "what cannot write is not ready"
    );
    // Exactly the acknowledged saves can be read.
    let got = socket.ok("thread/agents_doc/get", world.with(json!({}))).await;
    assert_eq!(got["explicit"]["content"], text(acknowledged));
    for version in [1, acknowledged] {
        let revision =
            socket.ok("thread/agents_doc/revision", world.with(json!({ "version": version }))).await;
        assert_eq!(revision["revision"]["content"], text(version));
    }
    let tree = socket.ok("thread/tree", world.with(json!({}))).await;
    // One more than the saves, because the first one also changed the tree.
    assert_eq!(tree["seq"], 4 + acknowledged);

    std::fs::remove_file(&ballast).unwrap();
    until("the gateway to be ready again", async || is_ready(&gateway).await).await;
    let saved = socket.ok("thread/agents_doc/save", save(&world, "there is room again")).await;
    assert_eq!(saved["doc"]["version"], acknowledged + 1);
    let count = usize::try_from(acknowledged).unwrap() + 2;
    assert!(socket.sequences(count).await.into_iter().eq(4..=5 + acknowledged));
}
