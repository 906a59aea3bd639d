//! A gateway with a scripted model, a project, a thread, and a connected client.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent::{AgentSettings, PromptSettings, TurnSettings};
use gateway::GatewaySettings;
use provider::{Provider, ProviderConfig, ProviderKind, RetryPolicy};
use scripted_model::{ScriptedModel, Wire};
use serde_json::{Value, json};
use test_gateway::TestGateway;

use super::{PATIENCE, Socket, id};

/// The model's name in every test, but for its provider.
pub(crate) const MODEL: &str = "claude-opus-5";

/// Everything a turn needs.
pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) gateway: TestGateway,
    pub(crate) socket: Socket,
    pub(crate) workspace: String,
    pub(crate) thread: String,
    project: tempfile::TempDir,
}

/// Parameters of a stage.
pub(crate) struct Setting {
    pub(crate) mode: &'static str,
    pub(crate) wire: Wire,
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) turns: TurnSettings,
    pub(crate) prompt: PromptSettings,
    pub(crate) mcp: mcp::McpSettings,
    pub(crate) change: fn(&mut ProviderConfig),
    /// Other settings of turns.
    pub(crate) agent: fn(&mut AgentSettings),
    /// `None` for one in the data directory.
    pub(crate) database: Option<store::Database>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            mode: "chat",
            wire: Wire::Anthropic,
            files: &[],
            turns: TurnSettings::default(),
            prompt: PromptSettings::default(),
            mcp: mcp::McpSettings::default(),
            change: |_| {},
            agent: |_| {},
            database: None,
        }
    }
}

/// Puts the scripted model where a gateway's providers are.
pub(crate) fn with_model(settings: &mut GatewaySettings, model: &ScriptedModel, setting: &Setting) {
    let kind = match setting.wire {
        Wire::Anthropic => ProviderKind::Anthropic,
        Wire::Openai => ProviderKind::Openai,
        Wire::OpenaiCompatible => ProviderKind::OpenaiCompatible,
    };
    let mut config = ProviderConfig::new("scripted", kind, model.base_url(setting.wire));
    config.api_key = Some("key-of-the-test".to_owned().into());
    // Tests of retries must not wait for real backoff.
    let base = Duration::from_millis(5);
    let longest = Duration::from_millis(20);
    config.retry = RetryPolicy { base, longest, ..RetryPolicy::default() };
    (setting.change)(&mut config);
    // A second provider without a key, to test errors about it.
    let vendor = ProviderConfig::built_in("openai", |_| None).unwrap();
    settings.agent.providers =
        [config, vendor].into_iter().map(|config| Provider::new(config).unwrap()).collect();
    settings.agent.default_model = Some(format!("scripted/{MODEL}"));
    settings.agent.turns = setting.turns.clone();
    settings.agent.prompt = setting.prompt.clone();
    (setting.agent)(&mut settings.agent);
    settings.mcp = setting.mcp.clone();
    if let Some(database) = &setting.database {
        settings.database = Some(database.clone());
    }
    // The home directory belongs to the gateway's data directory, which exists only now, so it cannot be part of the
    // setting.
    let homes = std::mem::take(&mut settings.agent.files.homes);
    settings.agent.files.homes = homes.with(&instructions::FOREWORD, &settings.agent.home);
}

impl Stage {
    /// Creates a chat with default settings.
    pub(crate) async fn chat() -> Self {
        Self::set(Setting::default()).await
    }

    /// Creates an agent in a project with these files that may write without approval.
    pub(crate) async fn agent(files: &'static [(&'static str, &'static str)]) -> Self {
        Self::set(Setting { mode: "agent", files, turns: writing(), ..Setting::default() }).await
    }

