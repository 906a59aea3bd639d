//! `--format json`: one object a command on standard output, and nothing anywhere else.

use serde_json::{Value, json};

use crate::support::Machine;

#[track_caller]
fn object(machine: &Machine, words: &str) -> Value {
    let said = machine.run(&format!("{words} --format json"));
    assert_eq!(said.code, Some(0), "{said:?}");
    said.object()
}

#[test]
fn every_command_answers_with_what_the_protocol_answers() {
    let machine = Machine::new();
    let _server = machine.serve();
    assert_eq!(object(&machine, "workspace list"), json!({ "workspaces": [] }));
    let workspace = object(&machine, "workspace create demo")["workspace"].clone();
    assert_eq!(workspace["name"], "demo");
    assert_eq!(object(&machine, "workspace get"), json!({ "workspace": workspace }));
    assert_eq!(object(&machine, "workspace update demo --name team")["workspace"]["name"], "team");

    assert_eq!(object(&machine, "folder list"), json!({ "folders": [] }));
    let folder = object(&machine, "folder create services")["folder"].clone();
    assert_eq!(object(&machine, "folder get services"), json!({ "folder": folder }));
    assert_eq!(object(&machine, "folder list"), json!({ "folders": [folder] }));
    assert_eq!(object(&machine, "folder rename services api")["folder"]["name"], "api");
    assert_eq!(object(&machine, "folder move api /")["folder"]["id"], folder["id"]);

    let thread = object(&machine, "thread create Deep --folder api")["thread"].clone();
    let id = thread["id"].as_str().unwrap();
    assert_eq!(object(&machine, &format!("thread get {id}")), json!({ "thread": thread }));
    assert_eq!(object(&machine, &format!("thread rename {id} Flat"))["thread"]["title"], "Flat");
    assert_eq!(object(&machine, &format!("thread move {id} /"))["thread"]["id"], thread["id"]);
    let tree = object(&machine, "thread tree");
    assert_eq!((&tree["folders"][0]["name"], &tree["threads"][0]["id"]), (&json!("api"), &thread["id"]));
    assert!(object(&machine, &format!("thread archive {id}"))["thread"]["archived_at"].is_string());
    assert_eq!(object(&machine, "folder delete api"), json!({ "deleted": true }));

    let token = object(&machine, "token create bob --role reader");
    assert_eq!((&token["token"]["name"], token["secret"].is_string()), (&json!("bob"), true));
    assert_eq!(object(&machine, "token list")["tokens"].as_array().unwrap().len(), 2);
    assert!(object(&machine, "token revoke bob")["token"]["revoked_at"].is_string());
}

#[test]
fn document_commands_answer_with_documents() {
    let (machine, _server) = Machine::with_workspace();
    machine.write("project/text.md", "text");
    let saved = object(&machine, "doc save text.md");
    assert_eq!((&saved["doc"]["version"], &saved["warnings"]), (&json!(1), &json!([])));
    assert_eq!(object(&machine, "doc get")["explicit"], saved["doc"]);
    let effective = object(&machine, "doc effective")["effective"].clone();
    assert_eq!((&effective["doc"], &effective["inherited"]), (&saved["doc"], &json!(false)));
    machine.write("project/text.md", "other");
    object(&machine, "doc save --force text.md");
    assert_eq!(object(&machine, "doc history")["revisions"][0]["version"], 2);
    assert_eq!(
        object(&machine, "doc diff"),
        json!({
            "from": 1,
            "to": 2,
            "diff": "--- version 1\n+++ version 2\n@@ -1 +1 @@\n-text\n\\ No newline at end of file\n+other\n\
                     \\ No newline at end of file\n",
        })
    );
    assert_eq!(object(&machine, "doc restore 1")["doc"]["version"], 3);
    assert_eq!(object(&machine, "doc archive")["archived"], true);
    // The answer "no" is an answer.
    for (words, answer) in
        [("doc archive", json!({ "archived": false })), ("doc get", json!({})), ("doc effective", json!({}))]
    {
        let said = machine.run(&format!("{words} --format json"));
        assert_eq!((said.code, said.object()), (Some(1), answer), "{words}");
    }
}

#[test]
fn errors_are_objects_on_standard_error() {
    let (machine, server) = Machine::with_workspace();
    let error = machine.run("doc restore 9 --format json").error(2);
    assert_eq!(
        error,
        json!({
            "message": "there is no revision `9`",
            "hint": "list revisions with `foreword doc history`",
            "data": { "kind": "not_found", "what": "revision", "id": "9" },
        })
    );
    machine.run_with("doc save", "text").done();
    let error = machine.run_with("--format json doc save --expected-version 7", "other").error(1);
    let data = &error["data"];
    assert_eq!(
        (&data["kind"], &data["expected"], &data["actual"]),
        (&json!("version_conflict"), &json!(7), &json!(1))
    );
    assert_eq!(data["current"]["content"], "text");
    assert_eq!(
        machine.run("folder get x --format json").error(2),
        json!({
            "message": "there is no folder `x`",
            "hint": "list folders with `foreword folder list`",
        })
    );
    drop(server);
    let error = machine.run("workspace list --format json").error(3);
    assert!(error["hint"].as_str().unwrap().starts_with("start one with `foreword serve`"), "{error}");
}

#[test]
fn warnings_are_objects_on_standard_error() {
    let (machine, _server) = Machine::with_workspace();
    let mut command = machine.command("workspace list --format json");
    command.env("FOREWORD_WORKSPAC", "demo");
    let said = crate::support::finish(command, b"");
    assert_eq!(said.code, Some(0));
    assert_eq!(
        serde_json::from_str::<Value>(&said.err).unwrap(),
        json!({ "warning": {
            "message": "environment variable `FOREWORD_WORKSPAC` is unknown and has no effect",
            "hint": "the nearest known variable is `FOREWORD_WORKSPACE`",
        } })
    );
}
