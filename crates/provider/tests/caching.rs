//! Anthropic's cache breakpoints, for arbitrary requests.

use proptest::prelude::*;
use provider::{
    Block, ChatRequest, Message, MessageRole, Provider, ProviderConfig, ProviderKind, Reasoning, SystemParts,
    ToolCall, ToolResult, ToolSpec,
};
use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::requests::full_request;
use crate::stage::{KINDS, Stage};

/// One server for all cases of a test.
struct Server {
    runtime: Runtime,
    model: ScriptedModel,
}

impl Server {
    fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let model = runtime.block_on(ScriptedModel::start()).unwrap();
        model.answer_by(|_| Answer::text("Hello."));
        Self { runtime, model }
    }

    /// Returns the body sent to Anthropic.
    fn sent(&self, request: &ChatRequest) -> Value {
        let config =
            ProviderConfig::new("tested", ProviderKind::Anthropic, self.model.base_url(Wire::Anthropic));
        self.runtime.block_on(Provider::new(config).unwrap().complete(request)).unwrap();
        self.model.requests().pop().unwrap().body
    }
}

thread_local! {
    // Each test runs in its own thread and gets its own server.
    static SERVER: Server = Server::start();
}

fn sent(request: &ChatRequest) -> Value {
    SERVER.with(|server| server.sent(request))
}

/// Counts the marks at any depth.
fn marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            usize::from(fields.contains_key("cache_control")) + fields.values().map(marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(marks).sum(),
        _ => 0,
    }
}

/// Removes all marks.
fn unmarked(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(|field| *field = unmarked(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unmarked(item.take())),
        _ => {}
    }
    value
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z ]{1,20}", (1usize..8000).prop_map(|count| "x".repeat(count))]
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        text().prop_map(Block::text),
        text().prop_map(|arguments| Block::ToolCall(ToolCall {
            id: "c".to_owned(),
            name: "f".to_owned(),
            arguments
        })),
        (text(), any::<bool>()).prop_map(|(text, is_error)| {
            Block::ToolResult(ToolResult { call_id: "c".to_owned(), blocks: vec![text], is_error })
        }),
        text().prop_map(|text| Block::Reasoning(Reasoning {
            kind: ProviderKind::Anthropic,
            model: "claude-opus-5".to_owned(),
            value: json!({ "type": "thinking", "thinking": text, "signature": "s" }),
            text,
        })),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(MessageRole::User), Just(MessageRole::Assistant), Just(MessageRole::Tool)];
    (role, proptest::collection::vec(block(), 0..5)).prop_map(|(role, blocks)| Message { role, blocks })
}

fn request() -> impl Strategy<Value = ChatRequest> {
    let models = prop_oneof![Just("claude-opus-5"), Just("claude-haiku-4-5"), Just("claude-next")];
    let tool =
        text().prop_map(|description| ToolSpec { name: "f".to_owned(), description, schema: json!({}) });
    let tools = proptest::collection::vec(tool, 0..3);
    let messages = proptest::collection::vec(message(), 0..9);
    (models, text(), text(), text(), tools, messages).prop_map(
        |(model, stable, session, preamble, tools, messages)| ChatRequest {
            system: SystemParts { stable, session },
            preamble,
            tools,
            ..ChatRequest::new(model, messages)
        },
    )
}

