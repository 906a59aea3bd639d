//! The prompt describes the environment of a thread correctly: its directory, the rules that apply, and their source.

use scripted_model::{Answer, Wire};
use serde_json::{Value, json};

use crate::support::{Setting, Stage, id, texts, writing};
use crate::transcript::{self, SystemText};

const FILES: &[(&str, &str)] =
    &[("AGENTS.md", "RULE-ROOT"), ("a/AGENTS.md", "RULE-A"), ("a/x.txt", "old"), ("b/x.txt", "text")];

/// Returns the system text of a request in Anthropic's format.
fn system(body: &Value) -> String {
    let parts = body["system"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Returns a section of the system text without its heading.
fn section(body: &Value, title: &str) -> Option<String> {
    let text = system(body);
    let (_, rest) = text.split_once(&format!("## {title}\n"))?;
    Some(rest.split("\n\n## ").next().unwrap().to_owned())
}

async fn update(stage: &mut Stage, agents: Value) {
    let params = stage.with(json!({ "agents": agents }));
    stage.socket.ok("workspace/update", params).await;
}

#[tokio::test]
async fn the_environment_section_is_correct_and_stable() {
    let mut stage = Stage::agent(FILES).await;
    stage.model.answer(Answer::text("one"));
    stage.ask_with(json!({ "input": "first", "cwd": "a" })).await;
    let cwd = stage.path("a");
    let root = cwd.parent().unwrap().display();
    let expected = format!(
        "Working directory: {} (until a `session.resume.diff` reminder names another)\nWorkspace root: {root}\n\
         Operating system: {}\nRelative paths in tool calls start at the working directory.",
        cwd.display(),
        std::env::consts::OS
    );
    assert_eq!(section(&stage.last_body(), "Environment"), Some(expected));
    let before = system(&stage.last_body());
    stage.model.answer(Answer::empty().tool_call("1", "read_file", r#"{"path":"x.txt"}"#));
    stage.model.answer(Answer::text("two"));
    stage.ask_with(json!({ "input": "second", "cwd": "b" })).await;
    let body = stage.last_body();
    // The move is reported in a message instead, because a changed system text would invalidate the cached
    // conversation.
    assert_eq!(system(&body), before, "the prefix holds");
    let moved = format!("- cwd: {} -> {}", cwd.display(), stage.path("b").display());
    assert!(body.to_string().contains(&moved), "{body}");
    assert!(body.to_string().contains("text"), "relative paths start at the new one");
    transcript::check(&stage, "08-environment", SystemText::Whole);
}

#[tokio::test]
async fn a_chat_prompt_mentions_the_lack_of_tools() {
    let mut stage = Stage::set(Setting { files: FILES, ..Setting::default() }).await;
    stage.model.answer(Answer::text("one"));
    stage.ask("first").await;
    let body = stage.last_body();
    let environment = section(&body, "Environment").unwrap();
    assert!(environment.ends_with("\nYou have no tools to read or change files or to run commands."));
    let guidance = section(&body, "AGENTS Guidance").unwrap();
    assert!(!guidance.contains("tools") && !guidance.contains("pointed to"), "{guidance}");
}

#[tokio::test]
async fn guidance_matches_the_settings() {
    let here = "are already here";
    let follows = "its result comes with the files that newly apply there";
    for (files, agents, expected) in [
        (FILES, json!({}), Some((true, true))),
        (&[], json!({}), Some((false, true))),
        (FILES, json!({ "resolver": { "enabled": false } }), Some((true, false))),
        (&[], json!({ "resolver": { "enabled": false } }), None),
        (FILES, json!({ "enabled": false }), None),
    ] {
        let mut stage = Stage::agent(files).await;
        update(&mut stage, agents.clone()).await;
        stage.model.answer(Answer::text("one"));
        stage.ask("first").await;
        let guidance = section(&stage.last_body(), "AGENTS Guidance");
        let found = guidance.map(|text| (text.contains(here), text.contains(follows)));
        assert_eq!(found, expected, "{agents} with {} files", files.len());
        if agents == json!({ "enabled": false }) {
            transcript::check(&stage, "09-guidance-without-files", SystemText::Whole);
        }
    }
}

#[tokio::test]
async fn a_chain_as_user_message_comes_first() {
    for wire in [Wire::Anthropic, Wire::Openai, Wire::OpenaiCompatible] {
        let setting = Setting { mode: "agent", wire, files: FILES, turns: writing(), ..Setting::default() };
        let mut stage = Stage::set(setting).await;
        update(&mut stage, json!({ "profile": "codex" })).await;
        stage.model.answer(Answer::empty().tool_call("1", "read_file", r#"{"path":"x.txt"}"#));
        stage.model.answer(Answer::text("one"));
        stage.model.answer(Answer::text("two"));
        stage.ask_with(json!({ "input": "first", "cwd": "a" })).await;
        stage.ask_with(json!({ "input": "second", "cwd": "a" })).await;
        let chain = format!(
            "# AGENTS.md instructions for {}\n\n<INSTRUCTIONS>\nRULE-ROOT\n\nRULE-A\n</INSTRUCTIONS>",
            stage.path("a").display()
        );
        for body in stage.bodies() {
            let text = body.to_string();
            assert_eq!(text.matches("RULE-ROOT").count(), 1, "{text}");
            // Anthropic rejects requests with more than four cache marks.
            assert!(text.matches("cache_control").count() <= 4, "{text}");
            let first = match wire {
                Wire::Anthropic => {
                    assert!(!system(&body).contains("AGENTS Context"));
                    texts(&body["messages"][0]).join("")
                }
                Wire::Openai => body["input"][0]["content"][0]["text"].as_str().unwrap().to_owned(),
                Wire::OpenaiCompatible => body["messages"][1]["content"].as_str().unwrap().to_owned(),
            };
            // Neighboring messages of the user are one message: the chain, then the first question.
            assert!(first.starts_with(&chain), "{first}");
        }
        let params = stage.with(json!({ "thread_id": stage.thread, "cwd": "a" }));
        let preview = stage.socket.ok("prompt/preview", params).await;
        assert_eq!(preview["user_text"], chain.as_str());
        let sections = preview["manifest"]["sections"].as_array().unwrap();
        let context = sections.iter().find(|section| section["id"] == "agents_context").unwrap();
        assert_eq!((&context["role"], &context["stability"]), (&json!("user"), &json!("session")));
        assert!(
            sections.iter().all(|section| section["id"] == "agents_context" || section.get("role").is_none())
        );
        if wire == Wire::Anthropic {
            transcript::check(&stage, "10-chain-as-user-message", SystemText::Headings);
        }
    }
}

#[tokio::test]
async fn home_instructions_reach_a_thread_without_a_directory() {
    let mut stage = Stage::chat().await;
    let home = stage.gateway.data().join("home/AGENTS.md");
    std::fs::write(&home, "RULE-HOME-1").unwrap();
    stage.workspace = id(&stage.socket.ok("workspace/create", json!({ "name": "bare" })).await["workspace"]);
    let made = stage.with(json!({ "title": "t", "mode": "agent" }));
    stage.thread = id(&stage.socket.ok("thread/create", made).await["thread"]);
    stage.model.answer(Answer::text("one"));
    stage.ask("first").await;
    let first = system(&stage.last_body());
    assert!(first.contains("RULE-HOME-1") && first.contains("\nThere is no working directory.\n"), "{first}");
    // There are no tools and no files, so the prompt must not mention them.
    assert!(!first.contains("Tool Recovery Policy") && !first.contains("Do not look for them"), "{first}");
    std::fs::write(&home, format!("RULE-HOME-2\n{}", "Mind the gap. ".repeat(500))).unwrap();
    stage.model.answer(Answer::text("two"));
    stage.ask("second").await;
    let body = stage.last_body();
    let opening = texts(body["messages"].as_array().unwrap().last().unwrap()).join("\n");
    assert!(opening.contains("RULE-HOME-2") && opening.contains("Its text follows"), "{opening}");
    assert_eq!(system(&body), first);
    stage.model.answer(Answer::text("three"));
    stage.ask("third").await;
    assert_eq!(stage.last_body().to_string().matches("RULE-HOME-2").count(), 1);
    transcript::check(&stage, "14-home-without-directory", SystemText::Headings);
}

#[tokio::test]
async fn files_above_the_workspace_are_reported_but_not_read() {
    let mut stage = Stage::agent(&[("AGENTS.md", "RULE-ABOVE"), ("inner/AGENTS.md", "RULE-INNER")]).await;
    let made = json!({ "name": "inner", "root_path": stage.path("inner") });
    stage.workspace = id(&stage.socket.ok("workspace/create", made).await["workspace"]);
    let made = stage.with(json!({ "title": "t", "mode": "agent" }));
    stage.thread = id(&stage.socket.ok("thread/create", made).await["thread"]);
    let params = stage.with(json!({ "thread_id": stage.thread }));
    let preview = stage.socket.ok("prompt/preview", params).await;
    assert!(!preview["full_text"].as_str().unwrap().contains("RULE-ABOVE"));
    let above = stage.path("AGENTS.md");
    let diagnostics = preview["manifest"]["diagnostics"].as_array().unwrap();
    let said = diagnostics.iter().find(|it| it["file"] == above.to_string_lossy().as_ref()).unwrap();
    assert!(said["message"].as_str().unwrap().contains("above the workspace's directory"), "{said}");
}

#[tokio::test]
async fn a_moved_root_drops_its_old_instructions() {
    let files = &[("AGENTS.md", "RULE-OF-THE-OLD-ROOT")];
    let mut stage = Stage::set(Setting { mode: "agent", files, ..Setting::default() }).await;
    stage.model.answer_by(|_| Answer::text("yes"));
    stage.ask("first").await;
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("AGENTS.md"), "RULE-OF-THE-NEW-ROOT").unwrap();
    let params = stage.with(json!({ "root_path": other.path() }));
    stage.socket.ok("workspace/update", params).await;
    stage.ask("second").await;
    let told = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap()).join("\n");
    let left = format!("{} (no longer applies: outside the project root)", stage.path("AGENTS.md").display());
    assert!(told.contains(&left) && told.contains("RULE-OF-THE-NEW-ROOT"), "{told}");
}

/// Returns the instructions in the prompt of a new thread.
async fn chain(stage: &mut Stage, cwd: &str) -> (String, Value) {
    let params = stage.with(json!({ "thread_id": stage.thread, "cwd": cwd, "fresh": true }));
    let preview = stage.socket.ok("prompt/preview", params).await;
    let text = preview["session_text"].as_str().unwrap();
    let files = ["RULE-ROOT", "RULE-A", "RULE-SUB"].iter().filter(|rule| text.contains(**rule));
    (files.copied().collect::<Vec<_>>().join(" "), preview)
}

#[tokio::test]
async fn the_nearest_marker_inside_the_workspace_is_the_root() {
    let files = &[
        ("AGENTS.md", "RULE-ROOT"),
        ("a/AGENTS.md", "RULE-A"),
        ("a/Makefile", "all:\n"),
        ("a/sub/AGENTS.md", "RULE-SUB"),
    ];
    let mut stage = Stage::agent(files).await;
    let (found, preview) = chain(&mut stage, "a/sub").await;
    assert_eq!((found.as_str(), preview.get("root_fallback")), ("RULE-ROOT RULE-A RULE-SUB", None));
    update(&mut stage, json!({ "root": { "markers": ["Makefile"] } })).await;
    assert_eq!(chain(&mut stage, "a/sub").await.0, "RULE-A RULE-SUB");
    std::fs::create_dir(stage.path("a/sub/.git")).unwrap();
    assert_eq!(chain(&mut stage, "a/sub").await.0, "RULE-A RULE-SUB", "it is no marker any more");
    update(&mut stage, json!({ "root": {} })).await;
    assert_eq!(chain(&mut stage, "a/sub").await.0, "RULE-SUB");
    update(&mut stage, json!({ "root": { "projectRootOverride": "a" } })).await;
    assert_eq!(chain(&mut stage, "a/sub").await.0, "RULE-A RULE-SUB");
    // Without any marker the workspace's directory counts, and the answer explains that.
    update(&mut stage, json!({ "root": { "markers": ["no-such-marker"] } })).await;
    let (found, preview) = chain(&mut stage, "a/sub").await;
    assert_eq!(found, "RULE-ROOT RULE-A RULE-SUB");
    let reason = preview["root_fallback"].as_str().unwrap();
    assert!(
        reason.contains("no-such-marker") && reason.contains("the workspace's directory is the root"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_narrower_root_withdraws_the_files_above_it() {
    let mut stage = Stage::agent(FILES).await;
    stage.model.answer_by(|_| Answer::text("yes"));
    stage.ask_with(json!({ "input": "first", "cwd": "a" })).await;
    update(&mut stage, json!({ "root": { "projectRootOverride": "a" } })).await;
    stage.ask_with(json!({ "input": "second", "cwd": "a" })).await;
    let told = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap()).join("\n");
    let path = |name: &str| stage.path(name).display().to_string();
    let root = format!("- root: {} -> {}\n", path("").trim_end_matches('/'), path("a"));
    let left = format!("- {} (no longer applies: outside the project root)\n", path("AGENTS.md"));
    assert!(told.contains(&root) && told.contains(&left), "{told}");
    // It is said once.
    stage.ask_with(json!({ "input": "third", "cwd": "a" })).await;
    assert_eq!(stage.last_body()["messages"].to_string().matches("outside the project root").count(), 1);
}
