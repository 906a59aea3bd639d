//! A turn's life: begun under a lease, run by itself, ended once.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hooks::{Phase, TurnContext};
use protocol::limits::MAX_WAITING_TURNS;
use protocol::method::{TurnGetResult, TurnStartParams, TurnWatchResult};
use protocol::{Hint as _, Timestamp, Turn, TurnError, TurnId, TurnStatus, WorkspaceId};
use provider::{ModelName, Provider};
use store::{Lease, StoreError, TurnActor};
use tokio_util::sync::CancellationToken;

use crate::error::AgentError;
use crate::held_turn::{HeldTurn, Outcome, ThreadAfter, TurnModel, TurnOrigin};
use crate::preparation::{Agent, PromptRequest, Reach};
use crate::round::Rounds;
use crate::running::{TurnPermit, Watched};
use crate::settings::WhenBusy;
use crate::subject::Subject;
use crate::summary::Summariser;

/// How long a turn counts as alive after its last sign of life.
pub(crate) const LEASE: Duration = Duration::from_secs(15);
/// No lease that is given ends later than this from then, and not by the differences between clocks either.
const LONGEST_LEASE: Duration = Duration::from_secs(75);
/// How often a running turn says that it is alive.
pub(crate) const RENEWAL: Duration = Duration::from_secs(5);
/// How often a running turn looks whether another gateway was told to stop it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long somebody who stops a turn waits for its end, here and then at another gateway.
const STOP_TIME: Duration = Duration::from_secs(15);
/// How often somebody who waits for a thread asks again.
const ASK_AGAIN: Duration = Duration::from_millis(100);
const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;
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

    /// Whom it tells, where two listeners may tell the same one.
    fn recipient(&self) -> Option<u64> {
        None
    }
}

/// Why a turn stops before it has an answer.
enum Stopped {
    BySomebody,
    ByShutdown,
    LeaseLost,
}

/// Ends a turn in this process when dropped, however that comes: a panic in the last of it must not leave it running for
/// whoever waits for its end.
pub(crate) struct EndOnDrop {
    pub(crate) agent: Arc<Agent>,
    pub(crate) turn_id: TurnId,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.agent.running.end(&self.turn_id);
    }
}

