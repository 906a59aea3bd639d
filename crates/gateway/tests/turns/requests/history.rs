//! Earlier turns under a budget of tokens, as clients and transcripts show them.

use agent::TurnSettings;
use scripted_model::{Answer, RecordedRequest};
use serde_json::{Value, json};

use crate::support::{Setting, Stage, texts, writing};
use crate::transcript::{self, SystemText};

/// Returns true for a request for a summary.
fn asks_for_a_summary(body: &Value) -> bool {
    body["system"].to_string().contains("Summarise the conversation")
}

/// Creates a stage whose model answers at length and summarises with `summary`.
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
async fn a_summary_replaces_older_turns() {
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
    // Between two summaries, every request begins with the previous one.
    let grows = turns.windows(2).filter(|pair| {
        let (before, after) =
            (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        before.iter().zip(after).all(|(earlier, later)| texts(earlier) == texts(later))
    });
    assert_eq!(grows.count(), turns.len() - 1 - summaries.len());
}

#[tokio::test]
async fn after_a_failed_summary_the_newest_turns_are_sent() {
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
async fn beyond_two_hundred_entries_the_older_half_is_summarised() {
    let mut stage = Stage::chat().await;
    stage.model.answer_by(|request| {
        let is_summary = asks_for_a_summary(&request.body);
        if is_summary { Answer::text("SUMMARY of fifty-one questions") } else { Answer::text("ok") }
    });
    events(&mut stage).await;
    for number in 1..=103 {
        stage.ask(&format!("question {number}.")).await;
    }
    let bodies = stage.bodies();
    let lengths: Vec<usize> = bodies.iter().map(|body| body["messages"].as_array().unwrap().len()).collect();
    assert_eq!(lengths[100], 201, "two hundred entries and the question");
    assert!(asks_for_a_summary(&bodies[101]));
    for number in 1..=51 {
        assert!(bodies[101].to_string().contains(&format!("question {number}.")), "{number}");
    }
    // The summary and the question after it are neighbors of the same role, so they are one message.
    assert_eq!(lengths[102], 101, "the summary with the first question, and a hundred entries");
    assert_eq!(lengths[103], 103, "the next turn summarises nothing");
    let last = stage.last_body().to_string();
    assert!(last.contains("question 52.") && !last.contains("question 51."));
    assert!(last.contains("SUMMARY of fifty-one questions"));
    let compressed = told(&mut stage, "context/compressed").await;
    assert_eq!((&compressed["through"], &compressed["summarised"]), (&json!(51), &json!(true)));
}

/// Returns the quoted text of a request for a summary.
fn quoted(body: &Value) -> String {
    texts(&body["messages"][0]).concat()
}

/// Splits all requests into those for summaries and those of turns.
fn requests(stage: &Stage) -> (Vec<Value>, Vec<Value>) {
    stage.bodies().into_iter().partition(asks_for_a_summary)
}

#[tokio::test]
async fn transcript_of_summaries() {
    let files = &[("a.txt", "some words of a file\n")];
    let setting = Setting { mode: "agent", files, turns: small(), ..Setting::default() };
    let mut stage = Stage::set(setting).await;
    let mut asked = 0;
    stage.model.answer_by(move |request| {
        if asks_for_a_summary(&request.body) {
            return Answer::text("The user likes blue (FACT-1) and keeps asking about a.txt.");
        }
        asked += 1;
        if asked % 2 == 1 {
            return Answer::empty().tool_call(&format!("call_{asked}"), "read_file", r#"{"path":"a.txt"}"#);
        }
        Answer::text(&"It says some words. ".repeat(110))
    });
    stage.ask("FACT-1: I like blue. What does a.txt say?").await;
    for number in 2..=14 {
        stage.ask(&format!("Question {number}: and now?")).await;
    }
    let bodies = stage.bodies();
    let second = bodies.iter().rposition(asks_for_a_summary).unwrap();
    assert!(bodies.iter().filter(|body| asks_for_a_summary(body)).count() > 1);
    transcript::check_requests(&stage, "01-summaries", SystemText::Headings, &bodies[second - 1..second + 2]);
}

#[tokio::test]
async fn transcript_of_summaries_that_build_on_each_other() {
    let setting = Setting { turns: small(), ..Setting::default() };
    // A summariser that repeats the user's lines of its input.
    let mut stage = talkative(setting, |request| {
        let quoted = quoted(&request.body);
        let kept = quoted.lines().filter(|line| !line.is_empty() && !line.starts_with("Assistant: "));
        Answer::text(&kept.collect::<Vec<_>>().join("\n"))
    })
    .await;
    stage.ask("FACT-1: the cat is called Minka.").await;
    for number in 2..=20 {
        stage.ask(&format!("FACT-{number}: I have {number} books.")).await;
    }
    let (summaries, turns) = requests(&stage);
    assert!(summaries.len() >= 3, "{}", summaries.len());
    assert!(turns.last().unwrap().to_string().contains("FACT-1: the cat is called Minka."));
    let shown: Vec<Value> = summaries.into_iter().chain(turns.last().cloned()).collect();
    transcript::check_requests(&stage, "02-earlier-summary-is-kept", SystemText::Headings, &shown);
}
