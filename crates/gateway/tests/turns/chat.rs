//! Questions and answers without tools.

use scripted_model::{Answer, Tokens, Wire};
use serde_json::{Value, json};

use crate::support::{MODEL, Setting, Socket, Stage, id, post, texts};

#[tokio::test]
async fn an_answer_is_streamed_and_stored() {
    let mut stage = Stage::chat().await;
    let tokens = Tokens { input: 50, output: 7, cached_read: 40, cached_write: 0, reasoning: 0 };
    stage.model.answer(Answer::text("The answer is 42.").in_deltas(4).tokens(tokens));
    let subscribe = stage.with(json!({}));
    stage.socket.ok("events/subscribe", subscribe).await;
    let turn = stage.start("What is the answer?").await;

    let (mut said, mut pieces, mut methods) = (String::new(), 0, Vec::new());
    loop {
        let notification = stage.socket.notification().await;
        let params = &notification["params"];
        assert_eq!(params["turn_id"], turn.as_str());
        let method = notification["method"].as_str().unwrap().to_owned();
        if method == "turn/delta" {
            assert_eq!(params["index"], pieces);
            pieces += 1;
            // Deltas are not in the change log, so they have no position to resume from.
            assert!(params.get("seq").is_none());
            said.push_str(params["text"].as_str().unwrap());
            continue;
        }
        assert!(params["seq"].is_u64());
        methods.push(method.clone());
        if method == "turn/completed" {
            break;
        }
    }
    assert_eq!(said, "The answer is 42.");
    assert_eq!(methods, ["turn/started", "turn/manifest", "turn/completed"]);

    let got = stage.get(&turn).await;
    assert_eq!(got["turn"]["answer"], "The answer is 42.");
    assert_eq!(got["turn"]["model"], format!("scripted/{MODEL}"));
    assert_eq!(
        got["turn"]["usage"],
        json!({ "input": 50, "output": 7, "cached_read": 40, "cached_write": 0, "reasoning": 0 })
    );
    let roles: Vec<&Value> = got["steps"].as_array().unwrap().iter().map(|step| &step["role"]).collect();
    assert_eq!(roles, ["user", "assistant"]);

    let body = stage.last_body();
    assert_eq!(texts(&body["messages"][0])[0], "What is the answer?");
    let tools = body["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("request_tools")), "memory can be asked for");
}

#[tokio::test]
async fn reasoning_tokens_reach_the_client() {
    let mut stage = Stage::set(Setting { wire: Wire::Openai, ..Setting::default() }).await;
    let tokens = Tokens { input: 50, output: 37, cached_read: 0, cached_write: 0, reasoning: 30 };
    stage.model.answer(Answer::text("thought about").tokens(tokens));
    let got = stage.ask("Think.").await;
    assert_eq!(got["turn"]["usage"]["reasoning"], 30);
}

#[tokio::test]
async fn earlier_turns_are_replayed_unchanged() {
    for wire in [Wire::Anthropic, Wire::Openai, Wire::OpenaiCompatible] {
        let mut stage = Stage::set(Setting { wire, ..Setting::default() }).await;
        let effective = stage.with(json!({ "content": "Answer in rhymes." }));
        stage.socket.ok("thread/agents_doc/save", effective).await;
        stage.model.answer(Answer::text("first answer"));
        stage.model.answer(Answer::text("second answer"));
        stage.ask("first question").await;
        stage.ask("second question").await;
        let bodies = stage.bodies();
        let key = if wire == Wire::Openai { "input" } else { "messages" };
        let before = bodies[0][key].as_array().unwrap();
        let after = bodies[1][key].as_array().unwrap();
        assert_eq!(after.len(), before.len() + 2);
        let text = bodies[1].to_string();
        for said in ["first question", "first answer", "second question", "Answer in rhymes."] {
            assert_eq!(text.matches(said).count(), 1, "{said} in {text}");
        }
        assert!(text.find("first question") < text.find("first answer"));
        assert!(text.find("first answer") < text.find("second question"));
    }
}

#[tokio::test]
async fn a_turn_over_http_outlives_its_connection() {
    let stage = Stage::chat().await;
    stage.model.answer(Answer::text("done").in_deltas(2));
    let secret = stage.gateway.owner_secret().unwrap();
    let params = stage.with(json!({ "thread_id": stage.thread, "input": "hello" }));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "turn/start", "params": params });
    let answer = post(&stage.gateway, &secret, call.to_string()).await.json();
    let turn = id(&answer["result"]["turn"]);
    let mut stage = stage;
    assert_eq!(stage.ended(&turn).await["turn"]["answer"], "done");
}

