//! A turn's life: begun under a lease, run by itself, ended once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hooks::Phase;
use protocol::method::TurnStartParams;
use protocol::{ThreadMode, Timestamp, TurnError, TurnId, TurnStatus, Version, WorkspaceId};
use provider::{ChatRequest, ModelName, Provider, SystemParts};
use serde_json::{Value, json};
use store::{FinishTurn, Lease, NewTurn, StoreError, Turn, TurnEnd};
use tools::{Limits, RoundContext, ToolContext};

use crate::approvals::TurnApprovals;
use crate::calls::ToolExecutor;
use crate::directory::WorkingDirectory;
use crate::entry::Entry;
use crate::error::AgentError;
use crate::history::Need;
use crate::preparation::{Agent, Prepared, PromptRequest, blocking};
use crate::round::{self, Rounds};
use crate::round_tools::RoundTools;
use crate::running::RunningTurn;
use crate::settings::WhenBusy;
use crate::summary::Summariser;

/// How long a turn counts as alive after it was last heard of.
const LEASE: Duration = Duration::from_secs(15);
/// How often a running turn says that it is alive.
const RENEWAL: Duration = Duration::from_secs(5);
/// How often a running turn looks whether another gateway was told to stop it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long somebody who stops a turn of another gateway waits for its end.
const STOP_TIME: Duration = Duration::from_secs(15);
/// How often somebody who waits for a thread asks again.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// Turns of dead gateways that are failed at once.
const SWEEP: u64 = 100;

/// Hears a turn's answer while it comes.
pub trait TurnListener: Send + Sync + 'static {
    /// The next piece of the answer. The model is not listened to before this is done.
    fn delta<'a>(&'a self, turn_id: &'a TurnId, index: u64, text: &'a str) -> BoxFuture<'a, ()>;

    /// The provider could not answer and is asked again after a while.
    fn retrying<'a>(
        &'a self,
        turn_id: &'a TurnId,
        attempt: u32,
        delay: Duration,
        message: &'a str,
    ) -> BoxFuture<'a, ()>;

    /// Whether nobody listens any more; a turn that has not begun then need not.
    fn is_gone(&self) -> bool;
}

/// What a turn is run with.
struct Run {
    start: TurnStartParams,
    actor: Option<String>,
    turn: Turn,
    model: ModelName,
    provider: Provider,
    summariser: Summariser,
    listener: Arc<dyn TurnListener>,
    running: RunningTurn,
}

/// A thread's session after a turn that ended well, and the version it is based on.
type SessionAfter = Option<(Value, Version)>;

/// Why a turn stops before it has an answer.
enum Stopped {
    BySomebody,
    ByShutdown,
    LeaseLost,
}

impl Agent {
    /// Begins a turn and answers as soon as it is written down; it goes on by itself.
    pub async fn start_turn(
        self: &Arc<Self>,
        start: TurnStartParams,
        actor: Option<String>,
        listener: Arc<dyn TurnListener>,
    ) -> Result<Turn, AgentError> {
        if start.input.trim().is_empty() {
            return Err(AgentError::NoInput);
        }
        // What cannot be worked in is said now, and not by a turn that fails.
        let workspace = self.store.workspace(&start.workspace_id).await?;
        self.store.thread(&start.workspace_id, &start.thread_id).await?;
        WorkingDirectory::find(&workspace, start.cwd.as_deref(), &self.settings.files)?;
        let name = start.model.as_deref().or(self.settings.default_model.as_deref());
        let model: ModelName = name.ok_or(AgentError::NoModel)?.parse()?;
        let provider = self.provider(&model)?;
        let summariser = self.summariser(&model, &provider)?;
        let turn = self.create(&start, &model, actor.as_deref(), listener.as_ref()).await?;
        let running = self.running.begin(&turn.id);
        let run = Run { start, actor, turn: turn.clone(), model, provider, summariser, listener, running };
        let agent = Arc::clone(self);
        self.running.tasks.spawn(async move { agent.run(run).await });
        Ok(turn)
    }

    fn provider(&self, model: &ModelName) -> Result<Provider, AgentError> {
        let found = self.settings.providers.of(model);
        Ok(found.map_err(|error| AgentError::Provider(Box::new(error)))?.clone())
    }

    fn summariser(&self, model: &ModelName, provider: &Provider) -> Result<Summariser, AgentError> {
        let settings = &self.settings.turns;
        let (model, provider) = match &settings.summary_model {
            Some(name) => {
                let model: ModelName = name.parse()?;
                let provider = self.provider(&model)?;
                (model, provider)
            }
            None => (model.clone(), provider.clone()),
        };
        let counter = Arc::clone(&self.counter);
        Ok(Summariser { provider, model, counter, context_tokens: settings.max_context_tokens })
    }

