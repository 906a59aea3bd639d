//! A third-party proxy between us and a model: LiteLLM from PyPI, in its own virtual environment.
//!
//! This test does not run by default: it needs Python and network access to install. CONTRIBUTING.md explains how to run it.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use provider::{
    ChatRequest, Message, Provider, ProviderConfig, ProviderKind, StopReason, ToolResult, ToolSpec,
};
use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::stage::{KEY, outcome};

/// Text of the proxy's built-in mock.
const MOCKED: &str = "Hello from a mock.";

/// The running proxy, which is ended on drop.
struct Proxy {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the installed command, or the reason why there is none. It is installed once for all later runs.
fn install(directory: &Path) -> Result<PathBuf, String> {
    let command = directory.join("bin/litellm");
    if command.is_file() {
        return Ok(command);
    }
    let run = |program: &Path, arguments: &[&str]| {
        let said = Command::new(program).args(arguments).output();
        let said = said.map_err(|error| format!("{}: {error}", program.display()))?;
        if said.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Err(format!("{} {}: {last}", program.display(), arguments.join(" ")))
    };
    run(Path::new("python3"), &["-m", "venv", &directory.to_string_lossy()])?;
    run(&directory.join("bin/pip"), &["install", "--quiet", "--prefer-binary", "litellm[proxy]"])?;
    if command.is_file() { Ok(command) } else { Err("LiteLLM installed no command".to_owned()) }
}

impl Proxy {
    async fn start(command: &Path, model: &ScriptedModel) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let config = directory.join(format!("litellm-{port}.json"));
        let base = model.base_url(Wire::OpenaiCompatible);
        // JSON is valid YAML.
        let settings = json!({ "model_list": [
            { "model_name": "mocked", "litellm_params":
                { "model": "openai/mocked", "api_key": KEY, "mock_response": MOCKED } },
            { "model_name": "scripted", "litellm_params":
                { "model": "openai/scripted", "api_key": KEY, "api_base": base } },
        ] });
        std::fs::File::create(&config).unwrap().write_all(settings.to_string().as_bytes()).unwrap();
        let log = directory.join(format!("litellm-{port}.log"));
        let output = std::fs::File::create(&log).unwrap();
        let mut command = Command::new(command);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--config"]).arg(&config);
        // No update checks and no telemetry.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").args(["--telemetry", "False"]);
        // It does not start without a master key, and warns that the tests' key is weak.
        command.env("LITELLM_MASTER_KEY", KEY);
        command.env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true");
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        let mut proxy = Self { child: command.spawn().unwrap(), port, log };
        let ready = async {
            while !proxy.is_ready().await {
                assert!(proxy.child.try_wait().unwrap().is_none(), "it ended: {}", proxy.said());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let ready = tokio::time::timeout(Duration::from_secs(240), ready).await;
        assert!(ready.is_ok(), "the proxy does not become ready: {}", proxy.said());
        proxy
    }

    async fn is_ready(&self) -> bool {
        let ask = async {
            let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
            let request = "GET /health/liveliness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer.starts_with("HTTP/1.1 200"))
        };
        ask.await.unwrap_or(false)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn provider(&self, kind: ProviderKind) -> Provider {
        let path = if kind == ProviderKind::Anthropic { "" } else { "/v1" };
        let base = format!("http://127.0.0.1:{}{path}", self.port);
        let config = ProviderConfig::new("litellm", kind, base);
        Provider::new(config.key_from_environment("KEY", |_| Some(KEY.to_owned()))).unwrap()
    }
}

#[tokio::test]
#[ignore = "installs LiteLLM from PyPI; CONTRIBUTING.md says how to run it"]
async fn litellm_passes_everything_on() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("litellm");
    let command = match install(&directory) {
        Ok(command) => command,
        Err(reason) => {
            #[expect(clippy::print_stderr, reason = "who runs it wants to know why it did nothing")]
            {
                eprintln!("skipped, because LiteLLM cannot be installed: {reason}");
            }
            return;
        }
    };
    let model = ScriptedModel::start().await.unwrap();
    model.require_key(KEY);
    let proxy = Proxy::start(&command, &model).await;
    for kind in [ProviderKind::OpenaiCompatible, ProviderKind::Anthropic, ProviderKind::Openai] {
        let provider = proxy.provider(kind);
        // The proxy cannot stream its mock as Responses; that fails inside the proxy.
        if kind != ProviderKind::Openai {
            let asked = outcome(&provider, &ChatRequest::new("mocked", vec![Message::user("Hello.")])).await;
            assert_eq!(asked.response().message.text(), MOCKED, "{kind:?}");
            assert_eq!(asked.response().stop, StopReason::EndTurn, "{kind:?}");
        }

        model.answer(
            Answer::text("Reading.").tool_call("call_1", "read_file", r#"{"path":"a.rs"}"#).in_deltas(3),
        );
        model.answer(Answer::text("It is empty.").in_deltas(3));
        let mut request = ChatRequest::new("scripted", vec![Message::user("What is in a.rs?")]);
        let path =
            json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
        request.tools.push(ToolSpec {
            name: "read_file".to_owned(),
            description: "Reads a file.".to_owned(),
            schema: path,
        });
        let called = outcome(&provider, &request).await;
        let response = called.response();
        assert_eq!(response.stop, StopReason::ToolCalls, "{kind:?} {}", proxy.said());
        let calls: Vec<_> = response.message.tool_calls().cloned().collect();
        assert_eq!((calls.len(), calls[0].name.as_str()), (1, "read_file"), "{kind:?}");
        assert_eq!(calls[0].input().unwrap()["path"], "a.rs", "{kind:?}");
        request.messages.push(response.message.clone());
        request.messages.push(Message::results([ToolResult::new(&calls[0].id, "")]));
        let answered = outcome(&provider, &request).await;
        assert_eq!(answered.response().message.text(), "It is empty.", "{kind:?}");
        assert!(answered.texts().len() > 1, "{kind:?}: it is streamed");
        assert_eq!(model.remaining(), 0, "{kind:?}");
    }
}
