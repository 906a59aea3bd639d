//! Subscriptions: content, order and completeness of notifications.

use std::time::Duration;

use gateway::Database;
use protocol::Role;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use test_postgres::test_database;
use tokio::net::TcpSocket;

use crate::support::{Socket, World, ask, metric, post, until};

/// Number of log entries that [`World::new`] writes.
const BEFORE: u64 = 3;

/// Log entries of [`World::new`] and a first document at the root; each later save is a single entry.
const BEFORE_SAVES: u64 = BEFORE + 2;

async fn start() -> (TestGateway, World) {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    (gateway, world)
}

/// Like [`start`], with a document at the root, so that later saves do not change the tree.
async fn start_with_document() -> (TestGateway, World) {
    let (gateway, world) = start().await;
    make_document(&gateway, &world).await;
    (gateway, world)
}

async fn make_document(gateway: &TestGateway, world: &World) {
    let params = world.with(json!({ "content": "first" }));
    ask(&gateway.owner_in_memory(), "thread/agents_doc/save", params).await.unwrap();
}

/// Saves different texts one after another.
async fn save(gateway: &TestGateway, world: &World, texts: std::ops::Range<u64>) {
    let owner = gateway.owner_in_memory();
    for number in texts {
        let params = world.with(json!({ "content": format!("text {number}") }));
        ask(&owner, "thread/agents_doc/save", params).await.unwrap();
    }
}

/// Keeps saving until it is aborted.
fn keep_saving(gateway: &TestGateway, world: &World) -> tokio::task::JoinHandle<()> {
    let owner = gateway.owner_in_memory();
    let world = world.clone();
    tokio::spawn(async move {
        for number in 0_u64.. {
            let params = world.with(json!({ "content": format!("text {number}") }));
            ask(&owner, "thread/agents_doc/save", params).await.unwrap();
        }
    })
}

#[tokio::test]
async fn document_notifications_have_no_text() {
    let (gateway, world) = start().await;
    let mut socket = Socket::owner(&gateway).await;
    let subscribed = socket.ok("events/subscribe", world.with(json!({}))).await;
    assert_eq!(subscribed, json!({ "seq": BEFORE }));
    let scope = world.with(json!({ "folder_id": world.folder }));
    let content = world.with(json!({ "folder_id": world.folder, "content": "PRIVATE-TEXT" }));
    let doc = socket.ok("thread/agents_doc/save", &content).await["doc"].clone();
    socket.ok("thread/agents_doc/archive", &scope).await;
    socket
        .ok("thread/agents_doc/restore", world.with(json!({ "folder_id": world.folder, "version": 1 })))
        .await;
    let blank = world.with(json!({ "content": " " }));
    socket.ok("thread/agents_doc/save", blank).await;

    let saved = socket.notification().await;
    let summary: Value = [
        "id",
        "workspace_id",
        "folder_id",
        "status",
        "content_sha256",
        "version",
        "char_count",
        "updated_at",
    ]
    .into_iter()
    .map(|field| (field.to_owned(), doc[field].clone()))
    .collect();
    let params = json!({
        "seq": BEFORE + 1,
        "workspace_id": world.workspace,
        "folder_id": world.folder,
        "summary": summary,
        "effective_changed": true,
        "changed_at": doc["updated_at"],
        "changed_by": "owner",
    });
    assert_eq!(saved, json!({ "jsonrpc": "2.0", "method": "thread/agents_doc/changed", "params": params }));
    let appeared = socket.notification().await;
    let params = json!({
        "seq": BEFORE + 2, "workspace_id": world.workspace, "reason": "agents_doc", "folder_id": world.folder,
        "changed_at": doc["updated_at"], "changed_by": "owner",
    });
    assert_eq!(appeared, json!({ "jsonrpc": "2.0", "method": "thread/tree/changed", "params": params }));
    let archived = socket.notification().await;
    assert_eq!(socket.notification().await["params"]["reason"], "agents_doc", "it disappeared");
    assert!(archived["params"].get("summary").is_none(), "archived: {archived}");
    let restored = socket.notification().await;
    assert_eq!(socket.notification().await["params"]["reason"], "agents_doc", "it is back");
    assert_eq!(restored["params"]["summary"]["version"], 3);
    let draft = socket.notification().await;
    assert_eq!(draft["params"]["effective_changed"], false, "a draft changes nothing for anybody");
    assert!(draft["params"].get("folder_id").is_none(), "the root has no folder");
    // A notification may reach a client whose rights have just changed, so it never contains the text itself.
    for told in [saved, archived, restored, draft] {
        assert!(!told.to_string().contains("PRIVATE"), "{told}");
    }
}

