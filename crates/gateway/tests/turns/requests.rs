//! The requests of one turn for three APIs, readable in a review.
//!
//! `UPDATE_GOLDEN=1 cargo test -p foreword-gateway --test main golden` writes the files again.

mod domains;
mod environment;
mod history;
mod instructions;
mod previews;
mod rebuilt;
mod turn_sections;
mod wording;

use std::path::Path;

use scripted_model::{Answer, Wire};
use serde_json::{Value, json};

use crate::support::{Setting, Stage, writing};
use crate::transcript::{self, SystemText};

/// Replaces values that differ between runs.
fn settled(body: &Value, stage: &Stage) -> String {
    let mut text = serde_json::to_string_pretty(body).unwrap() + "\n";
    text = text.replace(stage.path("").to_str().unwrap().trim_end_matches('/'), "/project");
    text = text.replace(&stage.thread, "THREAD");
    text = text.replace(stage.gateway.data().to_str().unwrap(), "/data");
    for (before, limit) in [("Date: ", 10), ("(mtime: ", 20)] {
        let parts: Vec<&str> = text.split(before).collect();
        let parts = parts.iter().enumerate().map(|(index, part)| match index {
            0 => (*part).to_owned(),
            _ => {
                let end = part.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(0).min(limit);
                format!("…{}", &part[end..])
            }
        });
        text = parts.collect::<Vec<_>>().join(before);
    }
    text
}

#[tokio::test]
async fn golden_requests_of_the_three_adapters() {
    let wires = [
        ("anthropic", Wire::Anthropic),
        ("openai", Wire::Openai),
        ("openai_compatible", Wire::OpenaiCompatible),
    ];
    for (name, wire) in wires {
        let files = &[("AGENTS.md", "Be brief."), ("a/AGENTS.md", "Mind the tests."), ("a/x.txt", "text\n")];
        let mut stage =
            Stage::set(Setting { mode: "agent", wire, files, turns: writing(), ..Setting::default() }).await;
        let save = stage.with(json!({ "content": "Answer in English." }));
        stage.socket.ok("thread/agents_doc/save", save).await;
        stage.model.answer(
            Answer::text("Let me look.")
                .reasoning("There may be more below.", "signature")
                .tool_call("call_1", "read_file", r#"{"path":"a/x.txt"}"#)
                .tool_call("call_2", "list_dir", r#"{"path":"missing"}"#),
        );
        stage.model.answer(Answer::text("It says text."));
        stage.ask("What does a/x.txt say?").await;
        let text = settled(&stage.last_body(), &stage);
        // Anthropic rejects requests with more cache marks.
        assert!(text.matches("cache_control").count() <= 4);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/request-{name}.json"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, golden, "{name}; UPDATE_GOLDEN=1 writes it anew");
    }
}

#[tokio::test]
async fn transcript_of_two_turns() {
    let mut stage = Stage::agent(&[("AGENTS.md", "Be brief."), ("a.txt", "text\n")]).await;
    stage.model.answer(Answer::text("Let me look.").reasoning("It is a file.", "signature").tool_call(
        "call_1",
        "read_file",
        r#"{"path":"a.txt"}"#,
    ));
    stage.model.answer(Answer::text("It says text."));
    stage.model.answer(Answer::text("You are welcome."));
    stage.ask("What does a.txt say?").await;
    stage.ask("Thanks.").await;
    transcript::check(&stage, "00-two-turns", SystemText::Whole);
}

#[tokio::test]
async fn transcript_of_a_chat() {
    let mut stage = Stage::set(Setting { wire: Wire::OpenaiCompatible, ..Setting::default() }).await;
    stage.model.answer(Answer::text("Hello."));
    stage.model.answer(Answer::text("Bye."));
    stage.ask("Hello?").await;
    stage.ask("Bye!").await;
    transcript::check(&stage, "00-chat", SystemText::Headings);
}
