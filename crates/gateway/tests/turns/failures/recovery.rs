//! A transcript of failures of a model and its provider within a turn.

use scripted_model::{Answer, Stop};
use serde_json::Value;

use crate::support::{Setting, Stage, writing};
use crate::transcript::{self, SystemText};

/// Returns the results of a step: the first line of each text, and true for an error.
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
    // The truncated call is in no later request either.
    stage.model.answer(Answer::text("yes"));
    stage.ask("Fine.").await;
    assert!(!stage.last_body().to_string().contains("call_5"));
}
