//! Models with a small window that count more tokens than we do.

use protocol::ThreadMode;
use scripted_model::{Answer, RecordedRequest, Stop, Tokens};
use serde_json::{Value, json};

use crate::stage::{Setting, Stage, texts, writing};

/// Tokens that the server counts for 100 of ours.
const PERCENT: usize = 125;

/// Returns the tokens of a request as the server counts them.
fn size(body: &Value) -> usize {
    let mut all = body["tools"].to_string();
    all.extend(body["system"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()));
    for message in body["messages"].as_array().unwrap() {
        all.push_str("<|start|>");
        all.extend(texts(message));
    }
    tokens::count(tokens::Encoding::Cl100k, &all) * PERCENT / 100
}

/// Answers like a server with a window of `limit` tokens.
fn serve(stage: &Stage, limit: usize, mut answer: impl FnMut(&RecordedRequest) -> Answer + Send + 'static) {
    stage.model.answer_by(move |request| {
        let size = size(&request.body);
        if size > limit {
            let message = format!("prompt is too long: {size} tokens > {limit} maximum");
            let error =
                json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } });
            return Answer::raw(400, "application/json", error.to_string());
        }
        let tokens = Tokens { input: size as u64, output: 20, cached_read: 0, cached_write: 0, reasoning: 0 };
        answer(request).tokens(tokens)
    });
}

fn small(max_context_tokens: usize, response_reserve_tokens: usize) -> agent::TurnSettings {
    agent::TurnSettings { max_context_tokens, response_reserve_tokens, ..writing() }
}

/// Returns the sizes of the requests that were answered, and the number of rejected ones.
fn sizes(stage: &Stage, limit: usize) -> (Vec<usize>, usize) {
    let (fitting, rejected): (Vec<usize>, Vec<usize>) =
        stage.bodies().iter().map(size).partition(|size| *size <= limit);
    (fitting, rejected.len())
}

#[tokio::test]
async fn an_endless_answer_ends_where_the_window_ends() {
    let stage = Stage::set(Setting { turns: small(6_000, 1_000), ..Setting::default() }).await;
    serve(&stage, 6_000, |_| Answer::text(&"one more number ".repeat(240)).stop(Stop::MaxOutputTokens));
    for number in 1..=5 {
        let ended = stage.ask(&format!("Count, part {number}.")).await;
        let steps = ended["steps"].as_array().unwrap();
        assert_eq!(steps.last().unwrap()["cut"], true, "{ended:#}");
        assert!(ended["turn"]["answer"].as_str().unwrap().len() > 3_000, "what was printed is kept");
    }
    let (fitting, rejected) = sizes(&stage, 6_000);
    assert_eq!(rejected, 0, "{fitting:?}");
    assert!(fitting.iter().all(|size| size + 1_000 <= 6_000), "{fitting:?}");
}

#[tokio::test]
async fn a_refused_continuation_ends_the_turn_with_its_answer() {
    let stage = Stage::chat().await;
    stage.model.answer(Answer::text("The first half").stop(Stop::MaxOutputTokens));
    stage.model.answer(Answer::context_too_long());
    let ended = stage.ask("Go.").await;
    assert_eq!(ended["turn"]["answer"], "The first half");
    // The next question does not follow our request to continue, which no model has answered.
    stage.model.answer(Answer::text("Yes."));
    stage.ask("And?").await;
    let body = stage.last_body();
    assert_eq!(texts(&body["messages"][2])[0], "And?", "{body:#}");
}

#[tokio::test]
async fn a_large_file_is_cut_to_the_window() {
    let limit = 8_192;
    let setting = Setting { mode: ThreadMode::Agent, turns: small(limit, 2_048), ..Setting::default() };
    let stage = Stage::set(setting).await;
    // Many short tokens: far fewer characters a token than usual.
    stage.write("dense.txt", &"a1;b2;".repeat(11_000));
    let mut is_read = false;
    serve(&stage, limit, move |_| {
        if std::mem::replace(&mut is_read, true) {
            return Answer::text("Dense.");
        }
        Answer::empty().tool_call("1", "read_file", r#"{"path":"dense.txt"}"#)
    });
    let ended = stage.ask("read it").await;
    assert_eq!(ended["turn"]["answer"], "Dense.");
    assert_eq!(sizes(&stage, limit).1, 0);
    let result = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap()).concat();
    assert!(result.contains("tool.output.trimmed"), "{result}");
}

#[tokio::test]
async fn results_are_trimmed_once_more_if_the_server_refuses_them() {
    let setting = Setting { mode: ThreadMode::Agent, ..Setting::default() };
    let stage = Stage::set(setting).await;
    stage.write("long.txt", &"line of a long file\n".repeat(1_000));
    stage.model.answer(Answer::empty().tool_call("1", "read_file", r#"{"path":"long.txt"}"#));
    stage.model.answer(Answer::context_too_long());
    stage.model.answer(Answer::text("Long."));
    assert_eq!(stage.ask("read it").await["turn"]["answer"], "Long.");
    let result = |body: &Value| texts(&body["messages"][2]).concat();
    let bodies = stage.bodies();
    assert!(result(&bodies[2]).len() * 10 < result(&bodies[1]).len() * 6, "at most half is left");
    // Later turns send what the model has read, or the cached prefix would end there.
    stage.model.answer(Answer::text("Yes."));
    stage.ask("Really?").await;
    assert_eq!(result(&stage.last_body()), result(&bodies[2]));
}

#[tokio::test]
async fn a_window_smaller_than_configured_is_learned() {
    let stage = Stage::chat().await;
    let limit = 4_096;
    serve(&stage, limit, |_| Answer::text(&"some words of an answer ".repeat(60)));
    for number in 1..=12 {
        stage.ask(&format!("{} Question {number}?", "Some words of a question.".repeat(60))).await;
    }
    let (fitting, rejected) = sizes(&stage, limit);
    assert_eq!(rejected, 1, "only the first request that is too long has to be refused: {fitting:?}");
}
