//! Previews: the next prompt without asking a model, its size, and how its frozen start differs from the disk.

use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::Arc;

use instructions::{FileReader, Request, Session, resolve};
use prompt::CompiledPrompt;
use protocol::message::TurnMessage;
use protocol::method::PromptResult;
use protocol::preview::{FrozenStart, PromptSizes, ToolSize};
use protocol::prompt::ToolChoice;
use protocol::{ThreadId, ThreadMode, TokenReach, ToolSpec, TurnScope, Version, WorkspaceId};
use tokens::Counter;
use tools::{RoundContext, ToolContext};

use crate::agent::{Agent, built_in_sources};
use crate::blocking::blocking;
use crate::directory::WorkingDirectory;
use crate::domains::delegation::DelegationTools;
use crate::domains::memory::tools::MemoryTools;
use crate::domains::skills::{self, SkillsDomain};
use crate::error::AgentError;
use crate::explain::view::turn_reminder;
use crate::history::History;
use crate::prompt::files::{SessionFiles, add_delegation, add_files};
use crate::prompt::notes::{mark_repeated_sections, unsent_sections};
use crate::prompt::prepare::{PreparedSession, PromptRequest, SessionStart, compile, configured_input};
use crate::prompt::session::{file_reader, file_tools};
use crate::settings::{AgentSettings, TurnSettings};
use crate::subject::PromptSubject;
use crate::turn::plan::tool_tokens;
use crate::turn::start::check_context;
use crate::turn::tools::RoundTools;

/// A prompt that was not sent.
#[derive(Debug, Clone)]
pub struct Preview {
    pub compiled: CompiledPrompt,
    /// Sizes of the request.
    pub sizes: PromptSizes,
    /// The tools of its first round.
    pub tools: Vec<ToolSpec>,
    /// Difference between the thread's frozen start and the disk, if any.
    pub frozen: Option<FrozenStart>,
    /// Reason for the root if no directory has a marker.
    pub root_fallback: Option<String>,
}

impl From<Preview> for PromptResult {
    fn from(preview: Preview) -> Self {
        let Preview { compiled, sizes, tools, frozen, root_fallback } = preview;
        Self {
            stable_text: compiled.stable_text,
            session_text: compiled.session_text,
            user_text: compiled.user_text,
            turn_text: compiled.turn_text,
            full_text: compiled.full_text,
            manifest: compiled.manifest,
            sizes: Some(sizes),
            tools,
            frozen,
            root_fallback,
        }
    }
}

impl Agent {
    /// Returns the prompt of a thread's next turn, or of a new thread in its place. Stores nothing but the records of
    /// hooks.
    pub fn preview<'a>(
        &'a self,
        request: &'a PromptRequest,
        start: SessionStart,
    ) -> BoxFuture<'a, Result<Preview, AgentError>> {
        Box::pin(async move {
            check_context(request.scope.context.as_deref())?;
            let subject = PromptSubject { start, ..self.load(request).await? };
            self.check_skills(&subject).await?;
            let delegation = self.described_delegation(&subject);
            let known = self.turn_start(&subject).await?;
            let tools = self.described_tools(&subject, &known, delegation);
            let (prepared, tools) = self.prepare_for(&subject, &known, tools).await?;
            let history = match start {
                SessionStart::Thread => {
                    let owner = subject.scope.memory_owner();
                    self.history_so_far(&subject.workspace.id, &subject.thread.id, owner).await?
                }
                SessionStart::Fresh => History::default(),
            };
            let frozen = match (&subject.instructions, &prepared.session) {
                (Some(directory), Some(session)) => {
                    let reader = file_reader(subject.thread.mode, subject.directory.as_ref());
                    self.frozen_start(directory, reader, session, &history).await?
                }
                _ => None,
            };
            let root_fallback = match &subject.instructions {
                Some(directory) => self.root_fallback(directory).await?,
                None => None,
            };
            let specs = tools.specs();
            let mut compiled = prepared.compiled;
            let notes = unsent_sections(&compiled, history.entries());
            mark_repeated_sections(&mut compiled.manifest, &[TurnMessage::of_notes(notes)]);
            compiled.leave_out_said();
            add_request(&mut compiled, subject.thread.mode, &tools);
            let mut sizes = sizes(&self.settings.turns, &self.counter, &compiled, &specs);
            if start == SessionStart::Thread {
                let input = subject.scope.input.as_deref().unwrap_or_default();
                let (fixed, room) = self.fixed_tokens(&compiled, &specs, input);
                let budget = room.saturating_sub(fixed);
                let history = self.explained_history(&history, budget);
                sizes.request_tokens += history.tokens;
                sizes.history = Some(history);
            }
            Ok(Preview { compiled, sizes, tools: specs, frozen, root_fallback })
        })
    }

    /// Returns the reason for the root if no directory has a marker.
    async fn root_fallback(&self, directory: &WorkingDirectory) -> Result<Option<String>, AgentError> {
        let cache = Arc::clone(&self.cache);
        let directory = directory.clone();
        let now = blocking(move || resolve(&directory.request(), Some(&cache))).await?;
        Ok(now.root_is_fallback.then(|| now.root_reason.clone()))
    }

    /// Compares the frozen start of a thread with the disk; `None` if they agree.
    async fn frozen_start(
        &self,
        directory: &WorkingDirectory,
        reader: FileReader,
        prepared: &PreparedSession,
        history: &History,
    ) -> Result<Option<FrozenStart>, AgentError> {
        // A session without a stored version was just read from the disk, so the two cannot differ.
        if prepared.stored == Version(0) {
            return Ok(None);
        }
        let mut session = prepared.session.clone();
        history.retain_delivered(&mut session);
        let reminder = self.difference(&session, directory, reader).await?.reminder();
        let cache = Arc::clone(&self.cache);
        let mut now = directory.clone();
        now.settings = session.overlay_on(now.settings);
        let now = blocking(move || resolve(&now.request(), Some(&cache))).await?;
        let files = session.initial.differences(&now);
        let asked_cwd = (directory.cwd != session.cwd).then(|| directory.cwd.to_string_lossy().into_owned());
        if files.is_empty() && asked_cwd.is_none() && reminder.is_none() {
            return Ok(None);
        }
        let cwd = session.cwd.to_string_lossy().into_owned();
        Ok(Some(FrozenStart { cwd, asked_cwd, files, reminder: reminder.as_ref().map(turn_reminder) }))
    }
}

