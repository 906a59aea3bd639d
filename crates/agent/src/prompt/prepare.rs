//! Preparing a prompt from the store, the disk and the hooks.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hooks::{Phase, PhaseOutcome, TurnContext};
use instructions::Session;
use prompt::{BootstrapFiles, CompiledPrompt, Compiler, PromptCompileInput};
use protocol::{Audience, ThreadMode, TurnScope, Version};
use store::TurnStart;
use tokens::Counter;
use tools::{ToolContext, ToolSource};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::directory::WorkingDirectory;
use crate::domains::memory;
use crate::error::AgentError;
use crate::prompt::files::{SessionFiles, add_delegation, add_files, add_goal_only};
use crate::prompt::session::file_tools;
use crate::prompt::{contributions, runtime_context};
use crate::settings::AgentSettings;
use crate::subject::PromptSubject;
use crate::turn::tools::RoundTools;

/// Request for a prompt.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// The turn. Its mode and directories are filled in when the request is loaded.
    pub scope: TurnScope,
    /// The directory; `None` uses the workspace's own.
    pub cwd: Option<String>,
}

/// Starting point of a prompt's session part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionStart {
    /// The stored session of the thread.
    #[default]
    Thread,
    /// The current disk, as for a new thread.
    Fresh,
}

/// A prompt with its sources.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The session of the thread; `None` if no instruction files apply.
    pub session: Option<PreparedSession>,
    pub compiled: CompiledPrompt,
    /// The context for later hooks of the turn.
    pub(crate) context: Arc<TurnContext>,
}

/// A session and its stored version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedSession {
    pub session: Session,
    /// The stored version; 0 if none is stored.
    pub stored: Version,
}

impl Agent {
    /// Compiles the prompt of a thread's next turn. Stores nothing but the records of hooks.
    pub fn prepare<'a>(&'a self, request: &'a PromptRequest) -> BoxFuture<'a, Result<Prepared, AgentError>> {
        Box::pin(async move {
            let subject = self.load(request).await?;
            let delegation = self.described_delegation(&subject);
            let start = self.turn_start(&subject).await?;
            let tools = self.described_tools(&subject, &start, delegation);
            Ok(self.prepare_for(&subject, &start, tools).await?.0)
        })
    }

    /// Collects the tools of a first round that will not run.
    pub(crate) async fn described_tools(
        &self,
        subject: &PromptSubject,
        start: &TurnStart,
        delegation: Option<Arc<dyn ToolSource>>,
    ) -> Result<RoundTools, AgentError> {
        let context = ToolContext::without_directory();
        Ok(self.first_tools(subject, start, context, delegation).await)
    }

    /// Loads the stored state that a turn starts from. Call this after the turn is stored: an earlier turn may end
    /// until then and change it.
    pub(crate) async fn turn_start(&self, subject: &PromptSubject) -> Result<TurnStart, AgentError> {
        let scope = &subject.scope;
        let visible = memory::view(scope);
        let start = self.store.turn_start(&scope.workspace_id, &scope.thread_id, &visible).await?;
        Ok(match subject.start {
            SessionStart::Thread => start,
            SessionStart::Fresh => TurnStart { session: None, requested_tools: Vec::new(), ..start },
        })
    }

