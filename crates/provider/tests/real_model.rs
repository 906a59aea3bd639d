//! Tool calls of a real model, which llama.cpp serves through all three APIs.
//!
//! `cargo xtask real-model` installs the server and runs this test.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use provider::{
    ChatRequest, Message, Provider, ProviderConfig, StopReason, ToolChoice, ToolResult, ToolSpec,
};
use scripted_model::Trial;
use serde_json::json;

use crate::stage::KINDS;

/// Python of the environment that has the server and the weights.
const PYTHON: &str = "FOREWORD_TEST_REAL_MODEL";
const COUNTERPART: &str = "llama.cpp (xllamacpp 2026.10.11549), SmolLM2 135M";

/// The server, which also ends when its standard input closes.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve() -> (Server, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/real_model/serve.py");
    let mut command = Command::new(std::env::var_os(PYTHON).unwrap());
    command.arg(script).args(["1024", "-", "natural"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(command.spawn().unwrap());
    let mut url = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (server, url.trim().to_owned())
}

#[tokio::test]
#[ignore = "needs the real model: cargo xtask real-model"]
async fn a_real_model_calls_tools() {
    let (_server, url) = serve();
    for (kind, wire) in KINDS {
        let trial = Trial::new(COUNTERPART, format!("{wire:?}: a tool call and its result"));
        let base = if url.is_empty() || *kind == provider::ProviderKind::Anthropic {
            url.clone()
        } else {
            format!("{url}/v1")
        };
        let provider = Provider::new(ProviderConfig::new("real", *kind, base)).unwrap();
        let mut request = ChatRequest::new("smollm2", vec![Message::user("What is in the file a.txt?")]);
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string", "enum": ["a.txt"] } },
            "required": ["path"] });
        let description = "Reads a file.".to_owned();
        request.tools.push(ToolSpec { name: "read_file".to_owned(), description, schema });
        request.max_output_tokens = 100;
        // So small a model calls a tool only if it must. The server then restricts its words to those of a call.
        request.tool_choice = ToolChoice::Required;
        let called = provider.complete(&request).await.unwrap();
        assert_eq!(called.stop, StopReason::ToolCalls, "{kind:?}: {called:?}");
        let call = called.message.tool_calls().next().unwrap().clone();
        assert_eq!((call.name.as_str(), &call.input().unwrap()["path"]), ("read_file", &json!("a.txt")));
        request.messages.push(called.message);
        request.messages.push(Message::results([ToolResult::new(&call.id, "It says: the sky is blue.")]));
        request.tool_choice = ToolChoice::None;
        request.max_output_tokens = 40;
        let answered = provider.complete(&request).await.unwrap();
        assert!(!answered.message.text().trim().is_empty(), "{kind:?}: {answered:?}");
        let tokens = called.usage.input + answered.usage.input;
        trial.succeeded(format!("called with valid arguments, then answered; {tokens} input tokens"));
    }
}