    pub(crate) async fn set(setting: Setting) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let gateway =
            TestGateway::start_with(|settings| with_model(settings, &model, &setting)).await.unwrap();
        let project = tempfile::tempdir().unwrap();
        let mut socket = Socket::owner(&gateway).await;
        let made = json!({ "name": "w", "root_path": project.path() });
        let workspace = id(&socket.ok("workspace/create", made).await["workspace"]);
        let made = json!({ "workspace_id": workspace, "title": "t", "mode": setting.mode });
        let thread = id(&socket.ok("thread/create", made).await["thread"]);
        let stage = Self { model, gateway, socket, workspace, thread, project };
        // The marker ends the search for the project's root, so files above the temporary directory cannot influence a
        // test.
        std::fs::create_dir_all(stage.path(".git")).unwrap();
        for (path, text) in setting.files {
            stage.write(path, text);
        }
        stage
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        // The gateway reports resolved paths, and the system's temporary directory may be a link.
        self.project.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Returns `others` with the workspace's id added.
    pub(crate) fn with(&self, others: Value) -> Value {
        let mut params = json!({ "workspace_id": self.workspace });
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        params
    }

    /// Starts a turn and returns its id.
    pub(crate) async fn start(&mut self, input: &str) -> String {
        self.start_with(json!({ "input": input })).await
    }

    /// Starts a turn with more parameters than the input.
    pub(crate) async fn start_with(&mut self, others: Value) -> String {
        let mut params = self.with(json!({ "thread_id": self.thread }));
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        let turn = &self.socket.ok("turn/start", params).await["turn"];
        assert_eq!(turn["status"], "running");
        id(turn)
    }

    /// Returns the turn as `turn/get` reports it.
    pub(crate) async fn get(&mut self, turn: &str) -> Value {
        let params = self.with(json!({ "turn_id": turn }));
        self.socket.ok("turn/get", params).await
    }

    /// Waits for a turn's end.
    pub(crate) async fn ended(&mut self, turn: &str) -> Value {
        self.until(turn, |answer| answer["turn"]["status"] != "running").await
    }

    /// Waits until a turn satisfies the condition.
    pub(crate) async fn until(&mut self, turn: &str, mut reached: impl FnMut(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.get(turn).await;
            if reached(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < PATIENCE, "waited in vain, the turn is {answer:#}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Runs a turn that must complete.
    pub(crate) async fn ask(&mut self, input: &str) -> Value {
        self.ask_with(json!({ "input": input })).await
    }

    pub(crate) async fn ask_with(&mut self, others: Value) -> Value {
        let turn = self.start_with(others).await;
        let answer = self.ended(&turn).await;
        assert_eq!(answer["turn"]["status"], "completed", "{answer:#}");
        answer
    }

    /// Runs a turn that must fail, and returns its error.
    pub(crate) async fn fail(&mut self, input: &str) -> Value {
        let turn = self.start(input).await;
        let answer = self.ended(&turn).await;
        assert_eq!(answer["turn"]["status"], "failed", "{answer:#}");
        answer["turn"]["error"].clone()
    }

    /// Returns the requests the model received, oldest first.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.model.requests().into_iter().map(|request| request.body).collect()
    }

    /// Returns the latest request.
    pub(crate) fn last_body(&self) -> Value {
        self.bodies().pop().unwrap()
    }
}

/// Returns settings for turns that write without approval.
pub(crate) fn writing() -> TurnSettings {
    let mut turns = TurnSettings::default();
    turns.permissions.write = tools::Permission::Allow;
    turns
}

/// Settings of a shell without a sandbox, which root cannot have. The sandbox crate tests the confinement.
pub(crate) fn unconfined_shell() -> tools::ShellSettings {
    let program = tools::Program::at(test_sandbox::guard_program().unwrap());
    tools::ShellSettings { sandbox: protocol::SandboxLevel::Off, program, ..Default::default() }
}

/// Returns all texts of a message in Anthropic's format, including tool results.
pub(crate) fn texts(message: &Value) -> Vec<String> {
    let text = |block: &Value| block["text"].as_str().map(str::to_owned);
    match &message["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks
            .iter()
            .flat_map(|block| match &block["content"] {
                Value::Array(inner) => inner.iter().filter_map(text).collect(),
                Value::String(inner) => vec![inner.clone()],
                _ => text(block).into_iter().collect::<Vec<_>>(),
            })
            .collect(),
        other => panic!("{other}"),
    }
}