/// Returns the prompt of a new thread in a directory, from settings and the disk alone. Without a store there are no
/// documents.
pub fn directory_preview<'a>(
    settings: &'a AgentSettings,
    cwd: &'a Path,
    mode: ThreadMode,
) -> BoxFuture<'a, Result<Preview, AgentError>> {
    Box::pin(async move {
        let files = settings.files.clone();
        let directory = cwd.to_owned();
        let started = blocking(move || {
            let request = Request { cwd: &directory, settings: &files };
            Session::start(&request, None)
        });
        let (session, _) = started.await?;
        let mut input = configured_input(settings, mode);
        let file_tools = file_tools(mode, true);
        let files = SessionFiles { session: &session, settings: &settings.files, file_tools };
        add_files(&mut input, settings, Some(&files));
        let delegates = mode == ThreadMode::Agent && settings.delegation.enabled;
        let skills = SkillsDomain::new(settings);
        if let Some(skills) = &skills {
            let section = skills::contributed(skills, session.root.clone(), cwd.to_owned()).await;
            input.contributed.extend(section);
        }
        let of_sources = settings.clone();
        let mut sources = blocking(move || built_in_sources(&of_sources, skills, None)).await;
        if settings.memory.enabled {
            sources.push(Arc::new(MemoryTools::described(settings.memory)));
        }
        sources.extend(delegates.then(|| DelegationTools::described(&settings.delegation)));
        let mut tools = RoundTools::new(sources, ToolContext::without_directory(), Vec::new());
        let scope = TurnScope {
            mode,
            root: session.root.clone(),
            directory: Some(cwd.to_owned()),
            reach: TokenReach::Everything,
            ..TurnScope::new(WorkspaceId::new(), ThreadId::new())
        };
        let round = RoundContext { scope: Arc::new(scope), round: 1 };
        tools.refresh(&round).await;
        input.hidden_domains = tools.hidden_domains();
        add_delegation(&mut input, settings, &tools);
        let counter = Arc::new(Counter::default());
        let mut compiled = compile(settings, Arc::clone(&counter), input).await;
        tools.leave_out_unexplained(&compiled.manifest);
        add_request(&mut compiled, mode, &tools);
        let tools = tools.specs();
        let sizes = sizes(&settings.turns, &counter, &compiled, &tools);
        Ok(Preview { compiled, sizes, tools, frozen: None, root_fallback: None })
    })
}

/// Adds the request of the first round to the manifest.
fn add_request(compiled: &mut CompiledPrompt, mode: ThreadMode, tools: &RoundTools) {
    compiled.manifest.diagnostics.extend_from_slice(tools.diagnostics());
    compiled.manifest.request = Some(tools.round_request(mode, ToolChoice::Auto, Vec::new()));
}

/// Returns how much of the window a request without earlier turns would take.
fn sizes(
    settings: &TurnSettings,
    counter: &Counter,
    compiled: &CompiledPrompt,
    specs: &[ToolSpec],
) -> PromptSizes {
    let size =
        |spec: &ToolSpec| ToolSize { name: spec.name.clone(), tokens: tool_tokens(counter, spec) as u64 };
    let tools: Vec<ToolSize> = specs.iter().map(size).collect();
    let tool_tokens: u64 = tools.iter().map(|tool| tool.tokens).sum();
    let prompt_tokens = compiled.manifest.sent_tokens();
    PromptSizes {
        prompt_tokens,
        tools,
        tool_tokens,
        history: None,
        request_tokens: prompt_tokens + tool_tokens,
        reserve_tokens: settings.response_reserve_tokens as u64,
        window_tokens: settings.max_context_tokens as u64,
    }
}