#[tokio::test]
async fn tree_notifications_have_a_reason() {
    let (gateway, world) = start().await;
    let mut socket = Socket::owner(&gateway).await;
    socket.ok("events/subscribe", world.with(json!({}))).await;
    let folder = json!({ "folder_id": world.folder });
    let thread = json!({ "thread_id": world.thread });
    let with = |base: &Value, key: &str, value: &str| {
        let mut params = world.with(base.clone());
        params[key] = json!(value);
        params
    };
    let mut expected = Vec::new();
    for (method, params, reason, of_folder, of_thread) in [
        ("workspace/update", world.with(json!({ "name": "new" })), "workspace_updated", false, false),
        ("thread/folder/rename", with(&folder, "name", "new"), "folder_renamed", true, false),
        ("thread/rename", with(&thread, "title", "new"), "thread_renamed", true, true),
        ("thread/move", world.with(thread.clone()), "thread_moved", false, true),
        ("thread/archive", world.with(thread.clone()), "thread_archived", false, true),
        ("thread/folder/delete", world.with(folder.clone()), "folder_deleted", true, false),
        ("thread/folder/restore", world.with(folder.clone()), "folder_restored", true, false),
        // Nothing changes, so no notification is sent.
        ("workspace/update", world.with(json!({ "name": "new" })), "", false, false),
        ("thread/archive", world.with(thread.clone()), "", false, false),
    ] {
        socket.ok(method, params).await;
        if !reason.is_empty() {
            let mut params = json!({
                "seq": BEFORE + 1 + expected.len() as u64, "workspace_id": world.workspace, "reason": reason
            });
            if of_folder {
                params["folder_id"] = json!(world.folder);
            }
            if of_thread {
                params["thread_id"] = json!(world.thread);
            }
            expected.push(json!({ "jsonrpc": "2.0", "method": "thread/tree/changed", "params": params }));
        }
    }
    for mut expected in expected {
        let told = socket.notification().await;
        expected["params"]["changed_at"] = told["params"]["changed_at"].clone();
        expected["params"]["changed_by"] = json!("owner");
        assert_eq!(told, expected);
        assert!(told["params"]["changed_at"].is_string(), "{told}");
    }
    assert!(socket.is_quiet().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_comes_before_the_first_notification() {
    let (gateway, world) = start().await;
    let saving = keep_saving(&gateway, &world);
    for _ in 0..30 {
        let mut socket = Socket::owner(&gateway).await;
        let id = socket.request("events/subscribe", world.with(json!({ "since": 0 }))).await;
        // With saves in progress, a subscription that starts before its answer is queued would almost certainly send a
        // notification first.
        let first = socket.receive().await;
        assert_eq!(first["id"], id, "{first}");
        assert_eq!(socket.sequences(3).await, [1, 2, 3]);
    }
    saving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconnecting_client_gets_a_thousand_missed_changes() {
    let (gateway, world) = start_with_document().await;
    let mut cut_off = Socket::owner(&gateway).await;
    cut_off.ok("events/subscribe", world.with(json!({}))).await;
    let mut stayed = Socket::owner(&gateway).await;
    stayed.ok("events/subscribe", world.with(json!({}))).await;
    save(&gateway, &world, 0..5).await;
    let last_seen = *cut_off.sequences(5).await.last().unwrap();
    drop(cut_off);

    // More changes than the feed remembers, so the oldest must come from the log.
    let count = 1_100;
    let newest = last_seen + count;
    let saving = save(&gateway, &world, 5..5 + count);
    // The follower reads while the saves run: it would fill its queue and be disconnected as slow otherwise.
    let following = stayed.sequences(5 + usize::try_from(count).unwrap());
    let ((), seen) = tokio::join!(saving, following);
    assert!(seen.into_iter().eq(BEFORE_SAVES + 1..=newest), "who stayed sees each change once, in order");

    let mut back = Socket::owner(&gateway).await;
    let answer = back.ok("events/subscribe", world.with(json!({ "since": last_seen }))).await;
    assert_eq!(answer["seq"], newest);
    let seen = back.sequences(usize::try_from(count).unwrap()).await;
    assert!(seen.into_iter().eq(last_seen + 1..=newest), "who comes back sees each change once, in order");
    save(&gateway, &world, 0..1).await;
    assert_eq!(back.sequences(1).await, [newest + 1], "and then what happens");
    assert!(back.is_quiet().await);
}

#[tokio::test]
async fn since_skips_known_changes() {
    let (gateway, world) = start().await;
    let mut socket = Socket::owner(&gateway).await;
    for (since, replayed) in [(0, vec![1, 2, 3]), (1, vec![2, 3]), (2, vec![3])] {
        let mut socket = Socket::owner(&gateway).await;
        socket.ok("events/subscribe", world.with(json!({ "since": since }))).await;
        assert_eq!(socket.sequences(replayed.len()).await, replayed);
    }
    socket.ok("events/subscribe", world.with(json!({ "since": 3 }))).await;
    // A position from the future means that the client knows another database, for example from before a restore.
    // Accepting it would lose changes silently.
    for beyond in [json!(4), json!(u64::MAX)] {
        socket.refused(-32012, "events/subscribe", world.with(json!({ "since": beyond }))).await;
    }
    for invalid in [json!(-1), json!("3")] {
        socket.refused(-32602, "events/subscribe", world.with(json!({ "since": invalid }))).await;
    }
    // A rejected subscription does not end the existing one.
    save(&gateway, &world, 0..1).await;
    assert_eq!(socket.sequences(2).await, [4, 5]);
}

#[tokio::test]
async fn all_subscribers_get_all_changes() {
    let (gateway, world) = start_with_document().await;
    let reader = gateway.token("reader", Role::Reader, Some(world.workspace.parse().unwrap())).await.unwrap();
    let mut first = Socket::owner(&gateway).await;
    let mut second = Socket::connect(&gateway, &reader).await;
    let mut in_memory = gateway.owner_in_memory();
    first.ok("events/subscribe", world.with(json!({}))).await;
    second.ok("events/subscribe", world.with(json!({}))).await;
    ask(&in_memory, "events/subscribe", world.with(json!({}))).await.unwrap();
    save(&gateway, &world, 0..20).await;
    for _ in 0..20 {
        let told = first.notification().await;
        assert_eq!(second.notification().await, told);
        let params: Value =
            serde_json::from_str(in_memory.notification().await.unwrap().params.get()).unwrap();
        assert_eq!(params, told["params"]);
    }
}

#[tokio::test]
async fn workspaces_are_followed_one_by_one() {
    let (gateway, world) = start().await;
    let other = World::new(&gateway, "other").await;
    make_document(&gateway, &other).await;
    make_document(&gateway, &world).await;
    let mut socket = Socket::owner(&gateway).await;
    socket.ok("events/subscribe", world.with(json!({}))).await;
    save(&gateway, &other, 0..3).await;
    assert!(socket.is_quiet().await, "the other workspace is not followed");
    socket.ok("events/subscribe", other.with(json!({ "since": BEFORE_SAVES + 2 }))).await;
    let told = socket.notification().await;
    assert_eq!(
        (&told["params"]["workspace_id"], &told["params"]["seq"]),
        (&json!(other.workspace), &json!(BEFORE_SAVES + 3))
    );
    socket.ok("events/unsubscribe", other.with(json!({}))).await;
    save(&gateway, &other, 3..4).await;
    save(&gateway, &world, 0..1).await;
    assert_eq!(socket.notification().await["params"]["workspace_id"], world.workspace.as_str());
    assert!(socket.is_quiet().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_unsubscribing_nothing_more_comes() {
    let (gateway, world) = start().await;
    let saving = keep_saving(&gateway, &world);
    let mut socket = Socket::owner(&gateway).await;
    for round in 0..100 {
        socket.ok("events/subscribe", world.with(json!({ "since": 0 }))).await;
        socket.sequences(3).await;
        socket.ok("events/unsubscribe", world.with(json!({}))).await;
        socket.forget_early();
        assert!(socket.is_quiet().await, "round {round}");
    }
    saving.abort();
    // Ending a subscription that does not exist is not an error.
    socket.ok("events/unsubscribe", world.with(json!({}))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribing_again_replaces_what_was_there() {
    let (gateway, world) = start().await;
    let saving = keep_saving(&gateway, &world);
    let mut socket = Socket::owner(&gateway).await;
    for round in 0..100 {
        // Notifications of the replaced subscription may still arrive before this answer, but none after it, so those
        // that did are dropped and the new ones start exactly after position 1.
        socket.ok("events/subscribe", world.with(json!({ "since": 1 }))).await;
        socket.forget_early();
        assert_eq!(socket.sequences(5).await, [2, 3, 4, 5, 6], "round {round}");
    }
    saving.abort();
}

#[tokio::test]
async fn a_batch_may_subscribe_twice_and_change_its_mind() {
    let (gateway, world) = start().await;
    let mut socket = Socket::owner(&gateway).await;
    let subscribe = |id: u64, since: u64| {
        let params = world.with(json!({ "since": since }));
        json!({ "jsonrpc": "2.0", "id": id, "method": "events/subscribe", "params": params })
    };
    let unsubscribe =
        json!({ "jsonrpc": "2.0", "id": 9, "method": "events/unsubscribe", "params": world.with(json!({})) });
    socket.send(json!([subscribe(1, 0), subscribe(2, 2)]).to_string()).await;
    assert_eq!(socket.receive().await.as_array().unwrap().len(), 2);
    assert_eq!(socket.sequences(1).await, [3], "the second one stands");
    socket.send(json!([subscribe(3, 0), unsubscribe]).to_string()).await;
    assert_eq!(socket.receive().await.as_array().unwrap().len(), 2);
    save(&gateway, &world, 0..1).await;
    assert!(socket.is_quiet().await);
}

#[tokio::test]
async fn http_has_no_events() {
    let (gateway, world) = start().await;
    for method in ["events/subscribe", "events/unsubscribe"] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": world.with(json!({})) });
        let answer = post(&gateway, &gateway.owner_secret().unwrap(), body.to_string()).await;
        assert_eq!((answer.status, answer.error_code()), (200, -32011), "{method}");
        assert_eq!(answer.json()["error"]["data"]["kind"], "invalid_state");
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    let answer = post(&gateway, &gateway.owner_secret().unwrap(), body).await.json();
    assert_eq!(answer["result"]["capabilities"]["events"], false, "and it says so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_is_dropped_alone() {
    let gateway = TestGateway::start_with(|settings| {
        // Small enough that the answers below overflow it together with the sockets' buffers.
        settings.limits.outgoing_bytes = 256 * 1024;
        settings.limits.patience = Duration::from_millis(500);
    })
    .await
    .unwrap();
    let world = World::new(&gateway, "w").await;
    let big = world.with(json!({ "folder_id": world.folder, "content": "x".repeat(65_000) }));
    ask(&gateway.owner_in_memory(), "thread/agents_doc/save", big).await.unwrap();
    make_document(&gateway, &world).await;
    let before = BEFORE_SAVES + 2;
    let mut healthy = Socket::owner(&gateway).await;
    healthy.ok("events/subscribe", world.with(json!({}))).await;
    // Two clients that do not read request far more answers than any buffer holds.
    let mut asleep = Vec::new();
    for _ in 0..2 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 * 1024).unwrap();
        let stream = socket.connect(gateway.gateway().address()).await.unwrap();
        let mut socket = Socket::over(stream, &gateway.owner_secret().unwrap()).await;
        socket.ok("events/subscribe", world.with(json!({}))).await;
        for _ in 0..100 {
            socket.request("thread/agents_doc/get", world.with(json!({ "folder_id": world.folder }))).await;
        }
        asleep.push(socket);
    }
    save(&gateway, &world, 0..50).await;
    assert!(healthy.sequences(50).await.into_iter().eq(before + 1..=before + 50));
    let dropped = "foreword_connections_dropped_total{reason=\"slow\"}";
    until("both to be dropped", async || metric(&gateway, dropped).await == Some(2.0)).await;

    // One of them resumes in time to read the close reason.
    let mut woken = asleep.pop().unwrap();
    let (code, reason) = woken.closed().await.expect("a goodbye");
    assert_eq!(code, 1013);
    assert!(reason.contains("`since`"), "{reason}");
    // The other never does, and the gateway must not wait for it.
    until("the connections to end", async || metric(&gateway, "foreword_connections").await == Some(1.0))
        .await;

    let mut back = Socket::owner(&gateway).await;
    back.ok("events/subscribe", world.with(json!({ "since": before }))).await;
    assert!(back.sequences(50).await.into_iter().eq(before + 1..=before + 50), "nothing was missed");
    save(&gateway, &world, 50..51).await;
    assert_eq!(healthy.sequences(1).await, back.sequences(1).await);
}

#[tokio::test]
async fn a_gateway_that_was_down_catches_its_clients_up() {
    let (gateway, world) = start_with_document().await;
    let mut socket = Socket::owner(&gateway).await;
    socket.ok("events/subscribe", world.with(json!({}))).await;
    save(&gateway, &world, 0..2).await;
    let last_seen = *socket.sequences(2).await.last().unwrap();
    // The client misses the following changes on purpose, as if its connection had broken before the shutdown.
    let id = socket.request("events/unsubscribe", world.with(json!({}))).await;
    socket.answer(id).await.unwrap();
    save(&gateway, &world, 2..10).await;

    let directory = gateway.stop().await.unwrap();
    assert_eq!(socket.closed().await.map(|(code, _)| code), Some(1001));
    let gateway = TestGateway::start_in(directory, |_| {}).await.unwrap();
    save(&gateway, &world, 10..12).await;
    let mut socket = Socket::owner(&gateway).await;
    let answer = socket.ok("events/subscribe", world.with(json!({ "since": last_seen }))).await;
    assert_eq!(answer["seq"], last_seen + 10);
    assert!(socket.sequences(10).await.into_iter().eq(last_seen + 1..=last_seen + 10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_on_one_database_share_notifications() {
    let Some(database) = test_database() else { return };
    let database = Database::Postgres(database.url().to_owned());
    let here = TestGateway::start_on(database.clone()).await.unwrap();
    let there = TestGateway::start_on(database).await.unwrap();
    let world = World::new(&here, "w").await;
    make_document(&here, &world).await;
    let mut followers = [Socket::owner(&here).await, Socket::owner(&there).await];
    for follower in &mut followers {
        follower.ok("events/subscribe", world.with(json!({}))).await;
    }
    // Both gateways write into the same workspace at the same time, so their sequence numbers must interleave without
    // gaps.
    tokio::join!(save(&here, &world, 0..100), save(&there, &world, 100..200));
    let newest = BEFORE_SAVES + 200;
    for (name, follower) in ["here", "there"].into_iter().zip(&mut followers) {
        let seen = follower.sequences(200).await;
        assert!(seen.into_iter().eq(BEFORE_SAVES + 1..=newest), "{name}: each change once, in order");
    }
    // A client may move to the other gateway with its position.
    let mut moved = Socket::owner(&there).await;
    moved.ok("events/subscribe", world.with(json!({ "since": newest - 5 }))).await;
    assert!(moved.sequences(5).await.into_iter().eq(newest - 4..=newest));

    // A gateway that was down while the other one wrote has not missed anything either.
    let directory = there.stop().await.unwrap();
    save(&here, &world, 200..210).await;
    let database = here.gateway().database().clone();
    let again =
        TestGateway::start_in(directory, |settings| settings.database = Some(database)).await.unwrap();
    let mut back = Socket::owner(&again).await;
    back.ok("events/subscribe", world.with(json!({ "since": newest }))).await;
    assert!(back.sequences(10).await.into_iter().eq(newest + 1..=newest + 10));
}
