//! An agent reads a file, requests to write one, and answers.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use provider::{Provider, ProviderConfig, ProviderKind};
use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::json;
use test_gateway::TestGateway;

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent.py");
const RUST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/main.rs");

/// Output of an agent: the answer on standard output, and the rest.
async fn asked(mut agent: Command, decision: &'static str) -> (String, String) {
    let model = ScriptedModel::start().await.unwrap();
    let wire = Wire::Anthropic;
    let note = json!({ "path": "notes.md", "content": "Cents.\n" }).to_string();
    model.answer(Answer::text("I look.").tool_call("call_1", "read_file", r#"{"path":"billing/total.py"}"#));
    model.answer(Answer::empty().tool_call("call_2", "write_file", &note));
    model.answer(Answer::text("It is a sum – of cents.").in_deltas(5));
    let gateway = TestGateway::start_with(|settings| {
        let mut config = ProviderConfig::new("scripted", ProviderKind::Anthropic, model.base_url(wire));
        config.api_key = Some("key-of-the-test".to_owned().into());
        settings.agent.providers = [Provider::new(config).unwrap()].into_iter().collect();
        settings.agent.default_model = Some("scripted/claude-opus-5".to_owned());
    });
    let gateway = gateway.await.unwrap();
    let project = tempfile::tempdir().unwrap();
    let root = project.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("billing")).unwrap();
    std::fs::write(root.join("AGENTS.md"), "Use British spelling.\n").unwrap();
    std::fs::write(root.join("billing/AGENTS.md"), "Money is in cents.\n").unwrap();
    std::fs::write(root.join("billing/total.py"), "total = 0\n").unwrap();
    let workspace = protocol::method::WorkspaceCreateParams {
        name: "shop".to_owned(),
        root_path: Some(root.display().to_string()),
        agents: None,
    };
    let owner = gateway.owner_in_memory();
    owner.call::<protocol::method::WorkspaceCreate>(&workspace).await.unwrap();

    agent.args(["shop", "Where is the total computed?"]).env("FOREWORD_DATA", gateway.data());
    agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || {
        let mut agent = agent.spawn().expect("start the agent");
        agent.stdin.take().unwrap().write_all(decision.as_bytes()).unwrap();
        agent.wait_with_output().unwrap()
    });
    let output = output.await.unwrap();
    let text =
        |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&root.display().to_string(), "/shop");
    let said = text(output.stdout);
    let beside = text(output.stderr);
    assert!(output.status.success(), "{beside}");
    let wrote = root.join("notes.md").exists();
    assert_eq!(wrote, decision == "yes\n", "{beside}");
    (said, beside)
}

async fn check(agent: impl Fn() -> Command) {
    // The texts of two rounds are separated by an empty line.
    let answer = "I look.\n\nIt is a sum – of cents.\n";
    let (said, beside) = asked(agent(), "yes\n").await;
    assert_eq!(said, answer, "{beside}");
    for expected in [
        "[read_file]",
        "[write_file]",
        "write_file wants to do this:",
        "+Cents.",
        "had /shop/AGENTS.md (",
        "had /shop/billing/AGENTS.md (",
    ] {
        assert!(beside.contains(expected), "no {expected} in:\n{beside}");
    }
    let (said, _) = asked(agent(), "no\n").await;
    assert_eq!(said, answer);
}

#[tokio::test]
async fn the_agent_in_rust() {
    check(|| Command::new(env!("CARGO_BIN_EXE_example-agent"))).await;
}

#[tokio::test]
async fn the_agent_in_python() {
    check(|| {
        let mut python = Command::new("python3");
        python.arg(PYTHON);
        python
    })
    .await;
}

#[test]
fn the_examples_stay_tiny() {
    for path in [PYTHON, RUST] {
        let lines = std::fs::read_to_string(Path::new(path)).unwrap().lines().count();
        assert!(lines < 100, "{path} has {lines} lines");
    }
}
