//! A chat thread and a scripted model.

use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, AgentSettings, TurnListener};
use futures_util::future::BoxFuture;
use hooks::HookPackage;
use protocol::method::{ThreadCreateParams, TurnGetResult, TurnStartParams, WorkspaceCreateParams};
use protocol::{ThreadId, ThreadMode, TokenReach, TurnId, TurnStatus, WorkspaceId};
use provider::{Provider, ProviderConfig, ProviderKind};
use scripted_model::{ScriptedModel, Wire};
use store::{Database, Store};
use tools::ToolSource;

pub(crate) struct Conversation {
    pub(crate) store: Store,
    pub(crate) agent: Arc<Agent>,
    pub(crate) model: ScriptedModel,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) thread_id: ThreadId,
    _directory: tempfile::TempDir,
}

impl Conversation {
    /// Creates a chat on a new SQLite database, with these tools.
    pub(crate) async fn chat(sources: impl IntoIterator<Item = Arc<dyn ToolSource>>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(directory.path().join("foreword.db"));
        Self::chat_on(&database, directory, sources).await
    }

    pub(crate) async fn chat_on(
        database: &Database,
        directory: tempfile::TempDir,
        sources: impl IntoIterator<Item = Arc<dyn ToolSource>>,
    ) -> Self {
        Self::chat_with(database, directory, sources, []).await
    }

    pub(crate) async fn chat_with(
        database: &Database,
        directory: tempfile::TempDir,
        sources: impl IntoIterator<Item = Arc<dyn ToolSource>>,
        packages: impl IntoIterator<Item = HookPackage>,
    ) -> Self {
        Self::chat_set(database, directory, sources, packages, |_| {}).await
    }

    /// Creates a chat with other settings.
    pub(crate) async fn chat_set(
        database: &Database,
        directory: tempfile::TempDir,
        sources: impl IntoIterator<Item = Arc<dyn ToolSource>>,
        packages: impl IntoIterator<Item = HookPackage>,
        change: impl FnOnce(&mut AgentSettings),
    ) -> Self {
        let store = Store::open(database).await.unwrap();
        let model = ScriptedModel::start().await.unwrap();
        let config =
            ProviderConfig::new("scripted", ProviderKind::Anthropic, model.base_url(Wire::Anthropic));
        let mut settings = AgentSettings::new(directory.path().join("home"));
        settings.providers = [Provider::new(config).unwrap()].into_iter().collect();
        settings.default_model = Some("scripted/model".to_owned());
        change(&mut settings);
        let agent = Agent::new(store.clone(), settings, packages).unwrap();
        let agent = Arc::new(sources.into_iter().fold(agent, Agent::with_tools));
        let new = WorkspaceCreateParams { name: "w".to_owned(), root_path: None, agents: None };
        let workspace_id = store.create_workspace(new, None).await.unwrap().id;
        let new = ThreadCreateParams {
            workspace_id: workspace_id.clone(),
            folder_id: None,
            title: "t".to_owned(),
            mode: ThreadMode::Chat,
        };
        let thread_id = store.create_thread(new, None).await.unwrap().id;
        Self { store, agent, model, workspace_id, thread_id, _directory: directory }
    }

    /// Asks, waits for the end, and returns the turn.
    pub(crate) async fn ask(&self, input: &str) -> TurnGetResult {
        let turn_id = self.run(input).await;
        let view = self.agent.turn_view(&self.workspace_id, &turn_id).await.unwrap();
        assert_ne!(view.turn.status, TurnStatus::Running);
        view
    }

    /// Asks as a user other than Ada.
    pub(crate) async fn ask_as(&self, actor: &str, input: &str) -> TurnGetResult {
        let (turn_id, ended) = self.start_as(actor, input).await;
        ended.notified().await;
        self.agent.turn_view(&self.workspace_id, &turn_id).await.unwrap()
    }

    /// Asks and waits for the end of the turn.
    pub(crate) async fn run(&self, input: &str) -> TurnId {
        let (turn_id, ended) = self.start(input).await;
        ended.notified().await;
        turn_id
    }

    /// Asks; the second value is notified at the end of the turn.
    pub(crate) async fn start(&self, input: &str) -> (TurnId, Arc<tokio::sync::Notify>) {
        self.start_as("ada", input).await
    }

    async fn start_as(&self, actor: &str, input: &str) -> (TurnId, Arc<tokio::sync::Notify>) {
        let start = TurnStartParams::new(&self.workspace_id, &self.thread_id, input);
        let ended = Arc::new(tokio::sync::Notify::new());
        let listener = Arc::new(Ended(Arc::clone(&ended)));
        let turn =
            self.agent.start_turn(start, Some(actor).into(), TokenReach::Everything, listener).await.unwrap();
        // The listener is dropped together with the turn, so its drop marks the end.
        (turn.id, ended)
    }
}

/// A listener that only reports the end.
struct Ended(Arc<tokio::sync::Notify>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl TurnListener for Ended {
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
