//! Every text of ours that a model may see, in context. These transcripts are read as the model reads them: each
//! sentence has to be true there, appear once, and make sense without knowledge of this program.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::PromptSettings;
use scripted_model::{Answer, Stop};
use serde_json::{Value, json};

use crate::support::{Setting, Stage, id, unconfined_shell, writing};
use crate::transcript::{self, SystemText};

fn read(id: &str, path: &str) -> Answer {
    Answer::empty().tool_call(id, "read_file", &json!({ "path": path }).to_string())
}

fn write(id: &str, path: &str) -> Answer {
    Answer::empty().tool_call(id, "write_file", &json!({ "path": path, "content": "x\n" }).to_string())
}

/// A file in the home directory.
fn write_at_home(stage: &Stage, name: &str, text: &str) {
    std::fs::write(stage.gateway.data().join("home").join(name), text).unwrap();
}

#[tokio::test]
async fn transcript_of_texts_in_a_turn_with_tools() {
    let files = &[("AGENTS.md", "Be brief."), ("a/AGENTS.md", "Mind the tests."), ("a/x.txt", "text\n")];
    let mut turns = writing();
    turns.max_rounds = 6;
    turns.shell = Some(unconfined_shell());
    let prompt = PromptSettings { nested_scope_rules: true, ..PromptSettings::default() };
    let mut stage = Stage::set(Setting { mode: "agent", turns, prompt, files, ..Setting::default() }).await;
    stage.write("long.txt", &"some words of a long file\n".repeat(4_000));
    write_at_home(&stage, "USER.md", "My name is Ada.\n\n\n");
    let save = stage.with(json!({ "content": "Answer in English." }));
    stage.socket.ok("thread/agents_doc/save", save).await;
    // New instructions, a failure among results that are fine, and a result that is cut.
    stage.model.answer(
        read("call_1", "a/x.txt").tool_call("call_2", "read_file", r#"{"path":"missing.txt"}"#).tool_call(
            "call_3",
            "read_file",
            r#"{"path":"long.txt"}"#,
        ),
    );
    // A call that the rules do not allow, and a command that fails.
    stage.model.answer(write("call_4", "AGENTS.md").tool_call("call_5", "shell", r#"{"command":"exit 3"}"#));
    stage.model.answer(Answer::text("I have read a/x.txt and now I ").stop(Stop::MaxOutputTokens));
    stage.model.answer(
        Answer::text("write it.")
            .tool_call("call_6", "list_dir", r#"{"path":"a"}"#)
            .tool_call("call_7", "write_file", r#"{"path":"a/x.txt","con"#)
            .stop(Stop::MaxOutputTokens),
    );
    stage.model.answer(Answer::empty());
    stage.model.answer(read("call_8", "a/x.txt"));
    stage.model.answer(Answer::text("I have only read it."));
    let answer = stage.ask("Change a/x.txt.").await;
    assert_eq!(stage.bodies().len(), 7, "{answer:#}");
    transcript::check(&stage, "16-words-of-a-turn", SystemText::WithTools);
}

#[tokio::test]
async fn transcript_of_texts_about_earlier_turns() {
    let files = &[("AGENTS.md", "Be brief."), ("a/AGENTS.md", "Mind the tests."), ("a/x.txt", "text\n")];
    let mut stage = Stage::agent(files).await;
    stage.model.answer(read("call_1", "a/x.txt"));
    stage.model.answer(Answer::text("It says text."));
    stage.ask("What does a/x.txt say?").await;
    stage.model.answer(write("call_2", "a/y.txt"));
    stage.model.answer(Answer::wrong_key());
    stage.fail("Write a/y.txt.").await;
    stage.model.answer(Answer::wrong_key());
    stage.fail("Write it.").await;
    stage.write("AGENTS.md", "Be very brief.");
    std::fs::remove_file(stage.path("a/AGENTS.md")).unwrap();
    let before = stage.bodies().len();
    stage.model.answer(Answer::text("I look first."));
    stage.ask_with(json!({ "input": "Go on.", "cwd": "a" })).await;
    let bodies = stage.bodies().split_off(before);
    transcript::check_requests(&stage, "16-words-about-earlier-turns", SystemText::Headings, &bodies);
}

#[tokio::test]
async fn transcript_of_denials() {
    let mut stage = Stage::set(Setting { mode: "agent", ..Setting::default() }).await;
    for (number, how) in ["asked", "flag", "unattended"].into_iter().enumerate() {
        stage.model.answer(write(&format!("call_{number}"), "a.txt"));
        stage.model.answer(Answer::text("I do not write it."));
        let turn = stage.start("Write a.txt.").await;
        let waits =
            stage.until(&turn, |answer| answer["approvals"] != json!([])).await["approvals"][0].clone();
        let no = json!({ "turn_id": turn, "call_id": waits["call_id"], "allow": false, "how": how });
        let no = stage.with(no);
        stage.socket.ok("turn/approve", no).await;
        stage.ended(&turn).await;
    }
    transcript::check(&stage, "16-words-of-denials", SystemText::Headings);

    let turns = agent::TurnSettings { approval_time: Duration::from_millis(20), ..Default::default() };
    let mut stage = Stage::set(Setting { mode: "agent", turns, ..Setting::default() }).await;
    stage.model.answer(write("call_1", "a.txt"));
    stage.model.answer(Answer::text("Nobody was there."));
    stage.ask("Write a.txt.").await;
    transcript::check(&stage, "16-words-of-a-question-that-nobody-answered", SystemText::Headings);
}

#[tokio::test]
async fn transcript_of_texts_in_a_chat() {
    let mut stage = Stage::set(Setting { files: &[("AGENTS.md", "Be brief.")], ..Setting::default() }).await;
    stage.model.answer(Answer::text("Hello."));
    stage.ask("Hello?").await;
    // An agent without a directory, with a home that has no files of its own.
    for name in ["SOUL.md", "IDENTITY.md"] {
        write_at_home(&stage, name, " \n");
    }
    stage.workspace = id(&stage.socket.ok("workspace/create", json!({ "name": "bare" })).await["workspace"]);
    let made = stage.with(json!({ "title": "t", "mode": "agent" }));
    stage.thread = id(&stage.socket.ok("thread/create", made).await["thread"]);
    stage.model.answer(Answer::text("Hello."));
    stage.ask("Hello?").await;
    transcript::check(&stage, "16-words-of-a-chat", SystemText::WithTools);
}

/// Behavior of a summariser.
#[derive(Clone, Copy)]
enum Summariser {
    Fails,
    Summarises,
    SaysTooMuch,
}

#[tokio::test]
async fn transcript_of_texts_about_summaries() {
    let turns =
        agent::TurnSettings { max_context_tokens: 6_000, response_reserve_tokens: 1_000, ..writing() };
    let mut stage = Stage::set(Setting { turns, ..Setting::default() }).await;
    let asks_for_a_summary = |body: &Value| body["system"].to_string().contains("Summarise the conversation");
    let summariser = Arc::new(Mutex::new(Summariser::Fails));
    let does = Arc::clone(&summariser);
    stage.model.answer_by(move |request| {
        if !asks_for_a_summary(&request.body) {
            return Answer::text(&"some words of an answer ".repeat(100));
        }
        match *does.lock().unwrap() {
            Summariser::Fails => Answer::wrong_key(),
            Summariser::Summarises => Answer::text("The user counts questions."),
            Summariser::SaysTooMuch => {
                Answer::text(&"The user counts questions, one after the other. ".repeat(200))
            }
        }
    });
    let mut number = 0;
    // Asks until a request contains `said`; returns that request and the requests for summaries before it.
    let mut until = async |does: Summariser, said: &str| {
        *summariser.lock().unwrap() = does;
        loop {
            number += 1;
            // Fails instead of running forever if a changed text never appears.
            assert!(number < 60, "{said} is never said");
            let before = stage.bodies().len();
            stage.ask(&format!("Question {number}.")).await;
            let mut bodies = stage.bodies().split_off(before);
            let last = bodies.pop().unwrap();
            if last["messages"].to_string().contains(said) {
                return (bodies, last);
            }
        }
    };
    let (_, without_summary) = until(Summariser::Fails, "The turns before what follows").await;
    let (_, with_summary) = until(Summariser::Summarises, "The user counts").await;
    let (requests, cut) = until(Summariser::SaysTooMuch, "characters of this summary are left out").await;
    let (_, after_summary) = until(Summariser::Fails, "The turns between this summary").await;
    // The next summary is requested twice because the first one is too long; both requests build on the earlier
    // summary.
    assert!(requests.len() >= 2 && requests.iter().all(asks_for_a_summary), "{requests:#?}");
    let shown = [requests, vec![without_summary, with_summary, cut, after_summary]].concat();
    transcript::check_requests(&stage, "16-words-of-summaries", SystemText::Whole, &shown);
}
