//! A scripted model as a program, for tests that are not written in Rust.
//!
//! It prints its address for the API of OpenAI, then reads answers from standard input, one JSON object a line:
//! `{"text": …, "deltas": …, "pause_ms": …, "calls": [{"id": …, "name": …, "arguments": {…}}]}`. It ends
//! with its input.
#![expect(clippy::print_stdout, reason = "the program reports to the test that started it")]

use std::io::BufRead as _;
use std::time::Duration;

use anyhow::Context as _;
use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let model = ScriptedModel::start().await?;
    println!("{}", json!({ "url": model.base_url(Wire::OpenaiCompatible) }));
    let read = tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lock().lines() {
            let script: Value = serde_json::from_str(&line?).context("an answer is not JSON")?;
            model.answer(answer(&script)?);
        }
        anyhow::Ok(())
    });
    read.await?
}

fn answer(script: &Value) -> anyhow::Result<Answer> {
    let mut answer = Answer::empty();
    if let Some(text) = script["text"].as_str() {
        answer = answer.and_text(text);
    }
    for call in script["calls"].as_array().into_iter().flatten() {
        let id = call["id"].as_str().context("a call has no id")?;
        let name = call["name"].as_str().context("a call has no name")?;
        answer = answer.tool_call(id, name, &call["arguments"].to_string());
    }
    if let Some(deltas) = script["deltas"].as_u64() {
        answer = answer.in_deltas(usize::try_from(deltas)?);
    }
    if let Some(pause) = script["pause_ms"].as_u64() {
        answer = answer.drip(Duration::from_millis(pause));
    }
    Ok(answer)
}
