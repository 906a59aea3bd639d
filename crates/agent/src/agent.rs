//! The agent of a gateway: its store, settings, hooks, tools and running turns.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hooks::{HookLimits, HookPackage, HookRegistry, HookRuntime, Recorder, RegistrationError};
use instructions::Cache;
use store::Store;
use tokens::Counter;
use tools::{ShellToolSource, ToolSource};

use crate::domains::documents;
use crate::domains::memory::tools::MemoryTools;
use crate::domains::memory::{self, MemoryDomain};
use crate::domains::skills::{self, SkillTools, SkillsDomain};
use crate::hook_run_writer::HookRunWriter;
use crate::settings::AgentSettings;
use crate::statistics::Statistics;
use crate::turn::handles::RunningTurns;
use crate::turn::queue::Queues;
use crate::turn::window::Windows;

/// Prepares prompts, runs turns, and keeps a record of both.
pub struct Agent {
    pub(crate) store: Store,
    pub(crate) settings: Arc<AgentSettings>,
    pub(crate) runtime: HookRuntime,
    pub(crate) records: Arc<HookRunWriter>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) counter: Arc<Counter>,
    /// Sizes of models' windows, as far as their servers have reported them.
    pub(crate) windows: Windows,
    pub(crate) statistics: Arc<Statistics>,
    pub(crate) running: RunningTurns,
    pub(crate) queues: Queues,
    /// Sources of the tools that turns can call, in order of precedence.
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    /// `None` if skills are disabled.
    pub(crate) skills: Option<Arc<SkillsDomain>>,
    /// Notified when a turn of this process leaves a background job.
    pub(crate) jobs_added: tokio::sync::Notify,
    /// Id of this process among all gateways of the database.
    pub(crate) node: String,
}

impl Agent {
    /// Creates an agent with the built-in hook packages and further `packages`.
    pub fn new(
        store: Store,
        mut settings: AgentSettings,
        packages: impl IntoIterator<Item = HookPackage>,
    ) -> Result<Self, RegistrationError> {
        let mut registry = HookRegistry::new();
        let skills = SkillsDomain::new(&settings);
        let own = [documents::package(store.clone())].into_iter();
        let own = own.chain(skills.clone().map(skills::package));
        let memory = MemoryDomain::new(&settings, &store);
        let own = own.chain(memory.as_ref().map(memory::package));
        registry.register_all(own.chain(packages))?;
        let records = Arc::new(HookRunWriter::start(store.clone()));
        let recorder: Arc<dyn Recorder> = Arc::clone(&records) as _;
        let runtime = HookRuntime::new(registry, recorder, HookLimits::default());
        let cache = Arc::default();
        let counter = Arc::default();
        let jobs_added = tokio::sync::Notify::new();
        let running = RunningTurns::new(settings.turns.limits.running);
        // A new id per process. After a restart, turns of the previous process belong to another node, and are failed
        // when their leases expire.
        let node = protocol::TokenId::new().to_string();
        let queues = Queues::default();
        let sources = built_in_sources(&settings, skills.clone(), memory);
        // The resolver of instruction files must exclude the same paths as the tools.
        settings.files.private_paths.clone_from(&settings.private_paths);
        let settings = Arc::new(settings);
        Ok(Self {
            store,
            settings,
            runtime,
            records,
            cache,
            counter,
            windows: Windows::default(),
            statistics: Arc::default(),
            running,
            queues,
            sources,
            skills,
            jobs_added,
            node,
        })
    }

    /// Adds a source of tools, asked after the existing ones.
    pub fn with_tools(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Stops all turns, then waits for background hooks and pending writes.
    pub fn shutdown(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // The order matters: turns that end still run hooks, and hooks that end still produce records.
            self.running.shut_down().await;
            self.runtime.shutdown(grace).await;
            self.records.written().await;
        })
    }
}

/// Returns the built-in sources of tools that the settings enable.
pub(crate) fn built_in_sources(
    settings: &AgentSettings,
    skills: Option<Arc<SkillsDomain>>,
    memory: Option<Arc<MemoryDomain>>,
) -> Vec<Arc<dyn ToolSource>> {
    let mut sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(tools::FileToolSource::new())];
    if let Some(shell) = &settings.turns.shell {
        sources.push(Arc::new(ShellToolSource::new(shell.clone())));
    }
    if let Some(skills) = skills {
        sources.push(Arc::new(SkillTools::new(skills)));
    }
    if let Some(memory) = memory {
        sources.push(Arc::new(MemoryTools::new(memory)));
    }
    sources
}
