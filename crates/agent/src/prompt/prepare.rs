//! Everything a model is told before the conversation: prepared from the store, the disk and the hooks.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hooks::{Phase, PhaseOutcome, TurnContext};
use instructions::Session;
use prompt::{BootstrapFiles, CompiledPrompt, Compiler, PromptCompileInput};
use protocol::{ThreadId, ThreadMode, TurnId, Version, WorkspaceId};
use store::{MemoryView, TurnStart};
use tokens::Counter;
use tools::{ToolContext, ToolSource};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::directory::WorkingDirectory;
use crate::domains::delegation::DELEGATE;
use crate::error::AgentError;
use crate::prompt::files::{SessionFiles, add_files};
use crate::prompt::session::file_tools;
use crate::prompt::{contributions, runtime_context};
use crate::settings::AgentSettings;
use crate::subject::Subject;
use crate::turn::tools::RoundTools;

/// For whom a prompt is prepared.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn, if there is one already.
    pub turn_id: Option<TurnId>,
    /// The directory, if not the workspace's own.
    pub cwd: Option<String>,
    /// What the user says.
    pub input: Option<String>,
    /// Who asks.
    pub actor: Option<String>,
    /// How far they reach.
    pub reach: Reach,
    /// Slugs of the skills that the turn names.
    pub skills: Vec<String>,
    /// Hidden domains of tools that are to be there from the first round on.
    pub tool_domains: Vec<String>,
}

/// How far somebody's token reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// One workspace.
    #[default]
    Workspace,
    /// All workspaces, and so what they have in common: the model's identity.
    Everything,
}

/// What a prompt's session part starts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionStart {
    /// What the thread remembers.
    #[default]
    Thread,
    /// The disk as it is, as for a thread without any turn.
    Fresh,
}

/// A prompt, and what it was prepared from.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What the thread remembers about instruction files; none where there is no place for any.
    pub session: Option<PreparedSession>,
    /// The prompt.
    pub compiled: CompiledPrompt,
    /// What later hooks of the turn are told.
    pub(crate) context: Arc<TurnContext>,
}

/// A session, and how it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedSession {
    /// What is remembered.
    pub session: Session,
    /// The version that is stored; 0 when none is.
    pub stored: Version,
}

impl Agent {
    /// Compiles the prompt of a thread's next turn. Nothing is kept but the records of the hooks that ran.
    pub fn prepare<'a>(&'a self, request: &'a PromptRequest) -> BoxFuture<'a, Result<Prepared, AgentError>> {
        Box::pin(async move {
            let subject = self.load(request).await?;
            let delegation = self.described_delegation(&subject);
            let start = self.turn_start(&subject).await?;
            let tools = self.described_tools(&subject, &start, delegation);
            Ok(self.prepare_for(&subject, &start, tools).await?.0)
        })
    }

    /// The tools of a first round that nobody will run.
    pub(crate) async fn described_tools(
        &self,
        subject: &Subject,
        start: &TurnStart,
        delegation: Option<Arc<dyn ToolSource>>,
    ) -> Result<RoundTools, AgentError> {
        let context = ToolContext::without_directory();
        Ok(self.first_tools(subject, start, context, TurnId::new(), delegation).await)
    }

    /// What the store knows that a turn starts from. To be asked when the turn is written: until then another may end, and
    /// leave something else.
    pub(crate) async fn turn_start(&self, subject: &Subject) -> Result<TurnStart, AgentError> {
        let (workspace_id, thread_id) = (&subject.workspace.id, &subject.thread.id);
        let view = MemoryView {
            workspace_id: workspace_id.clone(),
            owner: subject.memory_owner().map(str::to_owned),
            thread_id: Some(thread_id.clone()),
        };
        let start = self.store.turn_start(workspace_id, thread_id, &view).await?;
        Ok(match subject.start {
            SessionStart::Thread => start,
            SessionStart::Fresh => TurnStart { session: None, requested_tools: Vec::new(), ..start },
        })
    }