    /// Writes the turn down; where another runs, waits for its end if settings say so.
    async fn create(
        &self,
        start: &TurnStartParams,
        model: &ModelName,
        actor: Option<&str>,
        listener: &dyn TurnListener,
    ) -> Result<Turn, AgentError> {
        let queue = self.queues.of(&start.thread_id);
        // In this process, who came first is served first; between gateways it is who asks first.
        let _place = match self.settings.turns.when_busy {
            WhenBusy::Queue => Some(queue.lock().await),
            WhenBusy::Refuse => None,
        };
        let is_waiting =
            || self.settings.turns.when_busy == WhenBusy::Queue && !self.running.shutdown.is_cancelled();
        let mut swept = false;
        loop {
            let new = NewTurn {
                thread_id: start.thread_id.clone(),
                input: start.input.clone(),
                model: Some(model.to_string()),
                cwd: start.cwd.clone(),
                lease: self.lease(),
            };
            match self.store.create_turn(&start.workspace_id, new, actor).await {
                // Perhaps its gateway is gone and nobody has noticed yet.
                Err(StoreError::TurnRunning { .. }) if !swept => {
                    self.fail_dead_turns().await?;
                    swept = true;
                }
                Err(StoreError::TurnRunning { .. }) if listener.is_gone() => {
                    return Err(AgentError::Withdrawn);
                }
                Err(StoreError::TurnRunning { .. }) if is_waiting() => tokio::time::sleep(ASK_AGAIN).await,
                created => return Ok(created?),
            }
        }
    }

    /// Stops a turn, wherever it runs, and answers with it when it has ended.
    pub async fn cancel_turn(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        actor: Option<&str>,
    ) -> Result<Turn, AgentError> {
        let turn = self.store.turn(workspace_id, turn_id).await?;
        if turn.status != TurnStatus::Running {
            return Ok(turn);
        }
        let asked = self.store.request_stop(workspace_id, turn_id, actor).await?;
        if asked.status != TurnStatus::Running || self.running.stop(turn_id).await {
            return Ok(self.store.turn(workspace_id, turn_id).await?);
        }
        let ended = async {
            loop {
                let turn = self.store.turn(workspace_id, turn_id).await?;
                if turn.status != TurnStatus::Running {
                    return Ok(turn);
                }
                tokio::time::sleep(ASK_AGAIN).await;
            }
        };
        match tokio::time::timeout(STOP_TIME, ended).await {
            Ok(turn) => turn,
            // Its gateway is gone, or very busy: the turn ends with its lease.
            Err(_) => Ok(self.store.turn(workspace_id, turn_id).await?),
        }
    }

    /// Fails the turns of gateways that are no more, and says how many.
    pub async fn fail_dead_turns(&self) -> Result<usize, AgentError> {
        let error = TurnError {
            kind: "interrupted".to_owned(),
            message: "the gateway that ran this turn is gone; ask again".to_owned(),
            provider: None,
            status: None,
            retryable: true,
        };
        let living = self.running.ids();
        Ok(self.store.fail_expired_turns(Timestamp::now(), SWEEP, &living, &json!(error)).await?.len())
    }

    fn lease(&self) -> Lease {
        let milliseconds = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
        let expires_at = Timestamp::from_milliseconds(Timestamp::now().milliseconds() + milliseconds);
        Lease { owner: self.node.clone(), expires_at }
    }

    async fn run(self: Arc<Self>, run: Run) {
        let answered = tokio::select! {
            answered = AssertUnwindSafe(self.answer(&run)).catch_unwind() => match answered {
                Ok(answered) => answered.map_err(|error| failed(&error)),
                Err(_) => Err(failed(&AgentError::Panicked)),
            },
            stopped = self.stopped(&run) => Err(match stopped {
                Stopped::BySomebody => (TurnEnd::Cancelled, None),
                Stopped::ByShutdown => failed(&AgentError::ShutDown),
                Stopped::LeaseLost => failed(&AgentError::LeaseLost),
            }),
        };
        self.keep_said(&run).await;
        let usage = Some(json!(run.running.usage()));
        let finish = match answered {
            Ok(session) => FinishTurn { end: TurnEnd::Completed, error: None, usage, session },
            Err((end, error)) => FinishTurn { end, error, usage, session: None },
        };
        let status = finish.end.status();
        self.finish(&run, finish).await;
        let after = self.context(&request(&run)).value("status", json!(status));
        if let Err(error) = self.runtime.run_phase(Phase::PostTurn, after).await {
            tracing::warn!(%error, turn = %run.turn.id, "a hook failed after a turn");
        }
        self.running.end(&run.turn.id);
    }

