//! Documents over the wire: saves, versions, conflicts, history, archives and effective documents.

use protocol::ContentHash;
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Socket, World, id, is_wire_time};

async fn start() -> (TestGateway, World, Socket) {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let socket = Socket::owner(&gateway).await;
    (gateway, world, socket)
}

/// Names of an object's members, in order.
fn members(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn absent_fields_of_a_saved_document_are_omitted() {
    let (_gateway, world, mut socket) = start().await;
    let saved = socket.ok("thread/agents_doc/save", world.with(json!({ "content": "Grüße\r\n" }))).await;
    assert_eq!(saved["warnings"], json!([]));
    let doc = &saved["doc"];
    assert_eq!(
        members(doc),
        [
            "id",
            "workspace_id",
            "status",
            "title",
            "content",
            "content_sha256",
            "version",
            "char_count",
            "created_at",
            "updated_at",
            "created_by",
            "updated_by"
        ],
        "no folder at the root, and no time of archiving"
    );
    assert_eq!(doc["workspace_id"], world.workspace.as_str());
    assert_eq!((&doc["status"], &doc["title"]), (&json!("active"), &json!("AGENTS.md")));
    assert_eq!((&doc["content"], &doc["char_count"]), (&json!("Grüße\n"), &json!(6)));
    assert_eq!(doc["content_sha256"], ContentHash::of("Grüße\n").as_str());
    assert_eq!((&doc["version"], &doc["created_by"]), (&json!(1), &json!("owner")));
    assert!(is_wire_time(&doc["created_at"]) && is_wire_time(&doc["updated_at"]), "{doc}");

    let in_folder = world.with(json!({ "folder_id": world.folder, "content": "f" }));
    let doc = socket.ok("thread/agents_doc/save", in_folder).await["doc"].clone();
    assert_eq!(doc["folder_id"], world.folder.as_str());
}

#[tokio::test]
async fn white_space_is_a_draft_without_effect() {
    let (_gateway, world, mut socket) = start().await;
    socket.ok("thread/agents_doc/save", world.with(json!({ "content": "root" }))).await;
    let draft = world.with(json!({ "folder_id": world.folder, "content": " \n\t" }));
    assert_eq!(socket.ok("thread/agents_doc/save", draft).await["doc"]["status"], "draft");
    let got = socket.ok("thread/agents_doc/get", world.with(json!({ "folder_id": world.folder }))).await;
    assert_eq!(got["explicit"]["content"], " \n\t");
    assert_eq!(got["effective"]["doc"]["content"], "root");
    assert_eq!(got["effective"]["inherited"], true);
}

#[tokio::test]
async fn a_document_over_budget_is_saved_with_a_warning() {
    let (_gateway, world, mut socket) = start().await;
    let save = |text: String| world.with(json!({ "content": text }));
    assert_eq!(socket.ok("thread/agents_doc/save", save("é".repeat(16_000))).await["warnings"], json!([]));
    let saved = socket.ok("thread/agents_doc/save", save("é".repeat(16_001))).await;
    assert_eq!(saved["warnings"][0]["code"], "over_prompt_budget");
    assert!(saved["warnings"][0]["message"].as_str().unwrap().contains("16001"), "{saved}");
    // The answer to a repeated save is the same, warning included.
    let again = socket.ok("thread/agents_doc/save", save("é".repeat(16_001))).await;
    assert_eq!(again, saved);
}

#[tokio::test]
async fn an_oversized_document_is_refused_without_a_write() {
    let (_gateway, world, mut socket) = start().await;
    let save = |text: String| world.with(json!({ "content": text }));
    // Carriage returns do not count: the limit is for the normalised text.
    socket.ok("thread/agents_doc/save", save("a\r\n".repeat(32_768))).await;
    let data = socket.refused(-32013, "thread/agents_doc/save", save("a".repeat(65_537))).await;
    assert_eq!((&data["limit"], &data["actual"]), (&json!(65_536), &json!(65_537)));
    // The limit counts bytes, and each of these characters has three.
    let data = socket.refused(-32013, "thread/agents_doc/save", save("€".repeat(21_846))).await;
    assert_eq!(data["actual"], 65_538);
    socket.refused(-32602, "thread/agents_doc/save", save("a\0b".to_owned())).await;
    let history = socket.ok("thread/agents_doc/history", world.with(json!({}))).await;
    assert_eq!(history["revisions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_conflict_names_both_versions() {
    let (_gateway, world, mut socket) = start().await;
    let save = |text: &str, expected: Option<u64>| match expected {
        Some(expected) => world.with(json!({ "content": text, "expected_version": expected })),
        None => world.with(json!({ "content": text })),
    };
    // A version is expected, but there is no document.
    let data = socket.refused(-32009, "thread/agents_doc/save", save("a", Some(3))).await;
    assert_eq!((&data["expected"], &data["actual"]), (&json!(3), &json!(0)));
    assert!(data.get("current").is_none());

    let first = socket.ok("thread/agents_doc/save", save("a", Some(0))).await["doc"].clone();
    // No document is expected, but there is one.
    let data = socket.refused(-32009, "thread/agents_doc/save", save("b", Some(0))).await;
    assert_eq!((&data["expected"], &data["actual"], &data["current"]), (&json!(0), &json!(1), &first));

    let second = socket.ok("thread/agents_doc/save", save("b", Some(1))).await["doc"].clone();
    assert_eq!(second["version"], 2);
    let data = socket.refused(-32009, "thread/agents_doc/save", save("c", Some(1))).await;
    assert_eq!((&data["expected"], &data["actual"], &data["current"]), (&json!(1), &json!(2), &second));
    for (method, extra) in [("archive", json!({})), ("restore", json!({ "version": 1 }))] {
        let mut params = world.with(json!({ "expected_version": 1 }));
        params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let data = socket.refused(-32009, &format!("thread/agents_doc/{method}"), params).await;
        assert_eq!(data["current"], second, "{method}");
    }
    // A version that no document can have is only another mismatch.
    socket.refused(-32009, "thread/agents_doc/save", save("c", Some(u64::MAX))).await;
    assert_eq!(socket.ok("thread/agents_doc/save", save("c", None)).await["doc"]["version"], 3);
}

#[tokio::test]
async fn saving_the_same_text_again_changes_nothing_whatever_was_expected() {
    let (_gateway, world, mut socket) = start().await;
    let first = socket.ok("thread/agents_doc/save", world.with(json!({ "content": "a\n" }))).await;
    let tree = socket.ok("thread/tree", world.with(json!({}))).await;
    // A client that lost the answer to a save sends it again with the same expectation. It must get the answer of the
    // first attempt and not a conflict with itself.
    for expected in [0, 1, 7] {
        let again = world.with(json!({ "content": "\u{feff}a\r\n", "expected_version": expected }));
        assert_eq!(socket.ok("thread/agents_doc/save", again).await, first, "{expected}");
    }
    assert_eq!(socket.ok("thread/tree", world.with(json!({}))).await, tree);
}

#[tokio::test]
async fn explicit_is_the_scopes_own_and_effective_the_nearest_active() {
    let (_gateway, world, mut socket) = start().await;
    let root = world.with(json!({}));
    let folder = world.with(json!({ "folder_id": world.folder }));
    let thread = world.with(json!({ "thread_id": world.thread }));
    for params in [&root, &folder] {
        assert_eq!(socket.ok("thread/agents_doc/get", params).await, json!({}));
        assert_eq!(socket.ok("thread/agents_doc/resolve_for_folder", params).await, json!({}));
    }
    assert_eq!(socket.ok("thread/agents_doc/resolve_for_thread", &thread).await, json!({}));

    let saved =
        socket.ok("thread/agents_doc/save", world.with(json!({ "content": "root" }))).await["doc"].clone();
    let got = socket.ok("thread/agents_doc/get", &folder).await;
    assert!(got.get("explicit").is_none());
    let effective = &got["effective"];
    assert_eq!((&effective["doc"], &effective["inherited"]), (&saved, &json!(true)));
    assert_eq!(effective["source_path"], json!([]));
    assert!(effective.get("source_folder_id").is_none());
    assert_eq!(effective["resolved_for_folder_id"], world.folder.as_str());
    assert!(is_wire_time(&effective["resolved_at"]));
    let at_root = socket.ok("thread/agents_doc/get", &root).await;
    assert_eq!((&at_root["explicit"], &at_root["effective"]["inherited"]), (&saved, &json!(false)));
    assert!(at_root["effective"].get("resolved_for_folder_id").is_none());

    let own = world.with(json!({ "folder_id": world.folder, "content": "own" }));
    let own = socket.ok("thread/agents_doc/save", own).await["doc"].clone();
    for (method, params) in [("resolve_for_folder", &folder), ("resolve_for_thread", &thread)] {
        let effective = socket.ok(&format!("thread/agents_doc/{method}"), params).await["effective"].clone();
        assert_eq!((&effective["doc"], &effective["inherited"]), (&own, &json!(false)), "{method}");
        assert_eq!(effective["source_folder_id"], world.folder.as_str());
        assert_eq!(effective["source_path"], json!(["folder"]));
    }
}

#[tokio::test]
async fn archiving_returns_the_new_effective_document() {
    let (_gateway, world, mut socket) = start().await;
    let scope = world.with(json!({ "folder_id": world.folder }));
    assert_eq!(socket.ok("thread/agents_doc/archive", &scope).await, json!({ "archived": false }));
    socket.ok("thread/agents_doc/save", world.with(json!({ "content": "root" }))).await;
    let own = world.with(json!({ "folder_id": world.folder, "content": "own" }));
    let first = socket.ok("thread/agents_doc/save", &own).await["doc"].clone();

    let archived = socket.ok("thread/agents_doc/archive", &scope).await;
    assert_eq!(
        (&archived["archived"], &archived["effective"]["doc"]["content"]),
        (&json!(true), &json!("root"))
    );
    let again = socket.ok("thread/agents_doc/archive", &scope).await;
    assert_eq!((&again["archived"], &again["effective"]["inherited"]), (&json!(false), &json!(true)));

    // A new document has another id, but the versions of the scope continue.
    let second = socket.ok("thread/agents_doc/save", &own).await["doc"].clone();
    assert_ne!(id(&second), id(&first));
    assert_eq!(second["version"], 3);
    let history = socket.ok("thread/agents_doc/history", &scope).await;
    let reasons: Vec<_> = history["revisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["save_reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["manual", "archive", "manual"]);
}

#[tokio::test]
async fn history_comes_in_pages_newest_first_and_without_texts() {
    let (_gateway, world, mut socket) = start().await;
    for number in 1..=60 {
        let reason = if number % 2 == 0 { "autosave" } else { "manual" };
        let save = world.with(json!({ "content": format!("text {number}"), "save_reason": reason }));
        socket.ok("thread/agents_doc/save", save).await;
    }
    let versions = |answer: &Value| -> Vec<u64> {
        answer["revisions"].as_array().unwrap().iter().map(|each| each["version"].as_u64().unwrap()).collect()
    };
    let page = socket.ok("thread/agents_doc/history", world.with(json!({}))).await;
    assert_eq!(versions(&page), (11..=60).rev().collect::<Vec<_>>(), "fifty unless asked otherwise");
    let newest = &page["revisions"][0];
    assert_eq!(
        members(newest),
        ["version", "content_sha256", "char_count", "saved_at", "saved_by", "save_reason"]
    );
    assert_eq!(newest["save_reason"], "autosave");
    assert!(is_wire_time(&newest["saved_at"]));
    let page = socket.ok("thread/agents_doc/history", world.with(json!({ "before": 11 }))).await;
    assert_eq!(versions(&page), (1..=10).rev().collect::<Vec<_>>());
    let page = socket.ok("thread/agents_doc/history", world.with(json!({ "before": 3, "limit": 1 }))).await;
    assert_eq!(versions(&page), [2]);
    for before in [0, 1] {
        let page = socket.ok("thread/agents_doc/history", world.with(json!({ "before": before }))).await;
        assert_eq!(versions(&page), [0; 0]);
    }
    let page =
        socket.ok("thread/agents_doc/history", world.with(json!({ "limit": 500, "before": u64::MAX }))).await;
    assert_eq!(versions(&page).len(), 60);
    for limit in [json!(0), json!(501), json!(-1), json!(1.5), json!("1")] {
        socket.refused(-32602, "thread/agents_doc/history", world.with(json!({ "limit": limit }))).await;
    }
}

#[tokio::test]
async fn restoring_a_revision_creates_a_version() {
    let (_gateway, world, mut socket) = start().await;
    for text in ["one", "two"] {
        socket.ok("thread/agents_doc/save", world.with(json!({ "content": text }))).await;
    }
    let revision = socket.ok("thread/agents_doc/revision", world.with(json!({ "version": 1 }))).await;
    assert_eq!(revision["revision"]["content"], "one");
    let restore = world.with(json!({ "version": 1, "expected_version": 2 }));
    let doc = socket.ok("thread/agents_doc/restore", &restore).await["doc"].clone();
    assert_eq!((&doc["content"], &doc["version"]), (&json!("one"), &json!(3)));
    let revision = socket.ok("thread/agents_doc/revision", world.with(json!({ "version": 3 }))).await;
    assert_eq!(revision["revision"]["save_reason"], "restore");
    for (method, version) in [("revision", 9), ("revision", 0), ("restore", 9)] {
        let method = format!("thread/agents_doc/{method}");
        let data = socket.refused(-32004, &method, world.with(json!({ "version": version }))).await;
        assert_eq!((&data["what"], &data["id"]), (&json!("revision"), &json!(version.to_string())));
    }
    // An archived document comes back by restoring one of its revisions.
    socket.ok("thread/agents_doc/archive", world.with(json!({}))).await;
    let doc =
        socket.ok("thread/agents_doc/restore", world.with(json!({ "version": 2 }))).await["doc"].clone();
    assert_eq!(
        (&doc["content"], &doc["version"], &doc["status"]),
        (&json!("two"), &json!(5), &json!("active"))
    );
}

#[tokio::test]
async fn every_method_names_an_unknown_scope() {
    let (gateway, world, mut socket) = start().await;
    let other = World::new(&gateway, "other").await;
    let deleted = World::grow(&gateway.owner_in_memory(), world.workspace.clone()).await.folder;
    socket.ok("thread/folder/delete", world.with(json!({ "folder_id": deleted }))).await;
    let methods = [
        ("get", json!({})),
        ("save", json!({ "content": "x" })),
        ("archive", json!({})),
        ("resolve_for_folder", json!({})),
        ("history", json!({})),
        ("revision", json!({ "version": 1 })),
        ("restore", json!({ "version": 1 })),
    ];
    for (method, extra) in methods {
        let method = format!("thread/agents_doc/{method}");
        let params = |workspace: &str, folder: &str| {
            let mut params = extra.clone();
            params["workspace_id"] = json!(workspace);
            params["folder_id"] = json!(folder);
            params
        };
        for folder in ["no-such-folder", &other.folder, &deleted] {
            // The history of a deleted folder's document stays readable.
            if folder == deleted && method.ends_with("/history") {
                socket.ok(&method, params(&world.workspace, folder)).await;
                continue;
            }
            if folder == deleted && method.ends_with("/revision") {
                let data = socket.refused(-32004, &method, params(&world.workspace, folder)).await;
                assert_eq!(data["what"], "revision");
                continue;
            }
            let data = socket.refused(-32004, &method, params(&world.workspace, folder)).await;
            assert_eq!((&data["what"], &data["id"]), (&json!("folder"), &json!(folder)), "{method}");
        }
        let data = socket.refused(-32004, &method, params("no-such-workspace", &world.folder)).await;
        assert_eq!(
            (&data["what"], &data["id"]),
            (&json!("workspace"), &json!("no-such-workspace")),
            "{method}"
        );
        for (workspace, folder) in
            [("", world.folder.as_str()), (&world.workspace, " "), (&world.workspace, "")]
        {
            socket.refused(-32602, &method, params(workspace, folder)).await;
        }
    }
    for (thread, code) in [(other.thread.as_str(), -32004), ("no-such-thread", -32004), ("", -32602)] {
        let params = world.with(json!({ "thread_id": thread }));
        socket.refused(code, "thread/agents_doc/resolve_for_thread", params).await;
    }
}
