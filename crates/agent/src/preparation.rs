//! Everything a model is told before the conversation: prepared from the store, the disk and the hooks.

use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hooks::{
    HookLimits, HookPackage, HookRegistry, HookRuntime, Phase, PhaseOutcome, Recorder, RegistrationError,
    TurnContext,
};
use instructions::{BlockRole, Cache, DiagnosticCode, FileSettings, Profile, ProjectBounds, Session};
use prompt::{
    AGENTS_CONTEXT, AgentsContext, AgentsGuidance, BootstrapFiles, CompiledPrompt, Compiler, Environment,
    EnvironmentDirectory, FileTools, PromptCompileInput, PromptRole,
};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptSource};
use protocol::{ThreadId, ThreadMode, TurnId, Version, WorkspaceId};
use store::{MemoryView, Store, TurnStart};
use tokens::Counter;
use tools::{Permission, ShellTools, ToolContext, ToolSource};

use crate::contributions;
use crate::delegation::DELEGATE;
use crate::directory::WorkingDirectory;
use crate::document_hook;
use crate::error::AgentError;
use crate::memory_domain::{self, MemoryDomain};
use crate::memory_tools::MemoryTools;
use crate::queue::Queues;
use crate::records::Records;
use crate::round_tools::RoundTools;
use crate::running::Running;
use crate::runtime_context;
use crate::settings::AgentSettings;
use crate::skills_domain::{self, SkillTools, SkillsDomain};
use crate::subject::Subject;
use crate::task::blocking;
use crate::thread_session::file_tools;

/// Prepares prompts, and keeps the proof of them.
pub struct Agent {
    pub(crate) store: Store,
    pub(crate) settings: Arc<AgentSettings>,
    pub(crate) runtime: HookRuntime,
    pub(crate) records: Arc<Records>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) counter: Arc<Counter>,
    pub(crate) running: Running,
    pub(crate) queues: Queues,
    /// Where the tools of turns come from.
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    /// None where skills are switched off.
    pub(crate) skills: Option<Arc<SkillsDomain>>,
    /// Told when a turn of this process leaves a job.
    pub(crate) jobs_added: tokio::sync::Notify,
    /// Who this process is to the others.
    pub(crate) node: String,
}

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
    /// An agent with our own hooks and those of others.
    pub fn new(
        store: Store,
        mut settings: AgentSettings,
        packages: impl IntoIterator<Item = HookPackage>,
    ) -> Result<Self, RegistrationError> {
        let mut registry = HookRegistry::new();
        let skills = SkillsDomain::new(&settings);
        let own = [document_hook::package(store.clone())].into_iter();
        let own = own.chain(skills.clone().map(skills_domain::package));
        let memory = MemoryDomain::new(&settings, &store);
        let own = own.chain(memory.as_ref().map(memory_domain::package));
        registry.register_all(own.chain(packages))?;
        let records = Arc::new(Records::start(store.clone()));
        let recorder: Arc<dyn Recorder> = Arc::clone(&records) as _;
        let runtime = HookRuntime::new(registry, recorder, HookLimits::default());
        let (cache, counter) = (Arc::default(), Arc::default());
        let jobs_added = tokio::sync::Notify::new();
        let running = Running::new(settings.turns.limits.running);
        let node = protocol::TokenId::new().to_string();
        let queues = Queues::default();
        let sources = own_sources(&settings, skills.clone(), memory);
        // Whatever else reads files for a project must not read those.
        settings.files.private_paths.clone_from(&settings.private_paths);
        let settings = Arc::new(settings);
        Ok(Self {
            store,
            settings,
            runtime,
            records,
            cache,
            counter,
            running,
            queues,
            sources,
            skills,
            jobs_added,
            node,
        })
    }

    /// The same with one more source of tools, asked after the others.
    pub fn with_tools(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(source);
        self
    }

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

    /// Waits for what runs in the background and for what is being written.
    pub fn shutdown(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.running.shut_down().await;
            self.runtime.shutdown(grace).await;
            self.records.written().await;
        })
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

/// The tools that every agent has by its settings.
pub(crate) fn own_sources(
    settings: &AgentSettings,
    skills: Option<Arc<SkillsDomain>>,
    memory: Option<Arc<MemoryDomain>>,
) -> Vec<Arc<dyn ToolSource>> {
    let mut sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(tools::FileTools::new())];
    if let Some(shell) = &settings.turns.shell {
        sources.push(Arc::new(ShellTools::new(shell.clone())));
    }
    if let Some(skills) = skills {
        sources.push(Arc::new(SkillTools::new(skills)));
    }
    if let Some(memory) = memory {
        sources.push(Arc::new(MemoryTools::new(memory)));
    }
    sources
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

/// A session, the settings it goes on with, and what its turns can do with files.
pub(crate) struct SessionFiles<'a> {
    pub(crate) session: &'a Session,
    pub(crate) settings: &'a FileSettings,
    pub(crate) file_tools: FileTools,
}

/// What a session's instruction files and its directory put into the compiler.
pub(crate) fn add_files(
    input: &mut PromptCompileInput,
    settings: &AgentSettings,
    files: Option<&SessionFiles<'_>>,
) {
    let session = files.map(|files| files.session);
    input.agents_context = session.and_then(agents_context);
    input.diagnostics.extend(session.into_iter().flat_map(about_files));
    input.agents_guidance = files.map(|files| guidance(files, settings)).unwrap_or_default();
    input.environment = Some(environment(files));
    let has_tools = files.is_some_and(|files| files.file_tools == FileTools::Present);
    // There is nothing to recover where nothing can be called.
    input.include_tool_recovery_policy &= has_tools;
    let permissions = settings.turns.permissions;
    input.can_evolve = has_tools && permissions.write.min(permissions.identity) != Permission::Deny;
}

