//! Planning: everything that is known before the model is asked for the first time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use instructions::{Resolver, git_program_paths};
use prompt::CompiledPrompt;
use protocol::message::{TurnItem, TurnMessage};
use protocol::{Audience, ThreadMode, ToolSpec};
use provider::{ChatRequest, DEFAULT_MAX_OUTPUT_TOKENS, Message, SystemParts};
use store::TurnStart;
use tokens::Counter;
use tools::{Guarding, RoundContext, ToolContext, ToolLimits};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::error::AgentError;
use crate::history::History;
use crate::history::compaction::CompactionReason;
use crate::prompt::notes::{mark_repeated_sections, turn_sections, unsafe_input};
use crate::prompt::prepare::Prepared;
use crate::prompt::session::ThreadSession;
use crate::turn::approvals::TurnApprovals;
use crate::turn::finish::ThreadAfter;
use crate::turn::message::{message_tokens, sent_tokens};
use crate::turn::running::RunningTurn;
use crate::turn::tools::RoundTools;
use crate::turn::window::WindowSize;

/// Time to record that an approval request expired.
const APPROVAL_MARGIN: Duration = Duration::from_secs(30);

/// Input of the first round.
pub(crate) struct TurnPlan {
    pub(crate) prepared: Prepared,
    pub(crate) tools: RoundTools,
    pub(crate) history: History,
    /// Tokens of the prompt, the tools and the opening.
    pub(crate) fixed: usize,
    /// Tokens that earlier turns may have, together with the messages that this turn adds.
    pub(crate) budget: usize,
    /// The message that opens the turn.
    pub(crate) opening: TurnMessage,
    /// Resolves instruction files as the model touches paths; `None` if none apply.
    pub(crate) resolver: Option<Resolver>,
    pub(crate) session: Option<ThreadSession>,
}

impl TurnPlan {
    /// Returns the state that the thread carries over if the turn completes.
    pub(crate) fn thread_after(&self) -> ThreadAfter {
        let session = self.session.as_ref().zip(self.resolver.as_ref());
        ThreadAfter {
            session: session.map(|(session, resolver)| Box::new(session.after(resolver))),
            requested_tools: self.tools.newly_requested(),
        }
    }
}

impl RunningTurn {
    /// Compiles the prompt, collects the tools, fits the history, and opens the turn.
    pub(crate) async fn plan(&self) -> Result<TurnPlan, AgentError> {
        let agent = &self.agent;
        // The prompt and the history are independent of each other, so their disk and database waits overlap.
        let prepared = async {
            let start = agent.turn_start(&self.subject).await?;
            agent.prepare_for(&self.subject, &start, self.first_tools(&start)).await
        };
        let ((mut prepared, tools), stored) = tokio::try_join!(prepared, self.stored_history())?;
        self.set_hook_context(prepared.context.as_ref().clone());
        let mut session = agent.open_session(&self.subject, prepared.session.clone());
        let fixed = self.fixed_tokens(&prepared.compiled, &tools.specs())?;
        let budget = self.window().request.saturating_sub(fixed);
        let history = self.fit_history(stored, budget, CompactionReason::TurnStart).await?;
        self.handle.spend(history.usage);
        if let Some(session) = &mut session {
            // Compaction may have dropped messages that delivered files. Only after this correction does the
            // comparison with the disk find what the model is missing.
            history.retain_delivered(&mut session.session);
            agent.compare_session(session).await?;
        }
        let reminder = session.as_ref().and_then(ThreadSession::reminder);
        // Protect instruction files before the first call can run, or a command could rewrite the rules it has to
        // follow.
        tools.protect(session.iter().flat_map(ThreadSession::instruction_paths).collect()).await;
        let notes = self.turn_notes(&prepared.compiled, &history, &tools).await?;
        let opening = TurnMessage::opening(&self.stored.input, reminder, notes);
        let notes = opening.notes.iter().map(|note| (note.id.as_str(), note.text.as_str()));
        prepared.compiled.add_notes(&self.agent.counter, notes);
        mark_repeated_sections(&mut prepared.compiled.manifest, std::slice::from_ref(&opening));
        prepared.compiled.manifest.diagnostics.extend(unsafe_input(&self.stored.input));
        // Buffered rather than written: the record of the first round follows within milliseconds and takes them
        // along.
        let items = [agent.context_item(&history, budget), TurnItem::Message(opening.clone())];
        self.buffer_items(items).await;
        // The commit of the first round includes the opening message, and the model is not asked without it. So the
        // reminder counts as delivered from here on.
        session.iter_mut().for_each(ThreadSession::confirm);
        let resolver = session.as_ref().map(|session| session.resolver(agent));
        Ok(TurnPlan { prepared, tools, history, fixed, budget, opening, resolver, session })
    }

    /// Returns the context for the sources of tools in a round.
    pub(crate) fn round_context(&self, round: u32) -> RoundContext {
        self.subject.round_context(round)
    }

    /// Returns the request without its messages.
    pub(crate) fn chat_request(&self, compiled: &CompiledPrompt, tools: Vec<ToolSpec>) -> ChatRequest {
        let settings = &self.agent.settings.turns;
        let mut request = ChatRequest::new(self.model.name.model(), Vec::new());
        request.system =
            SystemParts { stable: compiled.stable_text.clone(), session: compiled.session_text.clone() };
        request.preamble = compiled.user_text.clone();
        request.tools = tools;
        request.cache_key = Some(self.stored.thread_id.to_string());
        request.reasoning = settings.reasoning;
        request.max_output_tokens = self.max_output_tokens();
        request
    }

