//! The real components: a gateway on SQLite, a model server, a project and a home directory.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agent::TurnSettings;
use anyhow::Context as _;
use chance::Chance;
use client::Client;
use gateway::GatewaySettings;
use provider::{Provider, ProviderConfig, ProviderKind, RetryPolicy};
use scripted_model::{ScriptedModel, Wire};
use serde_json::json;
use test_gateway::TestGateway;

use crate::simulation::director::Director;
use crate::simulation::documents::{Documents, call};
use crate::simulation::script::{self, Setting, Step};
use crate::simulation::world::World;

/// Small enough to force frequent summaries, large enough to hold all applicable instructions.
const CONTEXT_TOKENS: usize = 20_000;
const RESERVE_TOKENS: usize = 2_000;

pub(crate) struct Stage {
    /// `None` only during a restart.
    gateway: Option<TestGateway>,
    pub(crate) client: Client,
    model: ScriptedModel,
    director: Arc<Mutex<Director>>,
    pub(crate) documents: Documents,
    pub(crate) workspace: String,
    kinds: Vec<ThreadKind>,
    _directory: tempfile::TempDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThreadKind {
    Worker,
    Talker,
    /// A chat with short messages, which reaches the limit on entries before the limit on tokens.
    Brief,
}

impl ThreadKind {
    const ALL: [Self; 3] = [Self::Worker, Self::Talker, Self::Brief];
}

impl Stage {
    pub(crate) async fn set(seed: u64) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        // Requests contain real paths, and the temporary directory is a link on some systems.
        let base = directory.path().canonicalize()?;
        let project = base.join("project");
        let home = base.join("home");
        std::fs::create_dir_all(&project)?;
        std::fs::create_dir_all(&home)?;
        let world = World::new(project.clone(), home.clone())?;
        let director = Arc::new(Mutex::new(Director::new(world, Chance::new(seed))));
        let model = ScriptedModel::start().await?;
        let answering = Arc::clone(&director);
        model.answer_by(move |request| answering.lock().answer(request));
        let gateway = TestGateway::start_with(|it| configure(it, &model, &home)).await?;
        let client = gateway.owner_in_memory();
        let params = json!({ "name": "simulation", "root_path": project });
        let made = call(&client, "workspace/create", &params).await?;
        let workspace = made["workspace"]["id"].as_str().unwrap_or_default().to_owned();
        let documents = Documents::new(&client, &workspace, seed).await?;
        let mut stage = Self {
            gateway: Some(gateway),
            client,
            model,
            director,
            documents,
            workspace,
            kinds: Vec::new(),
            _directory: directory,
        };
        for kind in ThreadKind::ALL {
            stage.add_thread_of(kind).await?;
        }
        Ok(stage)
    }

    pub(crate) fn director(&self) -> MutexGuard<'_, Director> {
        self.director.lock()
    }

    pub(crate) async fn add_thread(&mut self) -> anyhow::Result<String> {
        let kind = *self.director().random.pick(&ThreadKind::ALL);
        self.add_thread_of(kind).await?;
        Ok(format!("began a thread ({kind:?})"))
    }

    async fn add_thread_of(&mut self, kind: ThreadKind) -> anyhow::Result<()> {
        let mode = if kind == ThreadKind::Worker { "agent" } else { "chat" };
        let place = self.director().random.below(4).checked_sub(1);
        self.documents.add_thread(&self.client, mode, place).await?;
        self.kinds.push(kind);
        self.director().checker.add_thread();
        Ok(())
    }

    pub(crate) async fn change_document(&mut self) -> anyhow::Result<String> {
        self.documents.change(&self.client).await
    }

    /// Discards requests that have been checked.
    pub(crate) fn forget_requests(&self) {
        self.model.take_requests();
    }

    /// Restarts the gateway with a clean shutdown.
    pub(crate) async fn restart(&mut self) -> anyhow::Result<()> {
        let gateway = self.gateway.take().context("the gateway is there between restarts")?;
        let home = self.director().world.home.clone();
        let data = gateway.stop().await?;
        let gateway = TestGateway::start_in(data, |it| configure(it, &self.model, &home)).await?;
        self.client = gateway.owner_in_memory();
        self.gateway = Some(gateway);
        Ok(())
    }

    pub(crate) fn script(&self, thread: usize, director: &mut Director) -> VecDeque<Step> {
        let kind = self.kinds[thread];
        let project = director.world.project.clone();
        let setting = Setting {
            project: &project,
            has_tools: kind == ThreadKind::Worker,
            is_brief: kind == ThreadKind::Brief,
        };
        script::write(&mut director.random, &setting)
    }
}

fn configure(settings: &mut GatewaySettings, model: &ScriptedModel, home: &std::path::Path) {
    let mut config =
        ProviderConfig::new("scripted", ProviderKind::Anthropic, model.base_url(Wire::Anthropic));
    config.api_key = Some("key-of-the-simulation".to_owned().into());
    // Retries wait a few milliseconds only, because thousands of turns stumble in a long run.
    let base = Duration::from_millis(1);
    let longest = Duration::from_millis(5);
    config.retry = RetryPolicy { base, longest, ..RetryPolicy::default() };
    settings.agent.providers = Provider::new(config).into_iter().collect();
    settings.agent.default_model = Some("scripted/claude-opus-5".to_owned());
    settings.agent.home = home.to_owned();
    let homes = std::mem::take(&mut settings.agent.files.homes);
    settings.agent.files.homes = homes.with(&instructions::FOREWORD, home);
    let mut turns = TurnSettings {
        max_context_tokens: CONTEXT_TOKENS,
        response_reserve_tokens: RESERVE_TOKENS,
        ..TurnSettings::default()
    };
    turns.permissions.write = tools::Permission::Allow;
    // Writing instruction files must be denied, as the script expects; a question would wait for a person.
    turns.permissions.protected = tools::Permission::Deny;
    settings.agent.turns = turns;
}

/// Returns the current date in the format used in prompts.
pub(crate) fn today() -> String {
    jiff::Timestamp::now().to_string().chars().take(10).collect()
}