impl Agent {
    /// Begins a turn and answers as soon as it is stored; the turn continues as a task of its own.
    pub fn start_turn(
        self: &Arc<Self>,
        start: TurnStartParams,
        actor: TurnActor,
        reach: Reach,
        listener: Arc<dyn TurnListener>,
    ) -> BoxFuture<'_, Result<Turn, AgentError>> {
        Box::pin(async move {
            if start.input.trim().is_empty() {
                return Err(AgentError::NoInput);
            }
            // What cannot be worked in is said now, and not by a turn that fails.
            let request = PromptRequest {
                workspace_id: start.workspace_id.clone(),
                thread_id: start.thread_id.clone(),
                turn_id: None,
                cwd: start.cwd.clone(),
                input: Some(start.input.clone()),
                actor: actor.name.clone(),
                reach,
                skills: start.skills.clone(),
                tool_domains: start.mcp.iter().map(|name| protocol::mcp::tool_domain(name)).collect(),
            };
            let subject = self.load(&request).await?;
            self.check_skills(&subject).await?;
            let model = self.turn_model(start.model.as_deref())?;
            let (turn, place) = self.create(&start, &model.name, &actor, listener.as_ref()).await?;
            let origin = TurnOrigin { actor, stop: CancellationToken::new(), listener };
            let held = HeldTurn::new(Arc::clone(self), subject, turn.clone(), model, origin);
            // It may have waited, and what it is about may have changed meanwhile.
            let queued = (self.settings.turns.when_busy == WhenBusy::Queue).then_some(request);
            let ended = EndOnDrop { agent: Arc::clone(self), turn_id: turn.id.clone() };
            self.running.tasks.spawn(async move {
                held.run(queued, Some(place)).await;
                drop(ended);
            });
            Ok(turn)
        })
    }

    /// The model that is asked, and the one that summarises.
    pub(crate) fn turn_model(&self, name: Option<&str>) -> Result<TurnModel, AgentError> {
        let name: ModelName =
            name.or(self.settings.default_model.as_deref()).ok_or(AgentError::NoModel)?.parse()?;
        let provider = self.provider(&name)?;
        let settings = &self.settings.turns;
        let (model, summary_provider) = match &settings.summary_model {
            Some(other) => {
                let other: ModelName = other.parse()?;
                let provider = self.provider(&other)?;
                (other, provider)
            }
            None => (name.clone(), provider.clone()),
        };
        let summariser = Summariser {
            provider: summary_provider,
            model,
            counter: Arc::clone(&self.counter),
            context_tokens: settings.max_context_tokens,
            requests: Arc::default(),
        };
        Ok(TurnModel { name, provider, summariser })
    }

    /// Who answers for a model, if it can be asked: what is missing is said now, and not by a turn that fails.
    pub(crate) fn provider(&self, model: &ModelName) -> Result<Provider, AgentError> {
        let found = self.settings.providers.of(model);
        let provider = found.map_err(|error| AgentError::UnknownProvider(Box::new(error)))?;
        provider.check_key().map_err(|error| AgentError::Provider(Box::new(error)))?;
        Ok(provider.clone())
    }

    /// Writes the turn down; where another runs, waits for its end if settings say so.
    async fn create(
        &self,
        start: &TurnStartParams,
        model: &ModelName,
        actor: &TurnActor,
        listener: &dyn TurnListener,
    ) -> Result<(Turn, TurnPermit), AgentError> {
        let limits = &self.settings.turns.limits;
        // In this process, who came first is served first; between gateways it is who asks first.
        let queue = match self.settings.turns.when_busy {
            WhenBusy::Queue => Some(
                self.queues.of(&start.thread_id).ok_or(AgentError::QueueFull { limit: MAX_WAITING_TURNS })?,
            ),
            WhenBusy::Refuse => None,
        };
        let _turn_in_queue = match &queue {
            Some(queue) => Some(queue.lock().await),
            None => None,
        };
        let is_waiting =
            || self.settings.turns.when_busy == WhenBusy::Queue && !self.running.shutdown.is_cancelled();
        let mut swept = false;
        self.check_tokens(&start.workspace_id).await?;
        loop {
            // A turn that waits for its thread takes nobody's place.
            let place = self.running.take_place();
            let place = place.ok_or(AgentError::TooManyTurns { limit: limits.running })?;
            // With the model that is asked, whoever has chosen it.
            let chosen = TurnStartParams { model: Some(model.to_string()), ..start.clone() };
            let max_running = Some(limits.running_in_workspace);
            match self.store.create_turn(chosen, self.lease(), max_running, actor.clone()).await {
                // Perhaps its gateway is gone and nobody has noticed yet.
                Err(StoreError::TurnRunning { .. }) if !swept => {
                    self.fail_dead_turns().await?;
                    swept = true;
                }
                Err(StoreError::TurnRunning { .. }) if listener.is_gone() => {
                    return Err(AgentError::Withdrawn);
                }
                Err(StoreError::TurnRunning { .. }) if is_waiting() => {
                    drop(place);
                    tokio::time::sleep(ASK_AGAIN).await;
                }
                // Those of gateways that are gone count for as long as nobody has noticed.
                Err(StoreError::TooManyTurns { .. }) if !swept => {
                    self.fail_dead_turns().await?;
                    swept = true;
                }
                created => return Ok((created?, place)),
            }
        }
    }

    /// Refuses a turn of a workspace that has used the tokens of today.
    pub(crate) async fn check_tokens(&self, workspace_id: &WorkspaceId) -> Result<(), AgentError> {
        match self.spent_limit(workspace_id).await? {
            None => Ok(()),
            Some(limit) => Err(AgentError::TokensSpent { limit }),
        }
    }

    /// The tokens of a day, if a workspace has used them up today, with the turns that run.
    pub(crate) async fn spent_limit(&self, workspace_id: &WorkspaceId) -> Result<Option<u64>, AgentError> {
        let Some(limit) = self.settings.turns.limits.tokens_per_day else { return Ok(None) };
        let day = self.store.now().milliseconds().div_euclid(DAY_MILLISECONDS) * DAY_MILLISECONDS;
        let usage = self.store.usage_since(workspace_id, Timestamp::from_milliseconds(day)).await?;
        let is_spent = usage.input.saturating_add(usage.output) >= limit.get();
        Ok(is_spent.then_some(limit.get()))
    }

    /// Shows a turn, and lets somebody hear the rest of its answer; nothing is heard of one that does not run here.
    pub fn watch_turn<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        watcher: Arc<dyn TurnListener>,
    ) -> BoxFuture<'a, Result<TurnWatchResult, AgentError>> {
        Box::pin(async move {
            let unheard = |TurnGetResult { turn, approvals, delegated, .. }| {
                let text = turn.answer.clone().unwrap_or_default();
                TurnWatchResult { turn, text, next_index: None, approvals, delegated }
            };
            // Before anybody listens: a turn of another workspace is not there.
            let view = self.turn_view(workspace_id, turn_id).await?;
            if view.turn.status != TurnStatus::Running {
                return Ok(unheard(view));
            }
            let watched = self.running.watch(turn_id, watcher);
            // It may have ended since it was looked at; its hooks run a little longer.
            let view = self.turn_view(workspace_id, turn_id).await?;
            Ok(match watched.filter(|_| view.turn.status == TurnStatus::Running) {
                Some(Watched { text, next_index }) => {
                    let answer = (!text.is_empty()).then(|| text.clone());
                    let TurnGetResult { turn, approvals, delegated, .. } = view;
                    let (turn, next_index) = (Turn { answer, ..turn }, Some(next_index));
                    TurnWatchResult { turn, text, next_index, approvals, delegated }
                }
                None => unheard(view),
            })
        })
    }

    /// Stops a turn, wherever it runs, and answers with it when it has ended, or as it is when that takes too long.
    pub fn cancel_turn<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Turn, AgentError>> {
        Box::pin(async move {
            let turn = self.store.turn(workspace_id, turn_id).await?;
            if turn.status != TurnStatus::Running {
                return Ok(turn);
            }
            // Perhaps its gateway is gone and nobody has noticed yet.
            self.fail_dead_turns().await?;
            let asked = self.store.request_stop(workspace_id, turn_id, actor).await?;
            // One that does not end in time, because of a hook or a disk, goes on ending without anybody who waits.
            let stopping = tokio::time::timeout(STOP_TIME, self.running.stop(turn_id));
            if asked.status != TurnStatus::Running || stopping.await.unwrap_or(true) {
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
                Err(_) => {
                    self.fail_dead_turns().await?;
                    Ok(self.store.turn(workspace_id, turn_id).await?)
                }
            }
        })
    }

    /// Fails the turns of gateways that are no more, and says how many.
    pub fn fail_dead_turns(&self) -> BoxFuture<'_, Result<usize, AgentError>> {
        Box::pin(async move {
            let error = turn_error(&AgentError::GatewayGone);
            let (now, living) = (self.store.now(), self.running.ids());
            let expired = self.store.fail_expired_turns(now, SWEEP, &living, &error).await?;
            // A lease from before the clock was set back would hold its thread until the clock is there again.
            let longest = i64::try_from(LONGEST_LEASE.as_millis()).unwrap_or(i64::MAX);
            let latest = Timestamp::from_milliseconds(now.milliseconds().saturating_add(longest));
            let misdated = self.store.fail_turns_leased_beyond(latest, SWEEP, &living, &error).await?;
            Ok(expired.len() + misdated.len())
        })
    }

    pub(crate) fn lease(&self) -> Lease {
        let milliseconds = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
        let expires_at = Timestamp::from_milliseconds(self.store.now().milliseconds() + milliseconds);
        Lease { owner: self.node.clone(), expires_at }
    }
}