    /// Keeps what a model was saying when it was stopped.
    async fn keep_said(&self, run: &Run) {
        let Some(said) = run.running.said() else { return };
        // It may have been stopped just when this had been stored.
        let stored = self.store.turn_items(&run.turn.workspace_id, &run.turn.id).await.ok();
        let last = stored.and_then(|items| Entry::all(items).ok()?.pop());
        if last.is_some_and(|(entry, _)| entry.message.text() == said) {
            return;
        }
        let entry = Entry::new(provider::Message::assistant(vec![provider::Block::text(said)]));
        let kept = async { self.add_items(&run.turn, vec![entry.item()?], Vec::new()).await };
        if let Err(error) = kept.await {
            tracing::warn!(%error, turn = %run.turn.id, "what a model was saying could not be kept");
        }
    }

    /// Writes the end down, and tries again while the database is away: the lease keeps the turn ours until then.
    async fn finish(&self, run: &Run, finish: FinishTurn) {
        let (turn, actor) = (&run.turn, run.actor.as_deref());
        let deadline = tokio::time::Instant::now() + LEASE;
        loop {
            let finished =
                self.store.finish_turn(&turn.workspace_id, &turn.id, &self.node, finish.clone(), actor).await;
            match finished {
                Ok(_) => return,
                Err(StoreError::Unavailable(_) | StoreError::DiskFull)
                    if tokio::time::Instant::now() < deadline && !self.running.shutdown.is_cancelled() =>
                {
                    tokio::time::sleep(ASK_AGAIN * 5).await;
                }
                Err(error) => {
                    tracing::error!(%error, turn = %turn.id, "the end of a turn could not be written");
                    return;
                }
            }
        }
    }

