//! `memory/…` over the wire: ownership of items, rejected calls, and import of an export.

use protocol::Role;
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Socket, World};

fn texts(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn user_memories_are_private() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let bound_to = Some(world.workspace.parse().unwrap());
    let ann = gateway.token("ann", Role::Editor, None).await.unwrap();
    let bob = gateway.token("bob", Role::Editor, None).await.unwrap();
    let eve = gateway.token("eve", Role::Owner, bound_to).await.unwrap();
    let [mut ann, mut bob, mut eve] = [
        Socket::connect(&gateway, &ann).await,
        Socket::connect(&gateway, &bob).await,
        Socket::connect(&gateway, &eve).await,
    ];
    let own = world.with(json!({ "scope": "user", "category": "preference", "text": "tabs" }));
    let item = ann.ok("memory/add", &own).await["item"].clone();
    assert_eq!(
        (&item["scope"], &item["created_by"], &item["status"]),
        (&json!("user"), &json!("ann"), &json!("active"))
    );
    eve.refused(-32003, "memory/add", &own).await;
    let import = world.with(json!({ "items": [{ "scope": "user", "category": "fact", "text": "mine" }, { "category": "fact", "text": "ours" }] }));
    let imported = eve.ok("memory/import", import).await;
    assert_eq!((&imported["added"], &imported["refused"][0]["index"]), (&json!(1), &json!(0)));
    let id = world.with(json!({ "id": item["id"] }));
    // Even an owner bound to the workspace does not see another user's own items.
    for (other, seen) in [(&mut bob, 1), (&mut eve, 1), (&mut ann, 2)] {
        assert_eq!(texts(&other.ok("memory/list", world.with(json!({}))).await).len(), seen);
        assert_eq!(texts(&other.ok("memory/export", world.with(json!({}))).await).len(), seen);
    }
    for other in [&mut bob, &mut eve] {
        assert_eq!(texts(&other.ok("memory/search", world.with(json!({ "query": "tabs" }))).await), [""; 0]);
        assert_eq!(other.refused(-32004, "memory/get", &id).await["what"], "memory_item");
        other.refused(-32004, "memory/forget", &id).await;
    }
    let elsewhere = World::new(&gateway, "elsewhere").await;
    assert_eq!(texts(&ann.ok("memory/list", elsewhere.with(json!({}))).await), ["tabs"]);
    ann.ok("memory/forget", &id).await;
    assert!(ann.ok("memory/get", &id).await["item"].get("text").is_none());
}

#[tokio::test]
async fn invalid_memories_and_searches_are_refused() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut socket = Socket::owner(&gateway).await;
    let add = |changes: Value| {
        let mut params = world.with(json!({ "scope": "workspace", "category": "fact", "text": "text" }));
        params.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        params
    };
    for changes in [
        json!({ "text": " " }),
        json!({ "text": "a\0b" }),
        json!({ "category": "" }),
        json!({ "scope": "thread" }),
        json!({ "scope": "galaxy" }),
        json!({ "thread_id": world.thread }),
        json!({ "expires_at": "2020-01-01T00:00:00Z" }),
    ] {
        socket.refused(-32602, "memory/add", add(changes)).await;
    }
    let data = socket.refused(-32013, "memory/add", add(json!({ "text": "x".repeat(16_385) }))).await;
    assert_eq!((&data["limit"], &data["actual"]), (&json!(16_384), &json!(16_385)));
    assert_eq!(
        socket.refused(-32004, "memory/add", add(json!({ "scope": "thread", "thread_id": "x" }))).await["what"],
        "thread"
    );
    let superseding = add(json!({ "supersedes": "x" }));
    assert_eq!(socket.refused(-32004, "memory/add", superseding).await["what"], "memory_item");
    for limit in [0, 101] {
        socket.refused(-32602, "memory/search", world.with(json!({ "query": "a", "limit": limit }))).await;
    }
    let many: Vec<Value> =
        (0..501).map(|number| json!({ "category": "fact", "text": number.to_string() })).collect();
    let data = socket.refused(-32013, "memory/import", world.with(json!({ "items": many }))).await;
    assert_eq!(data["limit"], 500);
    assert_eq!(texts(&socket.ok("memory/list", world.with(json!({}))).await), [""; 0]);
}

#[tokio::test]
async fn imports_elsewhere_are_idempotent() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut socket = Socket::owner(&gateway).await;
    let texts_of = |range: std::ops::Range<usize>| -> Vec<Value> {
        range.map(|number| json!({ "category": "fact", "text": format!("fact {number} ✓ 東京") })).collect()
    };
    socket.ok("memory/import", world.with(json!({ "items": texts_of(0..250) }))).await;
    let mut exported = Vec::new();
    let mut after = json!({});
    let mut parts = 0;
    loop {
        let part = socket.ok("memory/export", world.with(after)).await;
        exported.extend(part["items"].as_array().unwrap().clone());
        parts += 1;
        match part.get("next") {
            Some(next) => after = json!({ "after": next }),
            None => break,
        }
    }
    // More items than one part of an export holds, so that the client has to continue.
    assert_eq!((exported.len(), parts), (250, 2));
    let other = World::new(&gateway, "other").await;
    let import = other.with(json!({ "items": exported }));
    assert_eq!(socket.ok("memory/import", &import).await, json!({ "added": 250, "unchanged": 0 }));
    assert_eq!(socket.ok("memory/import", &import).await, json!({ "added": 0, "unchanged": 250 }));
    let found = socket.ok("memory/search", other.with(json!({ "query": "FACT 249", "limit": 1 }))).await;
    assert_eq!(texts(&found), ["fact 249 ✓ 東京"]);
}
