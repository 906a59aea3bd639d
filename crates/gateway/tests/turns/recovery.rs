//! Recovery from errors: the model's next request, the user's view, and the stored record.

use scripted_model::{Answer, Stop, Wire};
use serde_json::{Value, json};

use crate::support::{Setting, Stage, writing};
use crate::transcript::{self, SystemText};

/// Returns the first line of each result of a step, and true if it failed.
fn results(answer: &Value, step: usize) -> Vec<(String, bool)> {
    let results = answer["steps"][step]["results"].as_array().unwrap().iter();
    let shown = results.map(|result| {
        let text = result["text"].as_str().unwrap().lines().next().unwrap_or_default().to_owned();
        (text, result["is_error"] == true)
    });
    shown.collect()
}

#[tokio::test]
async fn transcript_of_recovery() {
    let mut turns = writing();
    turns.permissions.write = tools::Permission::Deny;
    let files = &[("a.txt", "text\n")];
    let mut stage = Stage::set(Setting { mode: "agent", files, turns, ..Setting::default() }).await;
    stage.model.answer(
        Answer::empty()
            .tool_call("call_1", "read_file", r#"{"path": "a.txt"#)
            .tool_call("call_2", "open_file", r#"{"path":"a.txt"}"#)
            .tool_call("call_3", "write_file", r#"{"path":"a.txt","content":"x"}"#),
    );
    stage.model.answer(
        Answer::text("I write it again.")
            .tool_call("call_4", "read_file", r#"{"path":"a.txt"}"#)
            .tool_call("call_5", "write_file", r#"{"path":"a.txt","content":"a very long"#)
            .stop(Stop::MaxOutputTokens),
    );
    stage.model.answer(
        Answer::empty()
            .tool_call("call_6", "write_file", r#"{"path":"a.txt","con"#)
            .stop(Stop::MaxOutputTokens),
    );
    stage.model.answer(Answer::text("I may not write, so I stop"));
    let answer = stage.ask("Change a.txt.").await;
    let first = results(&answer, 2);
    assert!(first.iter().all(|(_, failed)| *failed), "{first:?}");
    assert_eq!(results(&answer, 4), [("text".to_owned(), false)]);
    assert_eq!(answer["turn"]["answer"], "I write it again.\n\nI may not write, so I stop");
    assert_eq!(stage.read("a.txt"), "text\n");
    transcript::check(&stage, "17-recovery", SystemText::Headings);
    // Cut-off calls do not appear in later requests either.
    stage.model.answer(Answer::text("yes"));
    stage.ask("Fine.").await;
    assert!(!stage.last_body().to_string().contains("call_5"));
}

#[tokio::test]
async fn a_model_whose_calls_are_always_cut_off_is_not_asked_for_ever() {
    let mut stage = Stage::agent(&[]).await;
    stage.model.answer_by(|_| {
        Answer::empty().tool_call("c", "write_file", r#"{"path":"a.txt","con"#).stop(Stop::MaxOutputTokens)
    });
    let error = stage.fail("write").await;
    let message = error["message"].as_str().unwrap();
    assert_eq!(error["kind"], "no_answer");
    assert!(message.contains("inside a call of `write_file`, which did not run"), "{message}");
    assert_eq!(stage.bodies().len(), 4);
    assert!(!stage.path("a.txt").exists());
}

#[tokio::test]
async fn a_provider_that_is_busy_or_breaks_off_early_is_sent_the_same_request_again() {
    for wire in [Wire::Anthropic, Wire::Openai, Wire::OpenaiCompatible] {
        for trouble in [
            Answer::rate_limited("0"),
            Answer::too_many_requests(),
            Answer::failure(529),
            Answer::text("never heard").cut_after_bytes(0),
        ] {
            let mut stage = Stage::set(Setting { wire, ..Setting::default() }).await;
            stage.model.answer(trouble);
            stage.model.answer(Answer::text("at last"));
            let answer = stage.ask("hello").await;
            let bodies = stage.bodies();
            // The repeated request is identical, so the provider's cache still applies and nothing is stored twice.
            assert_eq!((bodies.len(), &bodies[0]), (2, &bodies[1]), "{wire:?}");
            assert_eq!(answer["steps"].as_array().unwrap().len(), 2);
            assert_eq!(answer["turn"]["answer"], "at last");
        }
    }
}

#[tokio::test]
async fn after_a_failure_the_next_turn_knows_why() {
    let mut stage = Stage::chat().await;
    for (trouble, kind, reason) in [
        (Answer::empty().stop(Stop::Refused), "refused", "the model refused to answer"),
        (Answer::empty(), "no_answer", "no answer came"),
        (
            Answer::text(&"word ".repeat(40)).in_deltas(20).cut_after_events(12),
            "provider_failed",
            "the model's provider failed",
        ),
    ] {
        stage.model.answer(trouble);
        assert_eq!(stage.fail("hello").await["kind"], kind);
        stage.model.answer(Answer::text("better"));
        stage.ask("again").await;
        let line = format!("The turn before this one failed ({reason}) before it called a tool.");
        assert_eq!(stage.last_body().to_string().matches(&line).count(), 1, "{kind}");
    }
    let body = stage.last_body();
    assert!(!json!(body["messages"]).to_string().contains("word word"), "what broke off is not replayed");
}

#[tokio::test]
async fn an_answer_that_stays_cut_off_is_said_to_be() {
    let mut stage = Stage::chat().await;
    for part in ["The total is 12", "34", "56", "78"] {
        stage.model.answer(Answer::text(part).stop(Stop::MaxOutputTokens));
    }
    let answer = stage.ask("How much?").await;
    assert_eq!(answer["turn"]["answer"], "The total is 12345678");
    let last = answer["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(last["cut"], true, "{last}");
    let params = stage.with(json!({ "turn_id": answer["turn"]["id"] }));
    let explained = stage.socket.ok("turn/explain", params).await;
    assert_eq!(explained["explanation"]["rounds"][3]["outcome"]["cut"], true, "{explained}");
}

#[tokio::test]
async fn white_space_is_no_answer() {
    let mut stage = Stage::chat().await;
    stage.model.answer(Answer::text("  \n"));
    let failed = stage.fail("Say something.").await;
    assert_eq!(failed["kind"], "no_answer", "{failed}");
}

#[tokio::test]
async fn calls_of_different_turns_have_different_ids_in_one_request() {
    let mut stage = Stage::agent(&[("a.txt", "text\n")]).await;
    for _ in 0..2 {
        stage.model.answer(Answer::empty().tool_call("same", "read_file", r#"{"path":"a.txt"}"#));
        stage.model.answer(Answer::text("Read."));
        stage.ask("Read a.txt.").await;
    }
    let body = stage.last_body();
    let blocks = body["messages"].as_array().unwrap().iter().flat_map(|it| it["content"].as_array().unwrap());
    let calls: Vec<&str> =
        blocks.filter(|block| block["type"] == "tool_use").filter_map(|block| block["id"].as_str()).collect();
    // Providers reject a request in which an id occurs twice, although each turn on its own is valid.
    assert_eq!(calls, ["same", "same_2"]);
}