#[tokio::test]
async fn only_the_asking_connection_receives_deltas() {
    let mut stage = Stage::chat().await;
    let mut other = Socket::owner(&stage.gateway).await;
    other.ok("events/subscribe", stage.with(json!({}))).await;
    stage.model.answer(Answer::text("one two three").in_deltas(3));
    stage.ask("hello").await;
    loop {
        let method = other.notification().await["method"].as_str().unwrap().to_owned();
        // Deltas of every turn to every subscriber would be far too much traffic; others use `turn/watch`.
        assert_ne!(method, "turn/delta");
        if method == "turn/completed" {
            break;
        }
    }
}

#[tokio::test]
async fn turns_are_listed_newest_first_and_in_pages() {
    let mut stage = Stage::chat().await;
    for number in 1..=3 {
        stage.model.answer(Answer::text(&format!("answer {number}")));
        stage.ask(&format!("question {number}")).await;
    }
    let mut list = async |others: Value| {
        let mut params = stage.with(json!({ "thread_id": stage.thread }));
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        let turns = stage.socket.ok("turn/list", params).await["turns"].clone();
        let inputs = turns.as_array().unwrap().iter().map(|turn| turn["input"].as_str().unwrap().to_owned());
        inputs.collect::<Vec<String>>()
    };
    assert_eq!(list(json!({})).await, ["question 3", "question 2", "question 1"]);
    assert_eq!(list(json!({ "limit": 1 })).await, ["question 3"]);
    assert_eq!(list(json!({ "limit": 1, "before": 3 })).await, ["question 2"]);
}

#[tokio::test]
async fn a_turn_can_select_another_model() {
    let mut stage = Stage::chat().await;
    stage.model.answer(Answer::text("yes"));
    stage.ask_with(json!({ "input": "hello", "model": "scripted/claude-haiku-4-5" })).await;
    assert_eq!(stage.last_body()["model"], "claude-haiku-4-5");
}

#[tokio::test]
async fn an_explanation_lists_the_sources_of_the_prompt() {
    let mut stage = Stage::set(Setting { files: &[("AGENTS.md", "be brief")], ..Setting::default() }).await;
    let save = stage.with(json!({ "content": "Answer in rhymes." }));
    let document = stage.socket.ok("thread/agents_doc/save", save).await["doc"].clone();
    stage.model.answer(Answer::text("yes"));
    let turn = stage.ask("hello").await["turn"]["id"].as_str().unwrap().to_owned();
    // The explanation must come from the store alone, so the file is removed.
    std::fs::remove_file(stage.path("AGENTS.md")).unwrap();
    let params = stage.with(json!({ "turn_id": turn }));
    let explained = stage.socket.ok("turn/explain", params).await["explanation"].clone();
    assert_eq!(explained["files"][0]["path"], json!(stage.path("AGENTS.md")));
    assert_eq!(explained["files"][0]["delivery"], "initial");
    let sources = explained["sources"].as_array().unwrap();
    let source = sources.iter().find(|source| source["section_id"] == "agents_md").unwrap();
    assert_eq!(
        (&source["id"], &source["version"], &source["sha256"]),
        (&document["id"], &document["version"], &document["content_sha256"])
    );
    let hooks = explained["hooks"].as_array().unwrap();
    assert!(hooks.iter().any(|hook| hook["hook_id"] == agent::DOCUMENT_HOOK), "{hooks:?}");
    assert_eq!(
        (explained["rounds"].as_array().unwrap().len(), &explained["turn"]["answer"]),
        (1, &json!("yes"))
    );
    assert_eq!(explained["history"]["turns"], 0);
}
