//! The instructions of every directory a model touches reach it in time, and once.

use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Stage, texts};

const MONOREPO: &[(&str, &str)] = &[
    ("AGENTS.md", "RULE-ROOT-1"),
    ("services/a/AGENTS.md", "RULE-A-1"),
    ("services/a/main.rs", "old a"),
    ("services/b/AGENTS.md", "RULE-B-1"),
    ("services/b/main.rs", "old b"),
    ("services/b/deep/AGENTS.md", "RULE-DEEP-1"),
    ("services/b/deep/x.rs", "old x"),
];

fn edit(id: &str, path: &str, old: &str, new: &str) -> (String, &'static str, String) {
    let arguments = json!({ "path": path, "old_text": old, "new_text": new });
    (id.to_owned(), "edit_file", arguments.to_string())
}

fn read(id: &str, path: &str) -> (String, &'static str, String) {
    (id.to_owned(), "read_file", json!({ "path": path }).to_string())
}

fn calls(calls: impl IntoIterator<Item = (String, &'static str, String)>) -> Answer {
    calls
        .into_iter()
        .fold(Answer::empty(), |answer, (id, name, arguments)| answer.tool_call(&id, name, &arguments))
}

/// Every text that a request shows, in its order.
fn shown(body: &Value) -> String {
    let system =
        body["system"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap().to_owned());
    let messages = body["messages"].as_array().unwrap().iter().flat_map(texts);
    system.chain(messages).collect::<Vec<_>>().join("\n")
}

/// The calls of a turn that did what they were asked to, by their id.
fn done(answer: &Value) -> Vec<String> {
    let steps = answer["steps"].as_array().unwrap();
    let results = steps.iter().flat_map(|step| step["results"].as_array().into_iter().flatten());
    let done = results.filter(|result| result["is_error"] == false);
    done.map(|result| result["call_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_instruction_reaches_the_model_before_the_first_edit_in_its_scope_and_none_twice() {
    let mut stage = Stage::agent(MONOREPO).await;
    // From the root into services/a: the first edit is held back, the second runs.
    stage.model.answer(calls([edit("a1", "services/a/main.rs", "old a", "new a")]));
    stage.model.answer(calls([edit("a2", "services/a/main.rs", "old a", "new a")]));
    // Into services/b with two calls at once: the read announces, the edit waits although it announces nothing itself.
    stage.model.answer(calls([
        read("b1", "services/b/main.rs"),
        edit("b2", "services/b/main.rs", "old b", "new b"),
    ]));
    stage.model.answer(calls([edit("b3", "services/b/main.rs", "old b", "new b")]));
    stage.model.answer(Answer::text("Both are done."));
    let first = stage.ask("change both services").await;
    assert_eq!(done(&first), ["a2", "b1", "b3"]);

    // A file changes meanwhile: its new text is told before the next edit there.
    stage.model.answer_by({
        let (changed, mut round) = (stage.path("services/a/AGENTS.md"), 0);
        move |_| {
            round += 1;
            match round {
                1 => calls([read("c1", "services/a/main.rs")]),
                2 => {
                    std::fs::write(&changed, "RULE-A-2 is another rule").unwrap();
                    calls([edit("c2", "services/a/main.rs", "new a", "newer a")])
                }
                3 => calls([edit("c3", "services/a/main.rs", "new a", "newer a")]),
                _ => Answer::text("Changed again."),
            }
        }
    });
    let second = stage.ask("change a again").await;
    assert_eq!(done(&second), ["c1", "c3"]);

    // The session resumes elsewhere.
    stage.model.answer(calls([edit("d1", "x.rs", "old x", "new x")]));
    stage.model.answer(Answer::text("Deep change."));
    let third = stage.ask_with(json!({ "input": "go deep", "cwd": "services/b/deep" })).await;
    assert_eq!(done(&third), ["d1"]);
    let opening = &third["steps"][0];
    assert_eq!(opening["reminders"][0]["type"], "session.resume.diff");
    let diff = opening["reminders"][0]["text"].as_str().unwrap();
    for line in [
        format!(
            "- cwd: {} -> {}",
            stage.path("").join("").display(),
            stage.path("services/b/deep").display()
        ),
        format!("- {} (mtime: ", stage.path("services/b/deep/AGENTS.md").display()),
    ] {
        assert!(
            diff.contains(line.trim_end_matches('/')) || diff.contains(&line.replace("/ ->", " ->")),
            "{line} in {diff}"
        );
    }
    assert!(!diff.contains("services/a/AGENTS.md") && !diff.contains("services/b/AGENTS.md"), "{diff}");

    // Nothing has changed since: nothing is said again.
    stage.model.answer(Answer::text("Still here."));
    let fourth = stage.ask_with(json!({ "input": "anything new?", "cwd": "services/b/deep" })).await;
    assert!(fourth["steps"][0].get("reminders").is_none());

    // From the recorded requests: each rule is in the request whose answer edits in its scope …
    let bodies = stage.bodies();
    let scopes = [
        ("a2", &["RULE-ROOT-1", "RULE-A-1"][..]),
        ("b3", &["RULE-ROOT-1", "RULE-B-1"]),
        ("c3", &["RULE-ROOT-1", "RULE-A-1", "RULE-A-2"]),
        ("d1", &["RULE-ROOT-1", "RULE-B-1", "services/b/deep/AGENTS.md"]),
    ];
    for (call, rules) in scopes {
        // The request that was answered by the call is the last one that does not contain it.
        let asked =
            bodies.iter().take_while(|body| !body.to_string().contains(&format!("\"{call}\""))).last();
        for rule in rules {
            assert!(shown(asked.unwrap()).contains(rule), "{rule} before {call}");
        }
    }
    // … and none twice.
    let all = shown(bodies.last().unwrap());
    for rule in ["RULE-ROOT-1", "RULE-A-1", "RULE-B-1", "RULE-A-2"] {
        assert_eq!(all.matches(rule).count(), 1, "{rule} in {all}");
    }
    assert_eq!(stage.read("services/a/main.rs"), "newer a");
    assert_eq!(stage.read("services/b/main.rs"), "new b");
    assert_eq!(stage.read("services/b/deep/x.rs"), "new x");
}

#[tokio::test]
async fn parallel_calls_announce_a_file_once() {
    let mut stage = Stage::agent(MONOREPO).await;
    let reads = (0..8).map(|number| read(&format!("r{number}"), "services/a/main.rs"));
    stage.model.answer(calls(reads));
    stage.model.answer(Answer::text("Read."));
    let answer = stage.ask("read it eight times").await;
    assert_eq!(shown(&stage.last_body()).matches("RULE-A-1").count(), 1);
    let results = answer["steps"][2]["results"].as_array().unwrap();
    let announcing: Vec<bool> = results.iter().map(|result| result.get("reminders").is_some()).collect();
    assert_eq!(announcing.iter().filter(|announces| **announces).count(), 1);
    assert!(announcing[0], "the first call announces, whichever ends first");
}

#[tokio::test]
async fn what_a_failed_turn_told_is_told_again() {
    let mut stage = Stage::agent(MONOREPO).await;
    stage.model.answer(calls([read("1", "services/a/main.rs")]));
    stage.model.answer(Answer::wrong_key());
    stage.fail("read it").await;
    stage.model.answer(calls([edit("2", "services/a/main.rs", "old a", "new a")]));
    stage.model.answer(calls([edit("3", "services/a/main.rs", "old a", "new a")]));
    stage.model.answer(Answer::text("Done."));
    let answer = stage.ask("edit it").await;
    assert_eq!(done(&answer), ["3"]);
    assert_eq!(shown(&stage.last_body()).matches("RULE-A-1").count(), 1);
}

#[tokio::test]
async fn a_change_between_turns_is_told_once() {
    let mut stage = Stage::agent(MONOREPO).await;
    stage.model.answer(Answer::text("one"));
    let first = stage.ask("first").await;
    assert!(first["steps"][0].get("reminders").is_none());
    stage.write("AGENTS.md", "RULE-ROOT-2 is new");
    std::fs::remove_file(stage.path("services/a/AGENTS.md")).unwrap();
    let resume = stage.with(json!({ "thread_id": stage.thread }));
    let resumed = stage.socket.ok("session/resume", &resume).await;
    assert_eq!(resumed["reminder"]["type"], "session.resume.diff");
    stage.model.answer(Answer::text("two"));
    let second = stage.ask("second").await;
    assert_eq!(second["steps"][0]["reminders"][0], resumed["reminder"]);
    assert!(stage.socket.ok("session/resume", &resume).await.get("reminder").is_none());
    stage.model.answer(Answer::text("three"));
    let third = stage.ask("third").await;
    assert!(third["steps"][0].get("reminders").is_none());
    // The frozen start is frozen.
    assert_eq!(shown(&stage.last_body()).matches("RULE-ROOT-1").count(), 1);
    let session = stage.socket.ok("session/get", &resume).await["session"].clone();
    assert!(session["state"]["initial"]["text"].as_str().unwrap().contains("RULE-ROOT-1"));
}

#[tokio::test]
async fn an_explanation_says_how_each_file_was_delivered() {
    let mut stage = Stage::agent(MONOREPO).await;
    stage.model.answer(calls([read("1", "services/a/main.rs")]));
    stage.model.answer(Answer::text("Read."));
    stage.ask("read a").await;
    stage.model.answer(calls([read("2", "services/b/main.rs")]));
    stage.model.answer(Answer::text("Read."));
    let turn = stage.ask("read b").await["turn"]["id"].clone();
    let params = stage.with(json!({ "turn_id": turn }));
    let explained = stage.socket.ok("turn/explain", params).await["explanation"].clone();
    let files: Vec<(String, bool)> = explained["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let path = file["path"].as_str().unwrap();
            let path = path.rsplit_once("services/").map_or("root", |(_, rest)| rest);
            (format!("{path} {}", file["delivery"].as_str().unwrap()), file.get("turn_id").is_some())
        })
        .collect();
    let expected = [("root initial", false), ("a/AGENTS.md inline", true), ("b/AGENTS.md inline", false)];
    assert_eq!(files, expected.map(|(file, earlier)| (file.to_owned(), earlier)));
    let digests = explained["files"].as_array().unwrap().iter().map(|file| file["sha256"].as_str().unwrap());
    assert!(
        digests
            .eq(["RULE-ROOT-1", "RULE-A-1", "RULE-B-1"]
                .map(|text| protocol::ContentHash::of(text).to_string()))
    );
    assert_eq!(explained["tools"][0]["reminders"], json!(["agents.resolve.paths"]));
    assert_eq!(explained["rounds"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_command_waits_for_instructions_that_the_model_has_not_been_given() {
    let mut turns = crate::support::writing();
    turns.shell = Some(tools::ShellSettings { sandbox: tools::Sandbox::Off, ..Default::default() });
    let files = &[("AGENTS.md", "The first rules.")];
    let mut stage =
        Stage::set(crate::support::Setting { mode: "agent", files, turns, ..Default::default() }).await;
    let change = json!({ "command": "echo 'The later rules.' > AGENTS.md" }).to_string();
    let append = json!({ "command": "echo ran >> log" }).to_string();
    stage.model.answer(Answer::empty().tool_call("1", "shell", &change));
    stage.model.answer(Answer::empty().tool_call("2", "shell", &append));
    stage.model.answer(Answer::empty().tool_call("3", "shell", &append));
    stage.model.answer(Answer::text("done"));
    stage.ask("go").await;
    assert_eq!(stage.read("log"), "ran\n", "once held back, once run");
    let third = stage.bodies()[2]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(third.contains("this call did not run") && third.contains("The later rules."), "{third}");
}