    /// Returns the tokens that a request and its answer may have.
    pub(crate) fn window(&self) -> WindowSize {
        self.agent.windows.size(&self.model.name, &self.agent.settings.turns)
    }

    /// Returns the tokens that an answer may have.
    pub(crate) fn max_output_tokens(&self) -> u32 {
        u32::try_from(self.window().answer).unwrap_or(u32::MAX).min(DEFAULT_MAX_OUTPUT_TOKENS)
    }

    async fn first_tools(&self, start: &TurnStart) -> Result<RoundTools, AgentError> {
        let context = self.tool_context().await?;
        Ok(self.agent.first_tools(&self.subject, start, context, self.delegation()).await)
    }

    /// Returns the tokens of a request without earlier turns, or an error if they exceed the configured window. A
    /// smaller window, as learned from the server, is left to the server to enforce.
    fn fixed_tokens(&self, compiled: &CompiledPrompt, tools: &[ToolSpec]) -> Result<usize, AgentError> {
        let (fixed, room) = self.agent.fixed_tokens(compiled, tools, &self.stored.input);
        if fixed > room { Err(AgentError::TooLong { tokens: fixed, room }) } else { Ok(fixed) }
    }

    /// Returns the tool context: where tools run and what they may do. Chats have no file access, whatever their
    /// workspace.
    async fn tool_context(&self) -> Result<ToolContext, AgentError> {
        let settings = &self.agent.settings.turns;
        let approvals = Arc::new(TurnApprovals {
            statistics: Arc::clone(&self.agent.statistics),
            store: self.agent.store.clone(),
            workspace_id: self.stored.workspace_id.clone(),
            turn_id: self.stored.id.clone(),
            owner: self.agent.node.clone(),
            time: settings.approval_time,
        });
        let context = match (self.subject.thread.mode, &self.subject.directory) {
            (ThreadMode::Agent, Some(directory)) => {
                let root = self.subject.workspace.root_path.clone().unwrap_or_default();
                let cwd = directory.cwd.clone();
                let home = self.agent.settings.home.clone();
                let names = directory.settings.agents.fallback_filenames.clone().unwrap_or_default();
                let private = self.agent.settings.private_paths.clone();
                let set_aside = self.agent.settings.set_aside.clone();
                let guarding = Guarding::new(directory.settings.clone(), Arc::clone(&self.agent.cache));
                let journal = self.agent.settings.journal.clone();
                let skill_folders = self.agent.settings.skills.folders.clone();
                let is_main = self.subject.audience() == Audience::Main;
                // Opening the root and locating Git's directories both wait for the disk.
                let opened = blocking(move || {
                    let user = std::env::home_dir();
                    let places = [Path::new(&root), &cwd];
                    let of_git =
                        places.into_iter().flat_map(|place| git_program_paths(place, user.as_deref()));
                    let of_git: Vec<PathBuf> = of_git.collect();
                    let mut context = ToolContext::open(root, cwd)?
                        .with_guarding(guarding)
                        .with_protected_names(names)
                        .with_places_of_git(of_git)
                        .with_skill_folders(skill_folders)
                        .with_hidden(private);
                    if let Some(directory) = set_aside {
                        context = context.with_set_aside(directory);
                    }
                    if let Some(directory) = journal {
                        context = context.with_journal(directory);
                    }
                    // Without a home directory there is no identity file to change, and a delegate has no identity.
                    if home.is_dir() && is_main { context.with_home(home) } else { Ok(context) }
                });
                opened.await?
            }
            _ => ToolContext::without_directory(),
        };
        // The call must wait longer than the approval request: its expiry is recorded before the call is denied.
        let approval_time = settings.approval_time + APPROVAL_MARGIN;
        let limits = ToolLimits { approval_time, ..ToolLimits::default() };
        Ok(context
            .with_scope(Arc::clone(&self.subject.scope))
            .with_permissions(settings.permissions)
            .with_approvals(approvals)
            .with_limits(limits)
            // Checked before every call, see `TurnLease`.
            .with_gate(Arc::clone(&self.lease) as _)
            .with_unreported_effects(self.untold.clone())
            .with_cancellation(self.handle.stop.clone()))
    }
}

impl Agent {
    /// Returns the tokens of a request without earlier turns, and the tokens a request may have.
    pub(crate) fn fixed_tokens(
        &self,
        compiled: &CompiledPrompt,
        tools: &[ToolSpec],
        input: &str,
    ) -> (usize, usize) {
        let opening = TurnMessage::opening(input, None, turn_sections(compiled));
        let fixed = usize::try_from(compiled.manifest.prefix_tokens()).unwrap_or(usize::MAX)
            + self.tool_tokens(tools)
            + sent_tokens(&self.counter, &opening);
        let settings = &self.settings.turns;
        (fixed, settings.max_context_tokens.saturating_sub(settings.response_reserve_tokens))
    }

    /// Estimates the tokens of the tools' descriptions.
    pub(crate) fn tool_tokens(&self, tools: &[ToolSpec]) -> usize {
        tools.iter().map(|tool| tool_tokens(&self.counter, tool)).sum()
    }
}

/// Estimates the tokens of a tool's description.
pub(crate) fn tool_tokens(counter: &Counter, tool: &ToolSpec) -> usize {
    let text = format!("{}\n{}\n{}", tool.name, tool.description, tool.schema);
    message_tokens(counter, &Message::user(text))
}