/// What is true of instruction files in a session.
fn guidance(files: &SessionFiles<'_>, settings: &AgentSettings) -> AgentsGuidance {
    let SessionFiles { session, settings: file_settings, file_tools } = files;
    let has_initial_text = session.initial.text.is_some();
    let follows_tools = file_settings.resolver_enabled() && *file_tools == FileTools::Present;
    AgentsGuidance {
        files_apply: file_settings.enabled() && (has_initial_text || follows_tools),
        has_initial_text,
        follows_tools,
        nested_scopes: settings.prompt.nested_scope_rules && file_settings.bounds != ProjectBounds::HomeOnly,
    }
}

/// Where a model works, as its session had it at the start.
fn environment(files: Option<&SessionFiles<'_>>) -> Environment {
    let directory = files.and_then(|SessionFiles { session, settings, .. }| {
        let initial = &session.initial;
        let cwd = initial.cwd.clone()?;
        let workspace = match &settings.bounds {
            // Outside of a workspace the project is what a workspace would be made for.
            ProjectBounds::None => session.root.clone().unwrap_or_else(|| cwd.clone()),
            ProjectBounds::Workspace(_) | ProjectBounds::HomeOnly => initial.workspace.clone()?,
        };
        Some(EnvironmentDirectory { cwd, workspace })
    });
    Environment {
        directory,
        operating_system: std::env::consts::OS.to_owned(),
        file_tools: files.map_or(FileTools::Absent, |files| files.file_tools),
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

/// The frozen start of a session.
fn agents_context(session: &Session) -> Option<AgentsContext> {
    let text = session.initial.text.clone()?;
    let sources = session.initial.files.iter().map(|path| {
        // What is loaded now may be a later version than the frozen text was made from.
        let versions = [&session.initial.versions, &session.loaded_versions];
        let loaded = versions.iter().find_map(|known| known.get(path)).map(|version| version.sha256.clone());
        PromptSource::file(path.to_string_lossy(), loaded)
    });
    let truncated = session.initial.is_truncated();
    let role = match Profile::find(&session.profile).map(|profile| profile.role) {
        Some(BlockRole::User) => PromptRole::User,
        _ => PromptRole::System,
    };
    Some(AgentsContext { text, sources: sources.collect(), truncated, role })
}

/// What the manifest says about the files of the frozen start.
fn about_files(session: &Session) -> Vec<PromptDiagnostic> {
    let findings = session.initial.findings.iter().map(|finding| {
        let (code, message) = match finding.code {
            DiagnosticCode::Truncated => {
                (PromptDiagnosticCode::SectionTruncated, "the file is cut to the limit of agents.initial")
            }
            DiagnosticCode::OverBudget => (
                PromptDiagnosticCode::SectionTruncated,
                "nothing of the file fits into the limit of agents.initial",
            ),
            DiagnosticCode::TooDeep => (
                PromptDiagnosticCode::SectionOmitted,
                "too many imports lead to the file, one in the other, so it is not read",
            ),
            DiagnosticCode::TooManyImports => (
                PromptDiagnosticCode::SectionOmitted,
                "the file names more imports than are followed",
            ),
            DiagnosticCode::InvalidFrontMatter => (
                PromptDiagnosticCode::FileReadError,
                "its front matter cannot be followed, so it is text; `foreword explain` says why",
            ),
            DiagnosticCode::NotAFile => {
                (PromptDiagnosticCode::FileReadError, "it is no regular file, so it is not read")
            }
            DiagnosticCode::OutsideRoot => {
                (PromptDiagnosticCode::FileReadError, "it leads out of the project, so it is not read")
            }
            DiagnosticCode::AboveRoot => (
                PromptDiagnosticCode::SectionOmitted,
                "the file is above the workspace's directory, so it does not count; move root_path up if it should",
            ),
            DiagnosticCode::Unreadable => (PromptDiagnosticCode::FileReadError, "the file cannot be read"),
            DiagnosticCode::InvalidUtf8 => {
                (PromptDiagnosticCode::FileReadError, "bytes that are not UTF-8 are shown as U+FFFD")
            }
            DiagnosticCode::ChangedWhileRead => {
                (PromptDiagnosticCode::FileReadError, "the file kept changing while it was read")
            }
            DiagnosticCode::WrapperTag | DiagnosticCode::HiddenUnicode => (
                PromptDiagnosticCode::UnsafeText,
                "tags of ours or hidden characters in it were made visible",
            ),
            DiagnosticCode::ZeroWidth => {
                (PromptDiagnosticCode::UnsafeText, "characters in it cannot be seen")
            }
            DiagnosticCode::SettingNotFollowed => (
                PromptDiagnosticCode::SectionOmitted,
                "a setting in it changes what the agent reads, and is not followed",
            ),
            DiagnosticCode::DanglingMarker | DiagnosticCode::Other => (
                PromptDiagnosticCode::FileReadError,
                "there is something about the file; `foreword explain` says what",
            ),
        };
        let path = finding.path.to_string_lossy();
        PromptDiagnostic::new(code, message).in_section(AGENTS_CONTEXT).in_file(path)
    });
    findings.collect()
}