    /// Compiles the prompt of a loaded subject, and collects the tools of its first round.
    pub(crate) async fn prepare_for(
        &self,
        subject: &PromptSubject,
        start: &TurnStart,
        tools: impl Future<Output = Result<RoundTools, AgentError>>,
    ) -> Result<(Prepared, RoundTools), AgentError> {
        let session = match &subject.instructions {
            Some(directory) => Some(self.session(start, directory).await?),
            None => None,
        };
        let mut turn = TurnContext { scope: subject.scope_at(start), ..subject.turn_context() };
        if let Some(prepared) = &session {
            turn.touched_paths = prepared.session.touched.iter().cloned().collect();
        }
        let mut turn = Arc::new(turn);
        let mut input = self.run_hooks(&mut turn).await?;
        input.audience = subject.audience();
        input.dynamic_context.clone_from(&subject.scope.context);
        // Await the tools after the hooks, because a source may depend on their decisions, and before the compiler,
        // which lists hidden tools.
        let mut tools = tools.await?;
        input.hidden_domains = tools.hidden_domains();
        let file_tools = file_tools(subject.thread.mode, subject.directory.is_some());
        let files = session.as_ref().zip(subject.instructions.as_ref()).map(|(prepared, directory)| {
            SessionFiles { session: &prepared.session, settings: &directory.settings, file_tools }
        });
        add_files(&mut input, &self.settings, files.as_ref());
        if turn.reads_goal_only() {
            add_goal_only(&mut input, subject.directory.as_ref(), file_tools);
        }
        add_delegation(&mut input, &self.settings, &tools);
        // All workspaces share the identity files, so a token bound to one workspace must not change them.
        input.can_evolve &= !subject.scope.is_bound();
        let mut compiled = compile(&self.settings, Arc::clone(&self.counter), input).await;
        tools.leave_out_unexplained(&compiled.manifest);
        // Hooks of the next phase can identify the final prompt, but no longer change it.
        Arc::make_mut(&mut turn).prompt_fingerprint = Some(compiled.manifest.fingerprints.full.clone());
        let after = self.runtime.run_phase(Phase::PostPromptCompile, Arc::clone(&turn)).await?;
        if !after.contributions.is_empty() {
            Arc::make_mut(&mut turn).earlier.extend(after.contributions.iter().cloned());
        }
        compiled.manifest.diagnostics.extend(contributions::late_diagnostics(after));
        Ok((Prepared { session, compiled, context: turn }, tools))
    }

    /// Returns the thread's session, or the one it would start with.
    async fn session(
        &self,
        start: &TurnStart,
        directory: &WorkingDirectory,
    ) -> Result<PreparedSession, AgentError> {
        if let Some(stored) = start.session.clone() {
            let mut session = stored.state;
            // Older versions did not store these fields; complete them from here on.
            if session.initial.cwd.is_none() {
                session.initial.cwd = Some(session.cwd.clone());
                session.initial.workspace = directory.settings.bounds.workspace().map(Path::to_owned);
            }
            return Ok(PreparedSession { session, stored: stored.version });
        }
        let cache = Arc::clone(&self.cache);
        let directory = directory.clone();
        let started = blocking(move || Session::start(&directory.request(), Some(&cache))).await?;
        Ok(PreparedSession { session: started.0, stored: Version(0) })
    }

    /// Runs the hooks of all phases before the compiler. Each phase sees the contributions of the earlier ones.
    async fn run_hooks(&self, turn: &mut Arc<TurnContext>) -> Result<PromptCompileInput, AgentError> {
        let mut input = configured_input(&self.settings, turn.scope.mode);
        for phase in [
            Phase::PrePolicy,
            Phase::PrePromptContext,
            Phase::PreToolMaterialization,
            Phase::PrePromptCompile,
        ] {
            let outcome = self.runtime.run_phase(phase, Arc::clone(turn)).await?;
            let PhaseOutcome { contributions, diagnostics } = outcome;
            input.contributed.extend(contributions.iter().filter_map(contributions::section));
            input.policies.extend(contributions.iter().filter_map(contributions::policy));
            input.diagnostics.extend(diagnostics);
            if !contributions.is_empty() {
                Arc::make_mut(turn).earlier.extend(contributions);
            }
        }
        Ok(input)
    }
}

/// Returns the compiler's input from settings and the clock.
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

/// Reads the files of the home directory and compiles.
pub(crate) async fn compile(
    settings: &AgentSettings,
    counter: Arc<Counter>,
    mut input: PromptCompileInput,
) -> CompiledPrompt {
    let home = settings.home.clone();
    blocking(move || {
        // Character and user are those of the agent that the user talks to.
        if input.audience == Audience::Main {
            input.bootstrap = BootstrapFiles::read(&home, &input.limits);
        }
        Compiler::new(counter).compile(&input)
    })
    .await
}
