//! The body that each API receives for the same request.

use std::path::PathBuf;

use provider::{
    Block, ChatRequest, Message, MessageRole, ProviderKind, Reasoning, ReasoningEffort, SystemParts,
    ToolCall, ToolChoice, ToolResult, ToolSpec,
};
use scripted_model::Answer;
use serde_json::{Value, json};

use crate::stage::{KINDS, Stage};

/// Environment variable that rewrites the files instead of comparing them.
const UPDATE: &str = "UPDATE_GOLDEN";

fn tool(name: &str, parameter: &str) -> ToolSpec {
    let properties = json!({ parameter: { "type": "string" } });
    let schema = json!({ "type": "object", "properties": properties, "required": [parameter] });
    ToolSpec { name: name.to_owned(), description: format!("The tool {name}."), schema }
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() })
}

/// Returns reasoning of every kind; an adapter must select its own.
fn reasoning(value: &str) -> [Block; 3] {
    [
        (ProviderKind::Anthropic, json!({ "type": "thinking", "thinking": value, "signature": "signed" })),
        (
            ProviderKind::Openai,
            json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": value }),
        ),
        (ProviderKind::OpenaiCompatible, json!({ "reasoning_content": value })),
    ]
    .map(|(kind, value)| {
        Block::Reasoning(Reasoning { kind, model: "claude-opus-5".to_owned(), text: String::new(), value })
    })
}

/// Returns the second round of a turn after an earlier turn, with every feature of a request.
pub(crate) fn full_request() -> ChatRequest {
    let mut older = reasoning("old thoughts").to_vec();
    older.push(Block::text("It is a library."));
    let mut present = reasoning("new thoughts").to_vec();
    present.extend([
        Block::text("I will read both."),
        call("call_a", "read_file", r#"{"path": "a.rs"}"#),
        call("call_b", "list_dir", r#"{"path": "#),
    ]);
    let mut results = Message::results([
        ToolResult {
            call_id: "call_a".to_owned(),
            blocks: vec![
                "fn a() {}".to_owned(),
                "<system-reminder>Mind AGENTS.md.</system-reminder>".to_owned(),
            ],
            is_error: false,
        },
        ToolResult::new("call_b", "the arguments are not JSON").failed(),
    ]);
    results.blocks.push(Block::text("Write the arguments as JSON."));
    let messages = vec![
        Message::user("What is this?"),
        Message::assistant(older),
        Message {
            role: MessageRole::User,
            blocks: vec![
                Block::text("Compare a.rs and src."),
                Block::text("# Turn\n\nIt is Sunday."),
                Block::text(""),
            ],
        },
        Message::assistant(present),
        results,
    ];
    ChatRequest {
        system: SystemParts {
            stable: "You are careful. ".repeat(64),
            session: "# Project\n\nUse whole words.".to_owned(),
        },
        tools: vec![tool("read_file", "path"), tool("list_dir", "path")],
        max_output_tokens: 8_000,
        cache_key: Some("thread-1".to_owned()),
        reasoning: Some(ReasoningEffort::High),
        ..ChatRequest::new("claude-opus-5", messages)
    }
}

/// Returns the body that a provider of this kind sends.
async fn sent(kind: ProviderKind, request: &ChatRequest) -> Value {
    let kind = *KINDS.iter().find(|(other, _)| *other == kind).unwrap();
    let stage = Stage::with(kind, [Answer::text("Hello.")]).await;
    stage.provider().complete(request).await.unwrap();
    stage.model.requests().remove(0).body
}

#[tokio::test]
async fn full_request_matches_the_golden_files() {
    for (kind, name) in [
        (ProviderKind::Anthropic, "anthropic"),
        (ProviderKind::Openai, "openai"),
        (ProviderKind::OpenaiCompatible, "openai_compatible"),
    ] {
        let body = format!("{:#}\n", sent(kind, &full_request()).await);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&path, &body).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(body, expected, "{} differs; {UPDATE}=1 writes it", path.display());
    }
}

#[tokio::test]
async fn tools_stay_listed_if_calls_are_forbidden() {
    for (kind, auto, none, required) in [
        (ProviderKind::Anthropic, json!({"type": "auto"}), json!({"type": "none"}), json!({"type": "any"})),
        (ProviderKind::Openai, json!("auto"), json!("none"), json!("required")),
        (ProviderKind::OpenaiCompatible, json!("auto"), json!("none"), json!("required")),
    ] {
        let before = sent(kind, &full_request()).await;
        assert_eq!(before["tool_choice"], auto);
        for (choice, expected) in [(ToolChoice::None, none), (ToolChoice::Required, required)] {
            let body = sent(kind, &ChatRequest { tool_choice: choice, ..full_request() }).await;
            assert_eq!((&body["tool_choice"], &body["tools"]), (&expected, &before["tools"]), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn reasoning_is_requested_as_the_model_requires() {
    let asked = async |kind, model: &str| {
        let request = ChatRequest { model: model.to_owned(), ..full_request() };
        let body = sent(kind, &request).await;
        ["thinking", "output_config", "reasoning", "include", "reasoning_effort"]
            .into_iter()
            .filter_map(|field| Some(format!("{field}={}", body.get(field)?)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (kind, model, expected) in [
        (
            ProviderKind::Anthropic,
            "claude-opus-4-8",
            r#"thinking={"type":"adaptive"} output_config={"effort":"high"}"#,
        ),
        // Half of the output limit is left for the answer.
        (
            ProviderKind::Anthropic,
            "claude-haiku-4-5-20251001",
            r#"thinking={"type":"enabled","budget_tokens":4000}"#,
        ),
        (ProviderKind::Anthropic, "claude-3-5-haiku-latest", ""),
        (
            ProviderKind::Openai,
            "gpt-5.2",
            r#"reasoning={"effort":"high","summary":"auto"} include=["reasoning.encrypted_content"]"#,
        ),
        (ProviderKind::Openai, "gpt-4.1", ""),
        (ProviderKind::OpenaiCompatible, "qwen3", r#"reasoning_effort="high""#),
    ] {
        assert_eq!(asked(kind, model).await, expected, "{model}");
    }
}

#[tokio::test]
async fn minimal_request_has_no_empty_fields() {
    for (kind, _) in KINDS {
        let body = sent(*kind, &ChatRequest::new("m", vec![Message::user("Hello.")])).await;
        for field in
            ["system", "instructions", "tools", "tool_choice", "prompt_cache_key", "thinking", "reasoning"]
        {
            assert!(body.get(field).is_none(), "{kind:?} {field}");
        }
    }
}