impl HeldTurn {
    /// Runs the turn to its end, whatever that is; one that was queued is loaded again before.
    pub(crate) async fn run(mut self, queued: Option<PromptRequest>, place: Option<TurnPermit>) {
        let outcome = match self.unless_stopped(self.load_again(queued)).await {
            Ok(loaded) => {
                if let Some(subject) = loaded {
                    self.subject = subject;
                }
                let answered = self.unless_stopped(self.answer()).await;
                answered.map_or_else(|outcome| outcome, Outcome::Completed)
            }
            Err(outcome) => outcome,
        };
        self.settle_children().await;
        // Whoever hears of the end may begin the next turn at once, and must find the place free.
        drop(place);
        self.finish(&outcome).await;
        self.agent.records.release(self.id());
        let after = TurnContext { status: Some(outcome.status()), ..self.hook_context() };
        match self.agent.runtime.run_phase(Phase::PostTurn, Arc::new(after)).await {
            Ok(ran) => self.agent.keep_jobs(self.workspace_id(), self.id(), &ran.contributions).await,
            Err(error) => tracing::warn!(%error, turn = %self.id(), "a hook failed after a turn"),
        }
    }

    /// Does a part of the turn, and keeps the lease meanwhile; how the turn ends if it fails, panics or must stop.
    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, AgentError>>,
    ) -> Result<T, Outcome> {
        tokio::select! {
            done = AssertUnwindSafe(work).catch_unwind() => match done {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(Outcome::Failed(error)),
                Err(_) => Err(Outcome::Failed(AgentError::Panicked)),
            },
            stopped = self.stopped() => Err(match stopped {
                Stopped::BySomebody => Outcome::Cancelled,
                Stopped::ByShutdown => Outcome::Failed(AgentError::ShutDown),
                Stopped::LeaseLost => Outcome::Failed(AgentError::LeaseLost),
            }),
        }
    }

    /// What the turn is about now, if it had to wait.
    async fn load_again(&self, queued: Option<PromptRequest>) -> Result<Option<Subject>, AgentError> {
        let Some(request) = queued else { return Ok(None) };
        let request = PromptRequest { turn_id: Some(self.stored.id.clone()), ..request };
        Ok(Some(self.agent.load(&request).await?))
    }

    /// Plans the turn and goes through its rounds.
    async fn answer(&self) -> Result<ThreadAfter, AgentError> {
        let plan = self.plan().await?;
        let mut after = Rounds::new(self, plan).run().await?.thread_after();
        if let Some((session, _)) = after.session.as_deref_mut() {
            session.touch(self.touched());
        }
        Ok(after)
    }

    /// Renews the lease; ends only when the turn must.
    async fn stopped(&self) -> Stopped {
        tokio::select! {
            () = self.running.stop.cancelled() => Stopped::BySomebody,
            () = self.agent.running.shutdown.cancelled() => Stopped::ByShutdown,
            stopped = self.keep_alive() => stopped,
        }
    }

    async fn keep_alive(&self) -> Stopped {
        let (agent, workspace_id, turn_id) = (&self.agent, self.workspace_id(), self.id());
        let mut renewed = tokio::time::Instant::now();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            match agent.store.turn_hold(workspace_id, turn_id).await {
                Ok(hold) if hold.status != TurnStatus::Running => return Stopped::LeaseLost,
                Ok(hold) if hold.stop_requested_at.is_some() => return Stopped::BySomebody,
                _ => {}
            }
            if renewed.elapsed() < RENEWAL {
                continue;
            }
            renewed = tokio::time::Instant::now();
            match self.lease.renew().await {
                Err(StoreError::TurnEnded { .. } | StoreError::NotHolder { .. }) => {
                    return Stopped::LeaseLost;
                }
                Err(error) => tracing::warn!(%error, turn = %turn_id, "a lease could not be renewed"),
                Ok(()) => {}
            }
        }
    }

    /// Lets hooks know that earlier turns are about to be summarised.
    pub(crate) async fn before_compaction(&self) -> Result<(), AgentError> {
        let mut context = Arc::new(self.hook_context());
        let outcome = self.agent.runtime.run_phase(Phase::PreCompaction, Arc::clone(&context)).await?;
        if !outcome.contributions.is_empty() {
            Arc::make_mut(&mut context).earlier.extend(outcome.contributions);
            self.set_hook_context(Arc::unwrap_or_clone(context));
        }
        Ok(())
    }
}

/// Why a turn has no answer, as it is kept.
pub(crate) fn turn_error(error: &AgentError) -> TurnError {
    let (provider, status) = match error {
        AgentError::Provider(error) => (Some(error.provider.clone()), error.status),
        _ => (None, None),
    };
    TurnError {
        kind: error.kind(),
        message: error.to_string(),
        hint: error.hint().map(Cow::into_owned),
        provider,
        status,
        retryable: error.is_retryable(),
    }
}
