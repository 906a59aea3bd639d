//! An agent with a scripted model, a project and a thread, without a gateway.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::{Agent, AgentSettings, TurnListener, TurnSettings};
use futures_util::future::BoxFuture;
use protocol::method::{ThreadCreateParams, TurnStartParams, WorkspaceCreateParams};
use protocol::{ThreadId, ThreadMode, TokenReach, TurnId, WorkspaceId};
use provider::{Provider, ProviderConfig, ProviderKind, RetryPolicy};
use scripted_model::{ScriptedModel, Wire};
use serde_json::{Value, json};
use store::{Database, Store};

/// The user who starts all turns.
const ACTOR: &str = "owner";
/// Time after which a test gives up on a turn.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) store: Store,
    pub(crate) agent: Arc<Agent>,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) thread_id: ThreadId,
    project: tempfile::TempDir,
    _home: tempfile::TempDir,
}

/// Settings of a stage.
pub(crate) struct Setting {
    pub(crate) mode: ThreadMode,
    pub(crate) wire: Wire,
    /// Files of the project, as path and text.
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) turns: TurnSettings,
}

impl Default for Setting {
    fn default() -> Self {
        Self { mode: ThreadMode::Chat, wire: Wire::Anthropic, files: &[], turns: TurnSettings::default() }
    }
}

impl Stage {
    /// Creates a chat with default settings.
    pub(crate) async fn chat() -> Self {
        Self::set(Setting::default()).await
    }

    /// Creates an agent in a project with these files, which may write without approval.
    pub(crate) async fn agent(files: &'static [(&'static str, &'static str)]) -> Self {
        Self::set(Setting { mode: ThreadMode::Agent, files, turns: writing(), ..Setting::default() }).await
    }

    pub(crate) async fn set(setting: Setting) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(&Database::Sqlite(home.path().join("foreword.db"))).await.unwrap();
        let settings = settings(&setting, &model, home.path().join("home"));
        let agent = Arc::new(Agent::new(store.clone(), settings, []).unwrap());
        let root_path = Some(project.path().to_str().unwrap().to_owned());
        let new = WorkspaceCreateParams { name: "w".to_owned(), root_path, agents: None };
        let workspace_id = store.create_workspace(new, None).await.unwrap().id;
        let new = ThreadCreateParams {
            workspace_id: workspace_id.clone(),
            folder_id: None,
            title: "t".to_owned(),
            mode: setting.mode,
        };
        let thread_id = store.create_thread(new, None).await.unwrap().id;
        let stage = Self { model, store, agent, workspace_id, thread_id, project, _home: home };
        // Marks the project root, so that the search for instruction files does not leave the temporary directory.
        std::fs::create_dir_all(stage.path(".git")).unwrap();
        for (path, text) in setting.files {
            stage.write(path, text);
        }
        stage
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
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

    /// Starts a turn.
    pub(crate) async fn start(&self, input: &str) -> TurnId {
        self.start_with(json!({ "input": input })).await
    }

    /// Starts a turn with parameters besides the input.
    pub(crate) async fn start_with(&self, others: Value) -> TurnId {
        let mut params = json!({ "workspace_id": self.workspace_id, "thread_id": self.thread_id });
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        let start: TurnStartParams = serde_json::from_value(params).unwrap();
        let reach = TokenReach::Everything;
        self.agent.start_turn(start, Some(ACTOR).into(), reach, Arc::new(Deaf)).await.unwrap().id
    }

    /// Returns the turn in the form of `turn/get`.
    pub(crate) async fn get(&self, turn: &TurnId) -> Value {
        let view = self.agent.turn_view_for(&self.workspace_id, turn, Some(ACTOR)).await.unwrap();
        serde_json::to_value(view).unwrap()
    }

    /// Waits for the end of a turn.
    pub(crate) async fn ended(&self, turn: &TurnId) -> Value {
        self.until(turn, |answer| answer["turn"]["status"] != "running").await
    }

    /// Waits until a turn reaches a state.
    pub(crate) async fn until(&self, turn: &TurnId, mut reached: impl FnMut(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let answer = self.get(turn).await;
            if reached(&answer) {
                return answer;
            }
            assert!(started.elapsed() < PATIENCE, "the turn did not get there: {answer:#}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops a turn and waits for its end.
    pub(crate) async fn cancel(&self, turn: &TurnId) {
        self.agent.cancel_turn(&self.workspace_id, turn, Some(ACTOR)).await.unwrap();
    }

    /// Asks and expects a turn that completes.
    pub(crate) async fn ask(&self, input: &str) -> Value {
        self.ask_with(json!({ "input": input })).await
    }

    pub(crate) async fn ask_with(&self, others: Value) -> Value {
        let turn = self.start_with(others).await;
        let answer = self.ended(&turn).await;
        assert_eq!(answer["turn"]["status"], "completed", "{answer:#}");
        answer
    }

    /// Asks and expects a turn that fails; returns its error.
    pub(crate) async fn fail(&self, input: &str) -> Value {
        let turn = self.start(input).await;
        let answer = self.ended(&turn).await;
        assert_eq!(answer["turn"]["status"], "failed", "{answer:#}");
        answer["turn"]["error"].clone()
    }

    /// Returns all requests to the model, oldest first.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.model.requests().into_iter().map(|request| request.body).collect()
    }

    /// Returns the last request to the model.
    pub(crate) fn last_body(&self) -> Value {
        self.bodies().pop().unwrap()
    }
}

fn settings(setting: &Setting, model: &ScriptedModel, home: PathBuf) -> AgentSettings {
    let kind = match setting.wire {
        Wire::Anthropic => ProviderKind::Anthropic,
        Wire::Openai => ProviderKind::Openai,
        Wire::OpenaiCompatible => ProviderKind::OpenaiCompatible,
    };
    let mut config = ProviderConfig::new("scripted", kind, model.base_url(setting.wire));
    config.api_key = Some("key-of-the-test".to_owned().into());
    // Failures are scripted, so pauses between retries would only slow the tests down.
    let base = Duration::from_millis(5);
    let longest = Duration::from_millis(20);
    config.retry = RetryPolicy { base, longest, ..RetryPolicy::default() };
    std::fs::create_dir_all(&home).unwrap();
    let mut settings = AgentSettings::new(home);
    settings.providers = [Provider::new(config).unwrap()].into_iter().collect();
    settings.default_model = Some("scripted/claude-opus-5".to_owned());
    settings.turns = setting.turns.clone();
    settings
}

/// Settings of turns that may write without approval.
pub(crate) fn writing() -> TurnSettings {
    let mut turns = TurnSettings::default();
    turns.permissions.write = tools::Permission::Allow;
    turns
}

/// A shell without a sandbox, which is not available to root. The sandbox has its own tests.
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

/// A listener that ignores everything.
struct Deaf;

impl TurnListener for Deaf {
    fn delta<'a>(&'a self, _: &'a TurnId, _: u64, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn retrying<'a>(&'a self, _: &'a TurnId, _: u32, _: Duration, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn is_gone(&self) -> bool {
        false
    }
}