    /// The same for what is loaded already, with the tools of the first round.
    pub(crate) async fn prepare_for(
        &self,
        subject: &Subject,
        start: &TurnStart,
        tools: impl Future<Output = Result<RoundTools, AgentError>>,
    ) -> Result<(Prepared, RoundTools), AgentError> {
        let session = match &subject.instructions {
            Some(directory) => Some(self.session(start, directory).await?),
            None => None,
        };
        let mut turn = TurnContext { has_memories: Some(start.has_memories), ..subject.turn_context() };
        if let Some(prepared) = &session {
            turn.touched_paths = prepared.session.touched.iter().cloned().collect();
        }
        let mut turn = Arc::new(turn);
        let mut input = self.run_hooks(&mut turn).await?;
        // After the hooks, because a source may follow what they decided; before the compiler, which lists what is hidden.
        let tools = tools.await?;
        input.hidden_domains = tools.hidden_domains();
        let files = session.as_ref().zip(subject.instructions.as_ref()).map(|(prepared, directory)| {
            let file_tools = file_tools(subject.thread.mode, subject.directory.is_some());
            SessionFiles { session: &prepared.session, settings: &directory.settings, file_tools }
        });
        add_files(&mut input, &self.settings, files.as_ref());
        input.include_task_orchestration = tools.specs().iter().any(|spec| spec.name == DELEGATE);
        // The files are those of every workspace.
        input.can_evolve &= subject.request.reach == Reach::Everything;
        let mut compiled = compile(&self.settings, Arc::clone(&self.counter), input).await;
        Arc::make_mut(&mut turn).prompt_fingerprint = Some(compiled.manifest.fingerprints.full.clone());
        let after = self.runtime.run_phase(Phase::PostPromptCompile, Arc::clone(&turn)).await?;
        if !after.contributions.is_empty() {
            Arc::make_mut(&mut turn).earlier.extend(after.contributions.iter().cloned());
        }
        compiled.manifest.diagnostics.extend(contributions::late_diagnostics(after));
        Ok((Prepared { session, compiled, context: turn }, tools))
    }

    /// The thread's own session, or the one it would start with.
    async fn session(
        &self,
        start: &TurnStart,
        directory: &WorkingDirectory,
    ) -> Result<PreparedSession, AgentError> {
        if let Some(stored) = start.session.clone() {
            let mut session = stored.state;
            // What older versions of this program did not keep is kept from now on.
            if session.initial.cwd.is_none() {
                session.initial.cwd = Some(session.cwd.clone());
                session.initial.workspace = directory.settings.bounds.workspace().map(Path::to_owned);
            }
            return Ok(PreparedSession { session, stored: stored.version });
        }
        let (cache, directory) = (Arc::clone(&self.cache), directory.clone());
        let started = blocking(move || Session::start(&directory.request(), Some(&cache))).await?;
        Ok(PreparedSession { session: started.0, stored: Version(0) })
    }

    /// Everything that hooks and settings put into the compiler. Each phase sees what those before it contributed.
    async fn run_hooks(&self, turn: &mut Arc<TurnContext>) -> Result<PromptCompileInput, AgentError> {
        let mut input = configured_input(&self.settings, turn.mode);
        for phase in [
            Phase::PrePolicy,
            Phase::PrePromptContext,
            Phase::PreToolMaterialization,
            Phase::PrePromptCompile,
        ] {
            let outcome = self.runtime.run_phase(phase, Arc::clone(turn)).await?;
            let PhaseOutcome { contributions, diagnostics } = outcome;
            input.contributed.extend(contributions.iter().filter_map(contributions::section));
            input.diagnostics.extend(diagnostics);
            if !contributions.is_empty() {
                Arc::make_mut(turn).earlier.extend(contributions);
            }
        }
        Ok(input)
    }
}

/// What settings and the time put into the compiler.
pub(crate) fn configured_input(settings: &AgentSettings, mode: ThreadMode) -> PromptCompileInput {
    let settings = &settings.prompt;
    PromptCompileInput {
        profile: settings.profile,
        include_tool_recovery_policy: mode == ThreadMode::Agent,
        extra_system: Some(runtime_context::runtime_context(settings.time)),
        disabled_sections: settings.disabled_sections.clone(),
        limits: settings.budgets,
        ..PromptCompileInput::default()
    }
}

/// Reads the home directory's files and compiles.
pub(crate) async fn compile(
    settings: &AgentSettings,
    counter: Arc<Counter>,
    mut input: PromptCompileInput,
) -> CompiledPrompt {
    let home = settings.home.clone();
    blocking(move || {
        input.bootstrap = BootstrapFiles::read(&home, &input.limits);
        Compiler::new(counter).compile(&input)
    })
    .await
}
