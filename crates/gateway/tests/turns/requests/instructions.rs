//! The instructions of every directory a model touches reach it in time, and once.

use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Setting, Stage, texts, unconfined_shell, until};
use crate::transcript::{self, SystemText};

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

/// Returns every text of a request, in order.
fn shown(body: &Value) -> String {
    let system =
        body["system"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap().to_owned());
    let messages = body["messages"].as_array().unwrap().iter().flat_map(texts);
    system.chain(messages).collect::<Vec<_>>().join("\n")
}

/// Returns the ids of the calls that succeeded.
fn done(answer: &Value) -> Vec<String> {
    let steps = answer["steps"].as_array().unwrap();
    let results = steps.iter().flat_map(|step| step["results"].as_array().into_iter().flatten());
    let done = results.filter(|result| result["is_error"] == false);
    done.map(|result| result["call_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_instruction_precedes_the_first_edit_in_its_scope() {
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

    // A file changes meanwhile, and its new text arrives before the next edit there.
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

    // Nothing has changed since, so nothing is repeated.
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
    // Parallel calls end in any order. A fixed place keeps the request, and with it the provider's cache, reproducible.
    assert!(announcing[0], "the first call announces, whichever ends first");
}

#[tokio::test]
async fn deliveries_of_a_failed_turn_are_repeated() {
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
async fn dropped_instructions_are_resent_for_held_back_calls() {
    let mut stage = Stage::agent(MONOREPO).await;
    stage.model.answer(calls([read("1", "services/b/deep/x.rs")]));
    stage.model.answer(Answer::text("read"));
    stage.ask("FIRST QUESTION").await;
    // The model has RULE-DEEP-1, and only a pointer to the new text of services/b, so the edit waits. Then the first
    // turn must be dropped.
    stage.write("services/b/AGENTS.md", &format!("RULE-B-2\n{}", "Mind the gap. ".repeat(450)));
    stage.model.answer(calls([edit("2", "services/b/deep/x.rs", "old x", "new x")]));
    stage.model.answer(Answer::context_too_long());
    stage.model.answer(Answer::text("SUMMARY"));
    stage.model.answer(Answer::text("done"));
    let answer = stage.ask("change it").await;
    assert!(done(&answer).is_empty());
    let last = shown(&stage.last_body());
    assert!(last.contains("SUMMARY") && !last.contains("FIRST QUESTION"), "{last}");
    for rule in ["RULE-B-2", "RULE-DEEP-1"] {
        assert_eq!(last.matches(rule).count(), 1, "{rule} in {last}");
    }
}

#[tokio::test]
async fn a_change_between_turns_is_announced_once() {
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
async fn an_explanation_lists_the_delivery_of_each_file() {
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

/// A stage whose agent may write and run commands without asking, and change instruction files.
async fn with_shell(files: &'static [(&'static str, &'static str)]) -> Stage {
    let mut turns = crate::support::writing();
    turns.shell = Some(unconfined_shell());
    turns.permissions.protected = tools::Permission::Allow;
    Stage::set(Setting { mode: "agent", files, turns, ..Default::default() }).await
}

fn shell(id: &str, command: &str) -> Answer {
    Answer::empty().tool_call(id, "shell", &json!({ "command": command }).to_string())
}

/// Returns the last message of a request as text.
fn last_message(body: &Value) -> String {
    texts(body["messages"].as_array().unwrap().last().unwrap()).join("\n")
}

#[tokio::test]
async fn a_command_waits_for_undelivered_instructions() {
    let mut stage = with_shell(&[("AGENTS.md", "The first rules.")]).await;
    let file = stage.path("AGENTS.md");
    let mut round = 0;
    stage.model.answer_by(move |_| {
        round += 1;
        match round {
            1 => {
                std::fs::write(&file, "The later rules.").unwrap();
                shell("1", "echo ran >> log")
            }
            2 => shell("2", "echo ran >> log"),
            _ => Answer::text("done"),
        }
    });
    stage.ask("go").await;
    // Appending makes a command that ran twice visible.
    assert_eq!(stage.read("log"), "ran\n", "once held back, once run");
    let second = last_message(&stage.bodies()[1]);
    assert!(second.contains("this call did not run") && second.contains("The later rules."), "{second}");
}

#[tokio::test]
async fn a_command_waits_for_instructions_of_named_paths() {
    let mut stage = with_shell(MONOREPO).await;
    stage.model.answer(shell("1", "cd services/a && echo x >> log; cat ../b/main.rs nowhere/at/all"));
    stage.model.answer(shell("2", "cd services/a && echo x >> log"));
    stage.model.answer(Answer::text("done"));
    stage.ask("go").await;
    assert_eq!(stage.read("services/a/log"), "x\n");
    let second = last_message(&stage.bodies()[1]);
    assert!(second.contains("this call did not run") && second.contains("RULE-A-1"), "{second}");
    assert!(!second.contains("RULE-B-1"), "what follows a change of directory cannot be known");
    // The file to be created is below an existing directory, whose instructions apply.
    stage.model.answer(shell("3", "echo x > services/b/new"));
    stage.model.answer(Answer::text("waits"));
    stage.ask("more").await;
    let held = last_message(&stage.last_body());
    assert!(held.contains("this call did not run") && held.contains("RULE-B-1"), "{held}");
    assert!(!stage.path("services/b/new").exists());
}

#[tokio::test]
async fn instructions_changed_by_a_command_follow_its_result() {
    let mut stage = with_shell(MONOREPO).await;
    stage.model.answer(shell("1", "for d in a b; do echo RULE-$d-2 > services/$d/AGENTS.md; done"));
    stage.model.answer(shell("2", "rm -r services/b"));
    stage.model.answer(shell("3", "rm -r services/b"));
    stage.model.answer(Answer::text("done"));
    stage.ask("go").await;
    let second = last_message(&stage.bodies()[1]);
    assert!(second.contains("RULE-a-2") && second.contains("RULE-b-2"), "{second}");
    let removed = format!("- {} (deleted)", stage.path("services/b/AGENTS.md").display());
    let all = shown(&stage.last_body());
    assert!(all.contains(&removed), "{all}");
    assert!(!all.contains("Read and apply these files"), "{all}");
    transcript::check(&stage, "06-shell-changes-instructions", SystemText::Headings);
}

#[tokio::test]
async fn a_search_delivers_instructions_of_its_matches() {
    let mut stage = Stage::agent(MONOREPO).await;
    stage.model.answer(Answer::empty().tool_call("1", "search", r#"{"pattern":"old b"}"#));
    stage.model.answer(calls([edit("2", "services/b/main.rs", "old b", "new b")]));
    stage.model.answer(Answer::text("done"));
    let answer = stage.ask("find it").await;
    let second = last_message(&stage.bodies()[1]);
    assert!(second.contains("services/b/main.rs:1:old b") && second.contains("RULE-B-1"), "{second}");
    assert!(!second.contains("RULE-A-1") && !second.contains("RULE-DEEP"), "{second}");
    assert_eq!(done(&answer), ["1", "2"]);
    assert_eq!(shown(&stage.last_body()).matches("RULE-B-1").count(), 1);
    transcript::check(&stage, "06-search", SystemText::Headings);
}

#[tokio::test]
async fn a_chat_gets_changed_instructions_with_text() {
    let files = &[("AGENTS.md", "RULE-ROOT-1")];
    let mut stage = Stage::set(Setting { files, ..Default::default() }).await;
    stage.model.answer(Answer::text("one"));
    stage.ask("first").await;
    let long = format!("RULE-ROOT-2\n{}", "Mind the gap. ".repeat(600));
    stage.write("AGENTS.md", &long);
    stage.model.answer(Answer::text("two"));
    stage.ask("second").await;
    let opening = last_message(&stage.last_body());
    assert!(opening.contains("Its text follows; it applies to this scope."), "{opening}");
    assert!(opening.contains("RULE-ROOT-2") && opening.contains(long.trim_end()), "{opening}");
    assert!(!opening.contains("Read and apply"), "{opening}");
    stage.model.answer(Answer::text("three"));
    stage.ask("third").await;
    assert_eq!(shown(&stage.last_body()).matches("RULE-ROOT-2").count(), 1);
    transcript::check(&stage, "03-chat-gets-changed-text", SystemText::Headings);
}

#[tokio::test]
async fn an_announced_file_holds_back_later_writes() {
    let mut stage = Stage::agent(&[("AGENTS.md", "root"), ("a/main.rs", "old")]).await;
    stage.write("a/AGENTS.md", &format!("RULE-LONG\n{}", "Mind the gap. ".repeat(450)));
    stage.model.answer(calls([read("1", "a/main.rs")]));
    stage.model.answer(Answer::text("read"));
    stage.ask("look").await;
    let first = shown(&stage.last_body());
    assert!(first.contains("a/AGENTS.md (mtime: ") && !first.contains("RULE-LONG"), "{first}");
    stage.model.answer(calls([edit("2", "main.rs", "old", "new")]));
    stage.model.answer(calls([edit("3", "main.rs", "old", "new")]));
    stage.model.answer(Answer::text("edited"));
    let answer = stage.ask_with(json!({ "input": "change it", "cwd": "a" })).await;
    assert_eq!(done(&answer), ["3"]);
    assert_eq!(shown(&stage.last_body()).matches("RULE-LONG").count(), 1);
    transcript::check(&stage, "04-pointer-is-not-delivery", SystemText::Headings);
}

#[tokio::test]
async fn reading_an_instruction_file_delivers_it() {
    let mut stage = Stage::agent(&[("AGENTS.md", "root"), ("a/main.rs", "old")]).await;
    stage.write("a/AGENTS.md", &format!("RULE-LONG\n{}", "Mind the gap. ".repeat(450)));
    // Reading a part must not count as delivery, because the rest may hold the rule that matters.
    let part = json!({ "path": "a/AGENTS.md", "limit": 1 }).to_string();
    stage.model.answer(Answer::empty().tool_call("1", "read_file", &part));
    stage.model.answer(calls([read("2", "a/AGENTS.md")]));
    stage.model.answer(calls([edit("3", "a/main.rs", "old", "new")]));
    stage.model.answer(Answer::text("edited"));
    let answer = stage.ask("read, then change").await;
    assert_eq!(done(&answer), ["1", "2", "3"]);
    let bodies = stage.bodies();
    assert!(
        last_message(&bodies[1]).contains("Read and apply these files"),
        "one line of it is not all of it"
    );
    assert!(!last_message(&bodies[2]).contains("system-reminder"), "{}", last_message(&bodies[2]));
    let params = stage.with(json!({ "turn_id": answer["turn"]["id"] }));
    let explained = stage.socket.ok("turn/explain", params).await["explanation"].clone();
    let deliveries =
        explained["files"].as_array().unwrap().iter().map(|file| file["delivery"].as_str().unwrap());
    assert_eq!(deliveries.collect::<Vec<_>>(), ["initial", "pointer", "read"], "{explained:#}");
    // The delivery still counts in a later turn.
    stage.model.answer(calls([edit("4", "a/main.rs", "new", "newer")]));
    stage.model.answer(Answer::text("edited again"));
    let answer = stage.ask_with(json!({ "input": "again", "cwd": "a" })).await;
    let answer = answer["steps"].as_array().unwrap().iter().flat_map(|step| step["results"].as_array());
    let failed = answer.flatten().filter(|result| result["is_error"] == true).count();
    assert_eq!(failed, 1, "a/main.rs is not below a");
    assert!(!last_message(&stage.last_body()).contains("RULE-LONG"));
    assert!(!texts(&stage.last_body()["messages"][8]).join("\n").contains("a/AGENTS.md (mtime"));
    transcript::check(&stage, "14-read-instructions-once", SystemText::Headings);
}

#[tokio::test]
async fn a_first_turn_that_fails_freezes_nothing() {
    let mut stage = Stage::agent(&[("AGENTS.md", "RULE-ROOT-1")]).await;
    stage.model.answer(Answer::wrong_key());
    stage.fail("first").await;
    let thread = stage.with(json!({ "thread_id": stage.thread }));
    assert!(stage.socket.ok("session/get", &thread).await.get("session").is_none());
    stage.write("AGENTS.md", "RULE-ROOT-2");
    stage.model.answer(Answer::text("one"));
    stage.ask("second").await;
    let all = shown(&stage.last_body());
    assert!(all.contains("RULE-ROOT-2") && !all.contains("RULE-ROOT-1"), "{all}");
    assert!(!all.contains("session.resume.diff\">"), "{all}");
    assert!(stage.socket.ok("session/get", &thread).await.get("session").is_some());
    transcript::check(&stage, "05-failed-first-turn", SystemText::Whole);
}

#[tokio::test]
async fn file_changes_between_rounds_are_announced_or_harmless() {
    type Change = fn(&std::path::Path);
    let becomes: [(&str, Change); 5] = [
        ("replaced", |file| {
            std::fs::write(file.with_extension("new"), "RULE-A-2").unwrap();
            std::fs::rename(file.with_extension("new"), file).unwrap();
        }),
        // A clock that was set back: same length, older time.
        ("replaced by an older one", |file| {
            std::fs::write(file, "RULE-A-2").unwrap();
            let opened = std::fs::File::options().write(true).open(file).unwrap();
            opened.set_modified(std::time::UNIX_EPOCH).unwrap();
        }),
        ("deleted", |file| std::fs::remove_file(file).unwrap()),
        ("a link", |file| {
            std::fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink("/etc/hostname", file).unwrap();
        }),
        ("a pipe", |file| {
            std::fs::remove_file(file).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                file,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .unwrap();
        }),
    ];
    for (what, change) in becomes {
        let mut stage = Stage::agent(MONOREPO).await;
        let (file, mut round) = (stage.path("services/a/AGENTS.md"), 0);
        stage.model.answer_by(move |_| {
            round += 1;
            match round {
                1 => calls([read("1", "services/a/main.rs")]),
                2 => {
                    change(&file);
                    calls([edit("2", "services/a/main.rs", "old a", "new a")])
                }
                3 => calls([edit("3", "services/a/main.rs", "old a", "newer a")]),
                _ => Answer::text("done"),
            }
        });
        let answer = stage.ask("go").await;
        let third = last_message(&stage.bodies()[2]);
        if what.starts_with("replaced") {
            assert_eq!(done(&answer), ["1", "3"], "{what}");
            assert!(third.contains("RULE-A-2"), "{what}: {third}");
        } else {
            assert_eq!(done(&answer), ["1", "2"], "{what}");
            let reasons =
                ["AGENTS.md (deleted)", "AGENTS.md (no longer applies: ", "AGENTS.md (replaced by "];
            assert!(reasons.iter().any(|reason| third.contains(reason)), "{what}: {third}");
            assert!(!third.contains("Read and apply"), "{what}: {third}");
        }
        stage.model.answer(Answer::text("again"));
        let next = stage.ask("anything new?").await;
        assert!(next["steps"][0].get("reminders").is_none(), "{what}: {next}");
    }
}

#[tokio::test]
async fn a_vanished_root_gives_a_clear_error() {
    let mut stage = Stage::agent(MONOREPO).await;
    let (root, mut round) = (stage.path("x").parent().unwrap().to_owned(), 0);
    let aside = root.with_file_name(format!("{}-aside", root.file_name().unwrap().to_string_lossy()));
    stage.model.answer_by({
        let (root, aside) = (root.clone(), aside.clone());
        move |_| {
            round += 1;
            match round {
                1 => {
                    std::fs::rename(&root, &aside).unwrap();
                    calls([
                        read("1", "services/a/main.rs"),
                        edit("2", "services/a/main.rs", "old a", "new a"),
                    ])
                }
                _ => Answer::text("I could not."),
            }
        }
    });
    let answer = stage.ask("go").await;
    assert_eq!(answer["turn"]["answer"], "I could not.");
    let told = last_message(&stage.last_body());
    assert!(told.contains("was moved, removed or replaced since this turn began"), "{told}");
    assert_eq!(std::fs::read_to_string(aside.join("services/a/main.rs")).unwrap(), "old a");
    let params = stage.with(json!({ "thread_id": stage.thread, "input": "still there?" }));
    let refused = stage.socket.call("turn/start", params).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains(&*root.to_string_lossy()), "{refused}");
    std::fs::rename(&aside, &root).unwrap();
    stage.model.answer(Answer::text("Here again."));
    stage.ask("and now?").await;
}

#[tokio::test]
async fn a_moved_thread_gets_its_new_document_next_turn() {
    let mut stage = with_shell(MONOREPO).await;
    let folder = stage.with(json!({ "name": "elsewhere" }));
    let folder = stage.socket.ok("thread/folder/create", folder).await["folder"]["id"].clone();
    let document = stage.with(json!({ "content": "DOCUMENT-ROOT" }));
    stage.socket.ok("thread/agents_doc/save", document).await;
    let document = stage.with(json!({ "folder_id": folder, "content": "DOCUMENT-ELSEWHERE" }));
    stage.socket.ok("thread/agents_doc/save", document).await;
    stage.model.answer(shell("1", "touch started; until [ -e moved ]; do sleep 0.02; done"));
    stage.model.answer(Answer::text("done"));
    stage.model.answer(Answer::text("next"));
    let turn = stage.start("go").await;
    until("the command to start", async || stage.path("started").exists()).await;
    let moved = stage.with(json!({ "thread_id": stage.thread, "folder_id": folder }));
    stage.socket.ok("thread/move", moved).await;
    stage.write("moved", "");
    assert_eq!(stage.ended(&turn).await["turn"]["status"], "completed");
    let systems = |body: &Value| body["system"].to_string();
    let bodies = stage.bodies();
    assert_eq!(systems(&bodies[0]), systems(&bodies[1]), "a turn has one prompt");
    stage.ask("next").await;
    let next = systems(&stage.last_body());
    assert!(next.contains("DOCUMENT-ELSEWHERE") && !next.contains("DOCUMENT-ROOT"), "{next}");
}

#[tokio::test]
async fn an_edit_waits_for_imports_and_rules() {
    let mut stage = Stage::agent(&[
        ("AGENTS.md", "RULE-ROOT @docs/style.md"),
        ("docs/style.md", "RULE-STYLE"),
        ("AGENTS.local.md", "---\napplies_to: \"*.rs\"\n---\nRULE-RUST"),
        ("a/AGENTS.md", "RULE-A @../docs/a.md"),
        ("docs/a.md", "RULE-IMPORTED"),
        ("a/notes.txt", "old"),
        ("a/main.rs", "old"),
    ])
    .await;
    stage.model.answer(calls([edit("t1", "a/notes.txt", "old", "new")]));
    stage.model.answer(calls([edit("t2", "a/notes.txt", "old", "new")]));
    stage.model.answer(calls([edit("r1", "a/main.rs", "old", "new")]));
    stage.model.answer(calls([edit("r2", "a/main.rs", "old", "new")]));
    stage.model.answer(Answer::text("Done."));
    let first = stage.ask("change both").await;
    assert_eq!(done(&first), ["t2", "r2"]);
    let bodies = stage.bodies();
    let told = |body: usize| {
        let text = shown(&bodies[body]);
        let rules = ["RULE-ROOT", "RULE-STYLE", "RULE-A ", "RULE-IMPORTED", "RULE-RUST"];
        rules.map(|rule| text.matches(rule).count())
    };
    assert_eq!(told(0), [1, 1, 0, 0, 0], "what is imported at the start is there from the start");
    assert_eq!(told(1), [1, 1, 1, 1, 0], "an import comes with the file that names it");
    assert_eq!(told(4), [1, 1, 1, 1, 1], "a rule comes with the first path that matches, and nothing twice");

    std::fs::write(stage.path("docs/a.md"), "RULE-IMPORTED-2 is another rule").unwrap();
    stage.model.answer(Answer::text("Noted."));
    let second = stage.ask("anything new?").await;
    let reminder = &second["steps"][0]["reminders"][0];
    assert_eq!(reminder["type"], "session.resume.diff");
    let text = reminder["text"].as_str().unwrap();
    assert!(
        text.contains("RULE-IMPORTED-2") && !text.contains("RULE-RUST") && !text.contains("removed"),
        "{text}"
    );
}