#[test]
fn session_part_may_end_with_the_preamble() {
    let long = "word ".repeat(4_000);
    let question = Message::user(format!("question {long}"));
    let answer = Message::assistant(vec![Block::text("answer")]);
    let messages = vec![question, answer, Message::user(format!("more {long}"))];
    let mut request = ChatRequest::new("claude-opus-5", messages);
    request.system = SystemParts { stable: long.clone(), session: "session".to_owned() };
    request.preamble = "# Instructions".to_owned();
    let body = sent(&request);
    assert_eq!(body["messages"][0]["role"], "user");
    assert_eq!(body["messages"][0]["content"][0]["text"], "# Instructions");
    let marked = |place: &str| body.pointer(place).unwrap().get("cache_control").is_some();
    assert!(marked("/system/0") && marked("/messages/0/content/0") && marked("/messages/2/content/0"));
    assert!(!marked("/system/1"), "what is said first comes after it");
    request.preamble.clear();
    let body = sent(&request);
    assert!(body["system"][1].get("cache_control").is_some());
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn at_most_four_places_are_marked(request in request()) {
        let body = sent(&request);
        prop_assert!(marks(&body) <= 4, "{body:#}");
        // The API rejects a request with a marked thinking block.
        let thinking = |block: &Value| block["type"] == "thinking" && block.get("cache_control").is_some();
        let messages = body["messages"].as_array().unwrap();
        prop_assert!(!messages.iter().flat_map(|message| message["content"].as_array().unwrap()).any(thinking));
    }

    #[test]
    fn marks_change_nothing_else(request in request(), more in proptest::collection::vec(message(), 0..3)) {
        // A longer request must begin with the shorter one, or the cache would never match. Reasoning is left out here: it
        // belongs to a turn, and a new turn drops it.
        let plain = |message: Message| Message {
            blocks: message.blocks.into_iter().filter(|block| !matches!(block, Block::Reasoning(_))).collect(),
            ..message
        };
        let mut shorter = request;
        shorter.messages = shorter.messages.into_iter().map(plain).collect();
        let mut longer = shorter.clone();
        longer.messages.extend(more.into_iter().map(plain));
        let shorter = unmarked(sent(&shorter));
        let longer = unmarked(sent(&longer));
        prop_assert_eq!(&shorter["system"], &longer["system"]);
        prop_assert_eq!(&shorter["tools"], &longer["tools"]);
        let before = shorter["messages"].as_array().unwrap();
        let after = longer["messages"].as_array().unwrap();
        let Some((last, before)) = before.split_last() else { return Ok(()) };
        prop_assert_eq!(before, &after[..before.len()]);
        // A message of the same side continues the last one.
        let blocks = |message: &Value| message["content"].as_array().unwrap().clone();
        let continued = blocks(&after[before.len()]);
        prop_assert!(continued.starts_with(&blocks(last)), "{last:#} {continued:#?}");
    }

    #[test]
    fn roles_alternate(request in request()) {
        let body = sent(&request);
        let messages = body["messages"].as_array().unwrap();
        let is_result = |message: &Value| message["content"][0]["type"] == "tool_result";
        for pair in messages.windows(2) {
            prop_assert!(pair[0]["role"] != pair[1]["role"] || is_result(&pair[1]), "{pair:#?}");
        }
    }
}

#[tokio::test]
async fn ends_of_the_parts_are_marked() {
    let stage = Stage::with(KINDS[0], [Answer::text("Hello.")]).await;
    stage.provider().complete(&full_request()).await.unwrap();
    let body = stage.model.requests().remove(0).body;
    assert_eq!(marks(&body), 4);
    for place in [
        // The stable part, after the tools.
        "/system/0",
        "/system/1",
        // The end of the opening message and of the last one.
        "/messages/2/content/1",
        "/messages/4/content/2",
    ] {
        assert!(body.pointer(place).unwrap().get("cache_control").is_some(), "{place} {body:#}");
    }
}

#[test]
fn short_parts_are_not_marked() {
    assert_eq!(marks(&sent(&ChatRequest::new("claude-opus-5", vec![Message::user("Hello.")]))), 0);
    let long = ChatRequest::new("claude-opus-5", vec![Message::user("x".repeat(2_000))]);
    assert_eq!(marks(&sent(&long)), 1);
    let same = ChatRequest { model: "claude-haiku-4-5".to_owned(), ..long };
    assert_eq!(marks(&sent(&same)), 0);
}

#[test]
fn tools_are_marked_without_system_text() {
    let tool = ToolSpec { name: "f".to_owned(), description: "x".repeat(2_000), schema: json!({}) };
    let request = ChatRequest {
        tools: vec![tool.clone(), tool],
        ..ChatRequest::new("claude-opus-5", vec![Message::user("Go.")])
    };
    let body = sent(&request);
    assert_eq!(marks(&body["tools"][0]), 0);
    assert_eq!(marks(&body["tools"][1]), 1);
}
