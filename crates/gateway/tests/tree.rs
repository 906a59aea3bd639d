//! Workspaces, folders and threads over the wire: creation, moves, deletion and errors.

use protocol::Role;
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Socket, World, id, is_wire_time};

async fn start() -> (TestGateway, World, Socket) {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let socket = Socket::owner(&gateway).await;
    (gateway, world, socket)
}

async fn folder(socket: &mut Socket, world: &World, name: &str, parent: Option<&str>) -> String {
    let mut params = world.with(json!({ "name": name }));
    if let Some(parent) = parent {
        params["parent_folder_id"] = json!(parent);
    }
    id(&socket.ok("thread/folder/create", params).await["folder"])
}

#[tokio::test]
async fn a_client_learns_what_the_gateway_can_do() {
    let (_gateway, _, mut socket) = start().await;
    let params = json!({ "client": { "name": "editor", "version": "1.2" } });
    let answer = socket.ok("initialize", params).await;
    assert_eq!((&answer["protocol_version"], &answer["server"]["name"]), (&json!("1"), &json!("foreword")));
    let capabilities = &answer["capabilities"];
    assert_eq!(capabilities["methods"].as_array().unwrap().len(), protocol::method::METHODS.len());
    assert_eq!(capabilities["events"], true);
    assert_eq!(
        (&capabilities["max_message_bytes"], &capabilities["max_document_bytes"]),
        (&json!(1_048_576), &json!(65_536))
    );
    assert_eq!(socket.ok("initialize", json!({})).await, answer);
}

#[tokio::test]
async fn a_client_learns_the_limit_that_is_configured() {
    let gateway = TestGateway::start_with(|settings| settings.limits.message_bytes = 4096).await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    let capabilities = socket.ok("initialize", json!({})).await["capabilities"].clone();
    assert_eq!(capabilities["max_message_bytes"], 4096);
}

#[tokio::test]
async fn a_workspace_is_made_changed_and_listed() {
    let (_gateway, world, mut socket) = start().await;
    let made = socket.ok("workspace/create", json!({ "name": "second" })).await["workspace"].clone();
    assert!(made.get("root_path").is_none() && made.get("agents").is_none(), "{made}");
    assert!(is_wire_time(&made["created_at"]));
    let agents = json!({ "root": { "markers": [".git"] }, "initial": { "maxFiles": 3 } });
    let update = json!({ "workspace_id": made["id"], "root_path": "/srv/second", "agents": agents });
    let changed = socket.ok("workspace/update", update).await["workspace"].clone();
    assert_eq!(
        (&changed["name"], &changed["root_path"], &changed["agents"]),
        (&json!("second"), &json!("/srv/second"), &agents)
    );
    let got = socket.ok("workspace/get", json!({ "workspace_id": made["id"] })).await;
    assert_eq!(got["workspace"], changed);
    let listed = socket.ok("workspace/list", json!({})).await;
    let ids: Vec<String> = listed["workspaces"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids, [world.workspace, id(&made)]);
}

