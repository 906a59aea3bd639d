//! Failures of a model and its provider within a turn.

use scripted_model::{Answer, Stop, Wire};
use serde_json::json;

use crate::stage::{Setting, Stage};

#[tokio::test]
async fn repeatedly_truncated_calls_end_the_turn() {
    let stage = Stage::agent(&[]).await;
    // The JSON ends inside a key, as it does when the answer reaches its maximum length. Running such a
    // call could write half a file.
    stage.model.answer_by(|_| {
        Answer::empty().tool_call("c", "write_file", r#"{"path":"a.txt","con"#).stop(Stop::MaxOutputTokens)
    });
    let error = stage.fail("write").await;
    let message = error["message"].as_str().unwrap();
    assert_eq!(error["kind"], "no_answer");
    assert!(message.contains("inside a call to `write_file`, which did not run"), "{message}");
    assert_eq!(stage.bodies().len(), 4);
    assert!(!stage.path("a.txt").exists());
}

#[tokio::test]
async fn a_busy_provider_gets_the_same_request_again() {
    for wire in [Wire::Anthropic, Wire::Openai, Wire::OpenaiCompatible] {
        for trouble in [
            Answer::rate_limited("0"),
            Answer::too_many_requests(),
            Answer::failure(529),
            Answer::text("never heard").cut_after_bytes(0),
        ] {
            let stage = Stage::set(Setting { wire, ..Setting::default() }).await;
            stage.model.answer(trouble);
            stage.model.answer(Answer::text("at last"));
            let answer = stage.ask("hello").await;
            // Equal bodies also keep the provider's cache valid for the second attempt.
            let bodies = stage.bodies();
            assert_eq!((bodies.len(), &bodies[0]), (2, &bodies[1]), "{wire:?}");
            assert_eq!(answer["steps"].as_array().unwrap().len(), 2);
            assert_eq!(answer["turn"]["answer"], "at last");
        }
    }
}

#[tokio::test]
async fn the_next_turn_knows_why_the_last_one_failed() {
    let stage = Stage::chat().await;
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
async fn an_answer_that_stays_truncated_is_marked() {
    let stage = Stage::chat().await;
    // Each part reaches the maximum length and asks for a continuation. The turn has to give up at some
    // point and must not look complete.
    for part in ["The total is 12", "34", "56", "78"] {
        stage.model.answer(Answer::text(part).stop(Stop::MaxOutputTokens));
    }
    let answer = stage.ask("How much?").await;
    assert_eq!(answer["turn"]["answer"], "The total is 12345678");
    let last = answer["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(last["cut"], true, "{last}");
    let turn = answer["turn"]["id"].as_str().unwrap().parse().unwrap();
    let explanation = stage.agent.explain(&stage.workspace_id, &turn).await.unwrap();
    assert!(explanation.rounds[3].outcome.as_ref().unwrap().cut, "{explanation:?}");
}

#[tokio::test]
async fn whitespace_is_not_an_answer() {
    let stage = Stage::chat().await;
    stage.model.answer(Answer::text("  \n"));
    let failed = stage.fail("Say something.").await;
    assert_eq!(failed["kind"], "no_answer", "{failed}");
}

#[tokio::test]
async fn call_ids_differ_between_turns() {
    let stage = Stage::agent(&[("a.txt", "text\n")]).await;
    // Some providers restart their ids in every answer, but reject a history in which two calls share one.
    for _ in 0..2 {
        stage.model.answer(Answer::empty().tool_call("same", "read_file", r#"{"path":"a.txt"}"#));
        stage.model.answer(Answer::text("Read."));
        stage.ask("Read a.txt.").await;
    }
    let body = stage.last_body();
    let blocks = body["messages"].as_array().unwrap().iter().flat_map(|it| it["content"].as_array().unwrap());
    let calls: Vec<&str> =
        blocks.filter(|block| block["type"] == "tool_use").filter_map(|block| block["id"].as_str()).collect();
    assert_eq!(calls, ["same", "same_2"]);
}
