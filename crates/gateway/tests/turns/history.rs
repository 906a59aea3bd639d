//! Earlier turns under a budget of tokens.

use agent::TurnSettings;
use scripted_model::{Answer, RecordedRequest};
use serde_json::{Value, json};

use crate::support::{Setting, Stage, texts, writing};

/// Whether a request asks for a summary.
fn asks_for_a_summary(body: &Value) -> bool {
    body["system"].to_string().contains("Summarise the conversation")
}

/// A stage whose model says a long text, and summarises as it is told to.
async fn talkative(setting: Setting, summary: fn(&RecordedRequest) -> Answer) -> Stage {
    let stage = Stage::set(setting).await;
    stage.model.answer_by(move |request| {
        if asks_for_a_summary(&request.body) {
            summary(request)
        } else {
            Answer::text(&"some words of an answer ".repeat(100))
        }
    });
    stage
}

fn small() -> TurnSettings {
    TurnSettings { max_context_tokens: 6_000, response_reserve_tokens: 1_000, ..writing() }
}

async fn events(stage: &mut Stage) {
    let subscribe = stage.with(json!({}));
    stage.socket.ok("events/subscribe", subscribe).await;
}

async fn told(stage: &mut Stage, method: &str) -> Value {
    loop {
        let notification = stage.socket.notification().await;
        if notification["method"] == method {
            return notification["params"].clone();
        }
    }
}

#[tokio::test]
async fn older_turns_are_summarised_and_the_summary_reaches_the_model() {
    let setting = Setting { turns: small(), ..Setting::default() };
    let mut stage = talkative(setting, |_| Answer::text("SUMMARY: they talked about words.")).await;
    events(&mut stage).await;
    for number in 1..=12 {
        stage.ask(&format!("question number {number}")).await;
    }
    told(&mut stage, "context/compressing").await;
    let compressed = told(&mut stage, "context/compressed").await;
    assert_eq!(compressed["summarised"], true);
    assert!(compressed["through"].as_u64().unwrap() >= 1);

    let bodies = stage.bodies();
    let (summaries, turns): (Vec<&Value>, Vec<&Value>) =
        bodies.iter().partition(|body| asks_for_a_summary(body));
    assert!(!summaries.is_empty() && summaries.len() <= 4, "{} summaries", summaries.len());
    assert!(texts(&summaries[0]["messages"][0]).concat().contains("question number 1"));
    let last = turns.last().unwrap().to_string();
    assert_eq!(last.matches("SUMMARY: they talked").count(), 1);
    assert!(!last.contains("question number 1\""), "the oldest turn is gone");
    assert!(last.contains("question number 11") && last.contains("question number 12"));
    // A later summary is made from the earlier one.
    if let Some(second) = summaries.get(1) {
        assert!(second.to_string().contains("SUMMARY: they talked"));
    }
    // Between two summaries every request begins with the one before.
    let grows = turns.windows(2).filter(|pair| {
        let (before, after) =
            (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        before.iter().zip(after).all(|(earlier, later)| texts(earlier) == texts(later))
    });
    assert_eq!(grows.count(), turns.len() - 1 - summaries.len());
}

#[tokio::test]
async fn when_a_summary_fails_the_newest_turns_that_fit_are_sent() {
    let setting = Setting { turns: small(), ..Setting::default() };
    let mut stage = talkative(setting, |_| Answer::failure(400)).await;
    events(&mut stage).await;
    for number in 1..=12 {
        stage.ask(&format!("question number {number}")).await;
    }
    assert_eq!(told(&mut stage, "context/compressed").await["summarised"], false);
    let last = stage.last_body().to_string();
    assert!(last.contains("question number 12") && last.contains("question number 11"));
    assert!(!last.contains("question number 1\""));
}

#[tokio::test]
async fn a_request_that_is_too_long_is_shortened_and_sent_once_more() {
    let mut stage = Stage::chat().await;
    for number in 1..=4 {
        stage.model.answer(Answer::text(&format!("answer {number}")));
        stage.ask(&format!("question {number}")).await;
    }
    stage.model.answer(Answer::context_too_long());
    stage.model.answer(Answer::text("SUMMARY of it all"));
    stage.model.answer(Answer::text("short enough"));
    // The history is small against the budget, so that there is something to leave out only if it must be.
    let turn = stage.start("one more").await;
    let ended = stage.ended(&turn).await;
    let bodies = stage.bodies();
    assert_eq!(ended["turn"]["status"], "completed", "{ended:#}");
    assert_eq!(bodies.len(), 7);
    assert!(asks_for_a_summary(&bodies[5]));
    assert!(bodies[6].to_string().contains("SUMMARY of it all"));
    assert!(!bodies[6].to_string().contains("question 1"));

    // Twice too long is too long.
    stage.model.answer_by(|request| {
        if asks_for_a_summary(&request.body) {
            Answer::text("SUMMARY again")
        } else {
            Answer::context_too_long()
        }
    });
    let error = stage.fail("and another").await;
    assert_eq!(error["kind"], "provider_failed");
}

#[tokio::test]
async fn past_two_hundred_entries_half_of_them_go_at_once() {
    let mut stage = Stage::chat().await;
    stage.model.answer_by(|_| Answer::text("ok"));
    events(&mut stage).await;
    for number in 1..=102 {
        stage.ask(&format!("question {number}.")).await;
    }
    let lengths: Vec<usize> =
        stage.bodies().iter().map(|body| body["messages"].as_array().unwrap().len()).collect();
    assert_eq!(lengths[100], 201, "two hundred entries and the question");
    assert_eq!(lengths[101], 101, "a hundred entries and the question");
    let last = stage.last_body().to_string();
    assert!(last.contains("question 52.") && !last.contains("question 51."));
    let compressed = told(&mut stage, "context/compressed").await;
    assert_eq!((&compressed["through"], &compressed["summarised"]), (&json!(51), &json!(false)));
}

#[tokio::test]
async fn instructions_whose_message_was_summarised_away_are_told_again() {
    let files = &[("a/AGENTS.md", "RULE-A"), ("a/x.txt", "text")];
    let setting = Setting { mode: "agent", files, turns: small(), ..Setting::default() };
    let mut stage = talkative(setting, |_| Answer::text("SUMMARY without rules")).await;
    let read = || Answer::empty().tool_call("r", "read_file", r#"{"path":"a/x.txt"}"#);
    stage.model.answer(read());
    stage.model.answer(Answer::text("read"));
    stage.ask("read it").await;
    assert!(stage.last_body().to_string().contains("RULE-A"));
    for number in 1..=8 {
        stage.ask(&format!("question number {number}")).await;
    }
    assert!(!stage.last_body().to_string().contains("RULE-A"), "it was summarised away");
    stage.model.answer(read());
    stage.model.answer(Answer::text("read"));
    stage.ask("read it again").await;
    assert_eq!(stage.last_body().to_string().matches("RULE-A").count(), 1);
}