    /// Renews the lease; ends only when the turn must.
    async fn stopped(&self, run: &Run) -> Stopped {
        let turn = &run.turn;
        let alive = async {
            let mut renewed = tokio::time::Instant::now();
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                match self.store.turn(&turn.workspace_id, &turn.id).await {
                    Ok(turn) if turn.status != TurnStatus::Running => return Stopped::LeaseLost,
                    Ok(turn) if turn.stop_requested_at.is_some() => return Stopped::BySomebody,
                    _ => {}
                }
                if renewed.elapsed() < RENEWAL {
                    continue;
                }
                renewed = tokio::time::Instant::now();
                match self.store.renew_lease(&turn.workspace_id, &turn.id, &self.lease()).await {
                    Err(StoreError::InvalidState(_)) => return Stopped::LeaseLost,
                    Err(error) => tracing::warn!(%error, turn = %turn.id, "a lease could not be renewed"),
                    Ok(()) => {}
                }
            }
        };
        tokio::select! {
            () = run.running.stop.cancelled() => Stopped::BySomebody,
            () = self.running.shutdown.cancelled() => Stopped::ByShutdown,
            stopped = alive => stopped,
        }
    }

    /// Prepares everything and goes through the rounds.
    async fn answer(&self, run: &Run) -> Result<SessionAfter, AgentError> {
        let turn = &run.turn;
        let prepared = self.prepare(&request(run)).await?;
        let mut session = self.open_session(&prepared).await?;
        let mut round_tools = RoundTools::new(self.sources.clone(), self.tool_context(run, &prepared).await?);
        let round = RoundContext {
            workspace_id: turn.workspace_id.clone(),
            thread_id: turn.thread_id.clone(),
            turn_id: turn.id.clone(),
            mode: prepared.thread.mode,
            directory: prepared.directory.as_ref().map(|directory| directory.cwd.clone()),
            actor: run.actor.clone(),
            round: 1,
        };
        round_tools.refresh(&round).await;
        let tools = round_tools.specs();
        let turn_text = &prepared.compiled.turn_text;
        let fixed = prepared.compiled.manifest.prefix_tokens()
            + round::tool_tokens(self, &tools)
            + Entry::opening(&run.start.input, None, turn_text).tokens(&self.counter);
        let settings = &self.settings.turns;
        let room = settings.max_context_tokens.saturating_sub(settings.response_reserve_tokens);
        let budget = room.checked_sub(fixed).ok_or(AgentError::TooLong { tokens: fixed, room })?;
        let history = self.history(turn, budget, Need::Fit, &run.summariser).await?;
        if let Some(session) = &mut session {
            session.session.keep_delivered(history.entries().flat_map(Entry::reminders));
            self.compare_session(session).await?;
        }
        let reminder = session.as_ref().and_then(|session| session.reminder());
        let opening = Entry::opening(&run.start.input, reminder, turn_text);
        let items = vec![self.context_item(&history, budget), opening.item()?];
        self.add_items(turn, items, Vec::new()).await?;
        session.iter_mut().for_each(|session| session.confirm());
        let resolver = session.as_ref().map(|session| session.resolver(self));
        let mut request = ChatRequest::new(run.model.model(), Vec::new());
        request.system = SystemParts {
            stable: prepared.compiled.stable_text.clone(),
            session: prepared.compiled.session_text.clone(),
        };
        request.tools = tools;
        request.cache_key = Some(turn.thread_id.to_string());
        request.reasoning = settings.reasoning;
        request.max_output_tokens = request
            .max_output_tokens
            .min(u32::try_from(settings.response_reserve_tokens).unwrap_or(u32::MAX));
        run.running.spend(history.usage);
        let mut rounds = Rounds {
            agent: self,
            turn,
            running: &run.running,
            listener: run.listener.as_ref(),
            provider: &run.provider,
            summariser: &run.summariser,
            compiled: &prepared.compiled,
            tools: round_tools,
            round,
            executor: ToolExecutor { resolver: resolver.clone() },
            request,
            history,
            budget,
            entries: vec![opening],
            deltas: 0,
            shortened: false,
        };
        rounds.run().await?;
        match (&session, &resolver) {
            (Some(session), Some(resolver)) => session.after(resolver).map(Some),
            _ => Ok(None),
        }
    }

    /// Where tools run and what they may do. Chats have no files, wherever they are.
    async fn tool_context(&self, run: &Run, prepared: &Prepared) -> Result<ToolContext, AgentError> {
        let settings = &self.settings.turns;
        let approvals = Arc::new(TurnApprovals {
            store: self.store.clone(),
            workspace_id: run.turn.workspace_id.clone(),
            turn_id: run.turn.id.clone(),
            owner: self.node.clone(),
            time: settings.approval_time,
        });
        let limits = Limits { approval_time: settings.approval_time, ..Limits::default() };
        let context = match (prepared.thread.mode, &prepared.directory) {
            (ThreadMode::Agent, Some(directory)) => {
                let root = prepared.workspace.root_path.clone().unwrap_or_default();
                let (cwd, home) = (directory.cwd.clone(), self.settings.home.clone());
                let names = directory.settings.fallback_filenames.clone().unwrap_or_default();
                let opened = blocking(move || {
                    let context = ToolContext::open(root, cwd)?.with_protected_names(names);
                    // Without a home directory there is nothing in it to evolve.
                    if home.is_dir() { context.with_home(home) } else { Ok(context) }
                });
                opened.await?
            }
            _ => ToolContext::without_directory(),
        };
        Ok(context
            .with_permissions(settings.permissions)
            .with_approvals(approvals)
            .with_limits(limits)
            .with_cancellation(run.running.stop.clone()))
    }

    /// Lets hooks know that earlier turns are about to be summarised.
    pub(crate) async fn before_compaction(&self, turn: &Turn) -> Result<(), AgentError> {
        let request = PromptRequest {
            workspace_id: turn.workspace_id.clone(),
            thread_id: turn.thread_id.clone(),
            turn_id: Some(turn.id.clone()),
            cwd: turn.cwd.clone(),
            input: None,
        };
        self.runtime.run_phase(Phase::PreCompaction, self.context(&request)).await?;
        Ok(())
    }
}

fn request(run: &Run) -> PromptRequest {
    PromptRequest {
        workspace_id: run.start.workspace_id.clone(),
        thread_id: run.start.thread_id.clone(),
        turn_id: Some(run.turn.id.clone()),
        cwd: run.start.cwd.clone(),
        input: Some(run.start.input.clone()),
    }
}

fn failed(error: &AgentError) -> (TurnEnd, Option<Value>) {
    (TurnEnd::Failed, Some(json!(turn_error(error))))
}

/// Why a turn has no answer, as it is kept.
fn turn_error(error: &AgentError) -> TurnError {
    let (provider, status) = match error {
        AgentError::Provider(error) => (Some(error.provider.clone()), error.status),
        _ => (None, None),
    };
    let kind = error.kind().to_owned();
    TurnError { kind, message: error.to_string(), provider, status, retryable: error.is_retryable() }
}