#[tokio::test]
async fn bad_workspaces_are_refused() {
    let (_gateway, world, mut socket) = start().await;
    for params in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": " \t" }),
        json!({ "name": "two\nlines" }),
        json!({ "name": "x".repeat(201) }),
        json!({ "name": "x", "root_path": "relative" }),
        json!({ "name": "x", "root_path": "/a\0b" }),
        json!({ "name": "x", "root_path": format!("/{}", "a".repeat(4_096)) }),
        json!({ "name": "x", "agents": { "initial": { "maxFiles": 0 } } }),
        json!({ "name": "x", "agents": { "initial": { "max_files": 1 } } }),
    ] {
        socket.refused(-32602, "workspace/create", &params).await;
        let mut update = params;
        update["workspace_id"] = json!(world.workspace);
        if update.get("name").is_some() {
            socket.refused(-32602, "workspace/update", update).await;
        }
    }
    for method in ["workspace/get", "workspace/update", "thread/tree"] {
        let data = socket.refused(-32004, method, json!({ "workspace_id": "nowhere" })).await;
        assert_eq!((&data["what"], &data["id"]), (&json!("workspace"), &json!("nowhere")));
    }
    assert_eq!(socket.ok("workspace/list", json!({})).await["workspaces"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_folder_is_made_renamed_moved_and_deleted() {
    let (_gateway, world, mut socket) = start().await;
    // Siblings may share a name: folders are identified by their ids.
    let inner = folder(&mut socket, &world, "same name", Some(&world.folder)).await;
    folder(&mut socket, &world, "same name", Some(&world.folder)).await;
    let got =
        socket.ok("thread/folder/get", world.with(json!({ "folder_id": inner }))).await["folder"].clone();
    assert_eq!((&got["parent_folder_id"], &got["name"]), (&json!(world.folder), &json!("same name")));
    assert!(is_wire_time(&got["created_at"]) && is_wire_time(&got["updated_at"]));
    let renamed = world.with(json!({ "folder_id": inner, "name": "new name" }));
    assert_eq!(socket.ok("thread/folder/rename", renamed).await["folder"]["name"], "new name");
    let moved =
        socket.ok("thread/folder/move", world.with(json!({ "folder_id": inner }))).await["folder"].clone();
    assert!(moved.get("parent_folder_id").is_none(), "at the root: {moved}");
    let deleted = socket.ok("thread/folder/delete", world.with(json!({ "folder_id": inner }))).await;
    assert_eq!(deleted, json!({ "deleted": true }));
}

#[tokio::test]
async fn a_folder_is_never_moved_below_itself() {
    let (_gateway, world, mut socket) = start().await;
    let child = folder(&mut socket, &world, "child", Some(&world.folder)).await;
    let grandchild = folder(&mut socket, &world, "grandchild", Some(&child)).await;
    let before = socket.ok("thread/tree", world.with(json!({}))).await;
    for below in [&world.folder, &child, &grandchild] {
        let params = world.with(json!({ "folder_id": world.folder, "parent_folder_id": below }));
        socket.refused(-32011, "thread/folder/move", params).await;
    }
    assert_eq!(socket.ok("thread/tree", world.with(json!({}))).await, before);
    // Moving to the current parent is neither an error nor a change.
    let params = world.with(json!({ "folder_id": child, "parent_folder_id": world.folder }));
    socket.ok("thread/folder/move", params).await;
    assert_eq!(socket.ok("thread/tree", world.with(json!({}))).await, before);
}

#[tokio::test]
async fn deleting_a_folder_moves_children_and_archives_its_document() {
    let (_gateway, world, mut socket) = start().await;
    let middle = folder(&mut socket, &world, "middle", Some(&world.folder)).await;
    let inner = folder(&mut socket, &world, "inner", Some(&middle)).await;
    let thread = world.with(json!({ "title": "t", "folder_id": middle }));
    let thread = id(&socket.ok("thread/create", thread).await["thread"]);
    let save = |folder: &str| world.with(json!({ "folder_id": folder, "content": folder }));
    socket.ok("thread/agents_doc/save", save(&world.folder)).await;
    socket.ok("thread/agents_doc/save", save(&middle)).await;

    socket.ok("thread/folder/delete", world.with(json!({ "folder_id": middle }))).await;
    let inner = socket.ok("thread/folder/get", world.with(json!({ "folder_id": inner }))).await;
    assert_eq!(inner["folder"]["parent_folder_id"], world.folder.as_str());
    let thread = world.with(json!({ "thread_id": thread }));
    assert_eq!(socket.ok("thread/get", &thread).await["thread"]["folder_id"], world.folder.as_str());
    let effective = socket.ok("thread/agents_doc/resolve_for_thread", &thread).await;
    assert_eq!(effective["effective"]["doc"]["content"], world.folder.as_str());
    let tree = socket.ok("thread/tree", world.with(json!({}))).await;
    assert_eq!(tree["agents_docs"].as_array().unwrap().len(), 1);

    socket.ok("thread/folder/delete", world.with(json!({ "folder_id": world.folder }))).await;
    assert!(socket.ok("thread/get", &thread).await["thread"].get("folder_id").is_none());
    assert_eq!(socket.ok("thread/agents_doc/resolve_for_thread", &thread).await, json!({}));
}

#[tokio::test]
async fn a_thread_is_made_renamed_moved_and_archived() {
    let (_gateway, world, mut socket) = start().await;
    let params = world.with(json!({ "title": "agent", "mode": "agent" }));
    let made = socket.ok("thread/create", params).await["thread"].clone();
    assert_eq!((&made["mode"], &made["title"]), (&json!("agent"), &json!("agent")));
    assert!(made.get("folder_id").is_none() && made.get("archived_at").is_none(), "{made}");
    let thread = id(&made);
    let renamed = world.with(json!({ "thread_id": thread, "title": "renamed" }));
    assert_eq!(socket.ok("thread/rename", renamed).await["thread"]["title"], "renamed");
    let moved = world.with(json!({ "thread_id": thread, "folder_id": world.folder }));
    assert_eq!(socket.ok("thread/move", moved).await["thread"]["folder_id"], world.folder.as_str());
    let moved = world.with(json!({ "thread_id": thread }));
    assert!(socket.ok("thread/move", moved).await["thread"].get("folder_id").is_none());

    let params = world.with(json!({ "thread_id": thread }));
    let archived = socket.ok("thread/archive", &params).await["thread"].clone();
    assert!(is_wire_time(&archived["archived_at"]));
    // Archiving again changes nothing, not even the time, so that a client may repeat a call whose answer was lost.
    assert_eq!(socket.ok("thread/archive", &params).await["thread"], archived);
    assert_eq!(socket.ok("thread/get", &params).await["thread"], archived);
    socket.refused(-32011, "thread/rename", world.with(json!({ "thread_id": thread, "title": "x" }))).await;
    socket.refused(-32011, "thread/move", &params).await;
    let tree = socket.ok("thread/tree", world.with(json!({}))).await;
    assert!(tree["threads"].as_array().unwrap().iter().all(|each| each["id"] != thread.as_str()));
}

#[tokio::test]
async fn the_tree_has_summaries_and_no_texts() {
    let (_gateway, world, mut socket) = start().await;
    let inner = folder(&mut socket, &world, "inner", Some(&world.folder)).await;
    socket.ok("thread/create", world.with(json!({ "title": "at the root" }))).await;
    let text = "SECRET-TEXT-OF-THE-DOCUMENT";
    let doc =
        socket.ok("thread/agents_doc/save", world.with(json!({ "folder_id": inner, "content": text }))).await;
    let tree = socket.ok("thread/tree", world.with(json!({}))).await;
    // Trees are large and requested often. Texts in them would also reach clients that only show titles.
    assert!(!tree.to_string().contains(text));
    assert_eq!((&tree["workspace_id"], &tree["seq"]), (&json!(world.workspace), &json!(7)));
    let names = |key: &str, field: &str| -> Vec<Value> {
        tree[key].as_array().unwrap().iter().map(|each| each[field].clone()).collect()
    };
    assert_eq!(names("folders", "name"), ["folder", "inner"]);
    assert_eq!(names("threads", "title"), ["thread", "at the root"]);
    assert_eq!(tree["placements"], json!([{ "thread_id": world.thread, "folder_id": world.folder }]));
    let summary = &tree["agents_docs"][0];
    for field in
        ["id", "workspace_id", "folder_id", "status", "content_sha256", "version", "char_count", "updated_at"]
    {
        assert_eq!(summary[field], doc["doc"][field], "{field}");
    }
    assert_eq!(summary.as_object().unwrap().len(), 8, "{summary}");
}

#[tokio::test]
async fn folders_and_threads_that_do_not_exist_here_are_named() {
    let (gateway, world, mut socket) = start().await;
    let other = World::new(&gateway, "other").await;
    let deleted = folder(&mut socket, &world, "deleted", None).await;
    socket.ok("thread/folder/delete", world.with(json!({ "folder_id": deleted }))).await;
    let before = socket.ok("thread/tree", world.with(json!({}))).await;
    for missing in ["no-such-folder", &other.folder, &deleted] {
        for (method, params) in [
            ("thread/folder/get", json!({ "folder_id": missing })),
            ("thread/folder/rename", json!({ "folder_id": missing, "name": "x" })),
            ("thread/folder/move", json!({ "folder_id": missing })),
            ("thread/folder/move", json!({ "folder_id": world.folder, "parent_folder_id": missing })),
            ("thread/folder/delete", json!({ "folder_id": missing })),
            ("thread/folder/create", json!({ "parent_folder_id": missing, "name": "x" })),
            ("thread/create", json!({ "folder_id": missing, "title": "x" })),
            ("thread/move", json!({ "thread_id": world.thread, "folder_id": missing })),
        ] {
            let data = socket.refused(-32004, method, world.with(params)).await;
            assert_eq!((&data["what"], &data["id"]), (&json!("folder"), &json!(missing)), "{method}");
        }
    }
    for missing in ["no-such-thread", &other.thread] {
        for method in ["thread/get", "thread/rename", "thread/move", "thread/archive"] {
            let mut params = world.with(json!({ "thread_id": missing }));
            if method == "thread/rename" {
                params["title"] = json!("x");
            }
            let data = socket.refused(-32004, method, params).await;
            assert_eq!((&data["what"], &data["id"]), (&json!("thread"), &json!(missing)), "{method}");
        }
    }
    assert_eq!(socket.ok("thread/tree", world.with(json!({}))).await, before, "nothing was half-written");
}

#[tokio::test]
async fn in_an_unknown_workspace_the_workspace_is_what_is_missing() {
    let (_gateway, world, mut socket) = start().await;
    for (method, mut params) in [
        ("thread/folder/create", json!({ "name": "x" })),
        ("thread/folder/get", json!({ "folder_id": world.folder })),
        ("thread/folder/rename", json!({ "folder_id": world.folder, "name": "x" })),
        ("thread/folder/move", json!({ "folder_id": world.folder })),
        ("thread/folder/delete", json!({ "folder_id": world.folder })),
        ("thread/create", json!({ "title": "x" })),
        ("thread/get", json!({ "thread_id": world.thread })),
        ("thread/rename", json!({ "thread_id": world.thread, "title": "x" })),
        ("thread/move", json!({ "thread_id": world.thread })),
        ("thread/archive", json!({ "thread_id": world.thread })),
        ("thread/agents_doc/resolve_for_thread", json!({ "thread_id": world.thread })),
        ("events/subscribe", json!({})),
        ("events/unsubscribe", json!({})),
    ] {
        params["workspace_id"] = json!("nowhere");
        let data = socket.refused(-32004, method, params).await;
        assert_eq!((&data["what"], &data["id"]), (&json!("workspace"), &json!("nowhere")), "{method}");
    }
}

#[tokio::test]
async fn blank_names_and_ids_are_refused() {
    let (_gateway, world, mut socket) = start().await;
    for blank in ["", " ", "\u{3000}", "a\u{0}b", "line\nend"] {
        for (method, params) in [
            ("thread/folder/create", json!({ "name": blank })),
            ("thread/folder/rename", json!({ "folder_id": world.folder, "name": blank })),
            ("thread/create", json!({ "title": blank })),
            ("thread/rename", json!({ "thread_id": world.thread, "title": blank })),
            ("thread/folder/get", json!({ "folder_id": blank })),
            ("thread/folder/create", json!({ "parent_folder_id": blank, "name": "x" })),
            ("thread/create", json!({ "folder_id": blank, "title": "x" })),
            ("thread/get", json!({ "thread_id": blank })),
        ] {
            socket.refused(-32602, method, world.with(params)).await;
        }
        socket.refused(-32602, "thread/tree", json!({ "workspace_id": blank })).await;
    }
}

/// Titles of threads, names of folders, and what is left out, of a part of a tree.
fn outline(tree: &Value) -> (Vec<&str>, Vec<&str>, Vec<Value>) {
    let names = |key: &str, field: &str| -> Vec<&str> {
        tree[key].as_array().unwrap().iter().map(|each| each[field].as_str().unwrap()).collect()
    };
    let more = tree.get("more").map(|more| more.as_array().unwrap().clone()).unwrap_or_default();
    (names("folders", "name"), names("threads", "title"), more)
}

#[tokio::test]
async fn a_partial_tree_lists_omissions() {
    let (_gateway, world, mut socket) = start().await;
    let inner = folder(&mut socket, &world, "inner", Some(&world.folder)).await;
    let innermost = folder(&mut socket, &world, "innermost", Some(&inner)).await;
    folder(&mut socket, &world, "beside", None).await;
    for (title, place) in
        [("r1", None), ("r2", None), ("i1", Some(&inner)), ("i2", Some(&inner)), ("d1", Some(&innermost))]
    {
        let mut params = world.with(json!({ "title": title }));
        if let Some(place) = place {
            params["folder_id"] = json!(place);
        }
        socket.ok("thread/create", params).await;
    }
    for place in [&inner, &innermost] {
        let save = world.with(json!({ "folder_id": place, "content": "text" }));
        socket.ok("thread/agents_doc/save", save).await;
    }
    let whole = socket.ok("thread/tree", world.with(json!({}))).await;
    assert_eq!(outline(&whole).2, Vec::<Value>::new());
    let deep = socket.ok("thread/tree", world.with(json!({ "depth": 9, "thread_limit": 9 }))).await;
    assert_eq!(deep, whole, "a part that leaves nothing out is the whole");

    for (params, folders, threads, more) in [
        (json!({ "depth": 0 }), vec![], vec!["r1", "r2"], vec![json!({ "threads": 0, "folders": 2 })]),
        (
            json!({ "depth": 1, "thread_limit": 1 }),
            vec!["folder", "beside"],
            vec!["thread", "r1"],
            vec![json!({ "threads": 1 }), json!({ "folder_id": world.folder, "threads": 0, "folders": 1 })],
        ),
        (
            json!({ "folder_id": inner, "thread_limit": 1 }),
            vec!["innermost"],
            vec!["i1", "d1"],
            vec![json!({ "folder_id": inner, "threads": 1 })],
        ),
        (
            json!({ "folder_id": inner, "depth": 0, "thread_limit": 0 }),
            vec![],
            vec![],
            vec![json!({ "folder_id": inner, "threads": 2, "folders": 1 })],
        ),
        (json!({ "folder_id": innermost }), vec![], vec!["d1"], vec![]),
    ] {
        let part = socket.ok("thread/tree", world.with(params.clone())).await;
        assert_eq!(outline(&part), (folders, threads, more), "{params}");
        assert_eq!(part["seq"], whole["seq"]);
        let placed = part["placements"].as_array().unwrap();
        let is_shown =
            |id: &Value| part["threads"].as_array().unwrap().iter().any(|thread| thread["id"] == *id);
        assert!(placed.iter().all(|placement| is_shown(&placement["thread_id"])), "{params}");
    }
    let part = socket.ok("thread/tree", world.with(json!({ "folder_id": inner, "depth": 0 }))).await;
    let documents: Vec<&Value> =
        part["agents_docs"].as_array().unwrap().iter().map(|doc| &doc["folder_id"]).collect();
    assert_eq!(documents, [&json!(inner)]);
    let data = socket.refused(-32004, "thread/tree", world.with(json!({ "folder_id": "nowhere" }))).await;
    assert_eq!((&data["what"], &data["id"]), (&json!("folder"), &json!("nowhere")));
    socket.refused(-32602, "thread/tree", world.with(json!({ "depth": -1 }))).await;
}

#[tokio::test]
async fn threads_of_a_folder_are_paged() {
    let (_gateway, world, mut socket) = start().await;
    for number in 0..5 {
        let params = json!({ "title": format!("t{number}"), "folder_id": world.folder });
        socket.ok("thread/create", world.with(params)).await;
    }
    let archived = world.with(json!({ "thread_id": world.thread }));
    socket.ok("thread/archive", archived).await;
    // Neither the archived thread nor one of another folder may appear on the pages.
    let at_the_root = socket.ok("thread/create", world.with(json!({ "title": "root" }))).await;
    let mut titles = Vec::new();
    let mut params = json!({ "folder_id": world.folder, "limit": 2 });
    let mut sizes = Vec::new();
    loop {
        let page = socket.ok("thread/list", world.with(params.clone())).await;
        let threads = page["threads"].as_array().unwrap();
        sizes.push(threads.len());
        titles.extend(threads.iter().map(|thread| thread["title"].as_str().unwrap().to_owned()));
        let Some(next) = page.get("next") else { break };
        params["after"] = next.clone();
    }
    assert_eq!((titles.join(" ").as_str(), sizes), ("t0 t1 t2 t3 t4", vec![2, 2, 1]));
    let root = socket.ok("thread/list", world.with(json!({ "limit": 1 }))).await;
    assert_eq!((&root["threads"][0]["id"], root.get("next")), (&at_the_root["thread"]["id"], None));
    for limit in [json!(0), json!(1_001), json!(null)] {
        socket.refused(-32602, "thread/list", world.with(json!({ "limit": limit }))).await;
    }
    let nowhere = world.with(json!({ "folder_id": "nowhere", "limit": 1 }));
    socket.refused(-32004, "thread/list", nowhere).await;
}

#[tokio::test]
async fn a_deleted_folder_is_listed_read_and_restored() {
    let (gateway, world, mut socket) = start().await;
    let outer = folder(&mut socket, &world, "outer", None).await;
    let inner = folder(&mut socket, &world, "inner", Some(&outer)).await;
    let scope = world.with(json!({ "folder_id": inner }));
    socket.ok("thread/agents_doc/save", world.with(json!({ "folder_id": inner, "content": "SECRET" }))).await;
    for title in ["one", "two"] {
        socket.ok("thread/create", world.with(json!({ "folder_id": inner, "title": title }))).await;
    }
    folder(&mut socket, &world, "innermost", Some(&inner)).await;
    socket.ok("thread/folder/delete", &scope).await;
    socket.ok("thread/folder/delete", world.with(json!({ "folder_id": outer }))).await;

    let token = gateway.token("reader", Role::Reader, Some(world.workspace.parse().unwrap())).await.unwrap();
    let mut reader = Socket::connect(&gateway, &token).await;
    let listed = reader.ok("thread/folder/deleted", world.with(json!({}))).await;
    assert!(!listed.to_string().contains("SECRET"));
    let listed = listed["folders"].as_array().unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["name"]), (&json!(outer), &json!("outer")));
    assert!(listed[0].get("doc").is_none() && listed[0].get("parent_folder_id").is_none());
    assert_eq!((&listed[1]["id"], &listed[1]["parent_folder_id"]), (&json!(inner), &json!(outer)));
    assert_eq!((&listed[1]["doc"]["status"], &listed[1]["doc"]["version"]), (&json!("archived"), &json!(2)));
    assert!(is_wire_time(&listed[1]["deleted_at"]));
    let history = reader.ok("thread/agents_doc/history", &scope).await;
    assert_eq!(history["revisions"].as_array().unwrap().len(), 2);
    let revision = world.with(json!({ "folder_id": inner, "version": 1 }));
    assert_eq!(reader.ok("thread/agents_doc/revision", &revision).await["revision"]["content"], "SECRET");
    reader.refused(-32004, "thread/agents_doc/get", &scope).await;
    reader.refused(-32004, "thread/folder/get", &scope).await;
    reader.refused(-32003, "thread/folder/restore", &scope).await;

    let restored = socket.ok("thread/folder/restore", &scope).await;
    assert!(restored["folder"].get("parent_folder_id").is_none(), "{restored}");
    assert_eq!((&restored["doc"]["content"], &restored["doc"]["version"]), (&json!("SECRET"), &json!(3)));
    let codes: Vec<&Value> =
        restored["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["contents_moved", "parent_deleted"]);
    assert_eq!(
        restored["warnings"][0]["message"],
        "what was in it when it was deleted stays where it is now: 1 folder (`innermost`) and 2 threads (`one`, `two`)"
    );
    socket.refused(-32011, "thread/folder/restore", &scope).await;
    folder(&mut socket, &world, "outer", None).await;
    let restored = socket.ok("thread/folder/restore", world.with(json!({ "folder_id": outer }))).await;
    assert!(restored.get("doc").is_none(), "{restored}");
    assert_eq!(restored["warnings"][1]["code"], "name_repeats");
    assert_eq!(socket.ok("thread/folder/deleted", world.with(json!({}))).await, json!({ "folders": [] }));
    // The folder was empty, so there is no warning about its content.
    socket.ok("thread/folder/delete", world.with(json!({ "folder_id": outer }))).await;
    let restored = socket.ok("thread/folder/restore", world.with(json!({ "folder_id": outer }))).await;
    assert_eq!(restored["warnings"].as_array().unwrap().len(), 1, "{restored}");
    assert_eq!(restored["warnings"][0]["code"], "name_repeats");
    let unknown = world.with(json!({ "folder_id": protocol::FolderId::new() }));
    socket.refused(-32004, "thread/folder/restore", unknown).await;
    socket.refused(-32602, "thread/folder/deleted", world.with(json!({ "limit": 1 }))).await;
}
