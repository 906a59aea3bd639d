//! A turn that this process holds: what it is about was loaded once, and only the holder of its lease writes to it.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hooks::TurnContext;
use prompt::CompiledPrompt;
use protocol::message::{AttachedEffects, TurnItem, TurnMessage};
use protocol::prompt::{PromptDiagnostic, RoundRequest};
use protocol::{ContentHash, Session, Turn, TurnId, TurnStatus, Version, WorkspaceId};
use provider::{Block, Message, ModelName, Provider};
use store::{BeginRound, FinishTurn, StoreError, TurnActor, TurnEnd, TurnEvent};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tools::{UntoldCall, UntoldEffects};

use crate::delegation::OfferedTools;
use crate::error::AgentError;
use crate::preparation::{Agent, PromptRequest};
use crate::running::RunningTurn;
use crate::subject::Subject;
use crate::summary::Summariser;
use crate::task::joined;
use crate::turn::{RENEWAL, TurnListener, turn_error};
use crate::turn_lease::TurnLease;

/// How long to wait before an end is written again.
const WRITE_AGAIN: Duration = Duration::from_millis(500);
/// How long it is tried to write a turn's end before it is given up.
const WRITE_FOR: Duration = Duration::from_secs(600);

/// How long a call that was stopped may take to end its command and to put back what that changed: both are bounded, and
/// this is more than both.
const SETTLE_FOR: Duration = Duration::from_secs(45);

/// A running turn and everything it needs.
pub(crate) struct HeldTurn {
    pub(crate) agent: Arc<Agent>,
    pub(crate) subject: Subject,
    pub(crate) stored: Turn,
    pub(crate) model: TurnModel,
    pub(crate) listener: Arc<dyn TurnListener>,
    pub(crate) actor: TurnActor,
    pub(crate) running: RunningTurn,
    /// The tools of the present round.
    pub(crate) offered: OfferedTools,
    /// The turns that it gave work to and that have not ended.
    pub(crate) children: TaskTracker,
    pub(crate) lease: Arc<TurnLease>,
    /// What calls did and no stored answer tells.
    pub(crate) untold: UntoldEffects,
    /// Items that are written with whatever is written next. Locked while they are: who has the lock knows what is
    /// stored already.
    pending: Arc<tokio::sync::Mutex<Vec<TurnItem>>>,
    touched: Mutex<BTreeSet<PathBuf>>,
    /// What hooks are told, once the first phases have run.
    context: Mutex<Option<TurnContext>>,
    /// Digests of the prompt's texts that are stored with an earlier round.
    brought: Mutex<HashSet<ContentHash>>,
}

/// Who began a turn, who can stop it, and who hears it.
pub(crate) struct TurnOrigin {
    pub(crate) actor: TurnActor,
    pub(crate) stop: CancellationToken,
    pub(crate) listener: Arc<dyn TurnListener>,
}

/// Who is asked, and who summarises.
pub(crate) struct TurnModel {
    pub(crate) name: ModelName,
    pub(crate) provider: Provider,
    pub(crate) summariser: Summariser,
}

/// What a thread carries on from a turn that ended well.
pub(crate) struct ThreadAfter {
    /// Its session, and the version that is based on.
    pub(crate) session: Option<Box<(Session, Version)>>,
    /// The hidden tools that it has asked for, if that is more than before.
    pub(crate) requested_tools: Option<Vec<String>>,
}

/// How a turn ended.
pub(crate) enum Outcome {
    Completed(ThreadAfter),
    Failed(AgentError),
    Cancelled,
}

impl Outcome {
    pub(crate) fn status(&self) -> TurnStatus {
        match self {
            Self::Completed(_) => TurnStatus::Completed,
            Self::Failed(_) => TurnStatus::Failed,
            Self::Cancelled => TurnStatus::Cancelled,
        }
    }
}

impl HeldTurn {
    pub(crate) fn new(
        agent: Arc<Agent>,
        subject: Subject,
        stored: Turn,
        model: TurnModel,
        origin: TurnOrigin,
    ) -> Self {
        let TurnOrigin { actor, stop, listener } = origin;
        let running = agent.running.begin(&stored.id, listener.recipient(), stop);
        agent.records.hold(&stored.id);
        let (workspace_id, turn_id) = (stored.workspace_id.clone(), stored.id.clone());
        let lease = Arc::new(TurnLease::new(Arc::clone(&agent), workspace_id, turn_id));
        let request = PromptRequest { turn_id: Some(stored.id.clone()), ..subject.request };
        let subject = Subject { request, ..subject };
        Self {
            agent,
            subject,
            stored,
            model,
            listener,
            actor,
            running,
            offered: OfferedTools::default(),
            children: TaskTracker::new(),
            lease,
            untold: UntoldEffects::default(),
            pending: Arc::default(),
            touched: Mutex::default(),
            context: Mutex::default(),
            brought: Mutex::default(),
        }
    }

    pub(crate) fn id(&self) -> &TurnId {
        &self.stored.id
    }

    pub(crate) fn workspace_id(&self) -> &WorkspaceId {
        &self.stored.workspace_id
    }

    /// Tells everybody who listens more of the answer; only the one who asked is waited for.
    pub(crate) async fn tell_piece(&self, text: &str) {
        let (index, watchers) = self.running.next_piece(text);
        for watcher in watchers {
            watcher.delta(self.id(), index, text).await;
        }
        self.listener.delta(self.id(), index, text).await;
    }

    /// Tells everybody who listens that the provider is asked again.
    pub(crate) async fn tell_retrying(&self, attempt: u32, delay: Duration, message: &str) {
        for watcher in self.running.watchers() {
            watcher.retrying(self.id(), attempt, delay, message).await;
        }
        self.listener.retrying(self.id(), attempt, delay, message).await;
    }

    /// Takes note of the paths that calls have touched.
    pub(crate) fn touch(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).extend(paths);
    }

    /// The paths that calls have touched in this turn.
    pub(crate) fn touched(&self) -> BTreeSet<PathBuf> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What hooks are told about the turn as it is now.
    pub(crate) fn hook_context(&self) -> TurnContext {
        let touched = self.touched();
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let context = context.unwrap_or_else(|| self.subject.turn_context());
        let mut touched_paths: BTreeSet<PathBuf> = context.touched_paths.iter().cloned().collect();
        touched_paths.extend(touched);
        TurnContext { touched_paths: touched_paths.into_iter().collect(), ..context }
    }

    /// Tells later hooks what those before them contributed.
    pub(crate) fn set_hook_context(&self, context: TurnContext) {
        *self.context.lock().unwrap_or_else(PoisonError::into_inner) = Some(context);
    }

    /// Writes items with the next thing that is written: each commit costs a model's time.
    pub(crate) async fn add_later(&self, items: impl IntoIterator<Item = TurnItem>) {
        self.pending.lock().await.extend(items);
    }

    /// Adds items to the turn, and logs what happened.
    pub(crate) async fn add(&self, items: Vec<TurnItem>, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        let (agent, turn) = (Arc::clone(&self.agent), self.stored.clone());
        let mut pending = Arc::clone(&self.pending).lock_owned().await;
        self.write(async move {
            let all: Vec<TurnItem> = pending.iter().cloned().chain(items).collect();
            agent.store.add_turn_items(&turn.workspace_id, &turn.id, &agent.node, &all, events).await?;
            pending.clear();
            Ok(())
        })
        .await
    }

    /// Writes in a task of its own: a turn that is stopped stops waiting, but what the store was given it stores.
    async fn write(
        &self,
        write: impl Future<Output = Result<(), AgentError>> + Send + 'static,
    ) -> Result<(), AgentError> {
        joined(self.agent.running.tasks.spawn(write)).await
    }

    /// Logs what happened.
    pub(crate) async fn log(&self, event: TurnEvent) -> Result<(), AgentError> {
        let store = &self.agent.store;
        Ok(store.log_turn_events(self.workspace_id(), self.id(), &self.agent.node, vec![event]).await?)
    }

    /// Records the prompt of a round before the model is asked with it, in one commit with what precedes the answer.
    pub(crate) async fn record(
        &self,
        round: u32,
        compiled: &CompiledPrompt,
        request: RoundRequest,
        about_tools: &[PromptDiagnostic],
    ) -> Result<(), AgentError> {
        let (agent, turn) = (Arc::clone(&self.agent), self.stored.clone());
        let brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let record = agent.round_record(round, compiled, Some(request), about_tools, &brought);
        let mut pending = Arc::clone(&self.pending).lock_owned().await;
        self.write(async move {
            let runs = agent.records.take(&turn.id);
            let record = BeginRound { items: pending.clone(), hook_runs: runs.clone(), ..record };
            let begun = agent.store.begin_round(&turn.workspace_id, &turn.id, &agent.node, record).await;
            match begun {
                Ok(()) => pending.clear(),
                Err(_) => agent.records.put_back(&turn.id, runs),
            }
            Ok(begun?)
        })
        .await?;
        let digests = compiled.sections.iter().map(|section| section.sha256.clone());
        self.brought.lock().unwrap_or_else(PoisonError::into_inner).extend(digests);
        Ok(())
    }

    /// How often the model may be asked before it must answer.
    pub(crate) fn max_rounds(&self) -> u32 {
        let configured = self.agent.settings.turns.max_rounds.max(1);
        self.subject.limits.max_rounds.map_or(configured, |limit| limit.clamp(1, configured))
    }

    /// Waits until the turns that it gave work to have ended: a turn that was stopped stops them, and its end comes after
    /// theirs, with what they have cost.
    pub(crate) async fn settle_children(&self) {
        self.children.close();
        let settled = tokio::time::timeout(SETTLE_FOR, self.children.wait());
        tokio::pin!(settled);
        loop {
            tokio::select! {
                settled = &mut settled => {
                    if settled.is_err() {
                        tracing::warn!(turn = %self.id(), "a turn ends before those that it gave work to");
                    }
                    return;
                }
                () = tokio::time::sleep(RENEWAL) => if let Err(error) = self.lease.renew().await {
                    tracing::warn!(%error, turn = %self.id(), "a lease could not be renewed");
                },
            }
        }
    }

    /// Waits until calls that were stopped have put back what they must, and says what they did.
    async fn settle_calls(&self) -> (Option<TurnItem>, Vec<TurnEvent>) {
        let settling = self.untold.settle(SETTLE_FOR);
        tokio::pin!(settling);
        let calls = loop {
            tokio::select! {
                calls = &mut settling => break calls,
                () = tokio::time::sleep(RENEWAL) => if let Err(error) = self.lease.renew().await {
                    tracing::warn!(%error, turn = %self.id(), "a lease could not be renewed");
                },
            }
        };
        let calls = self.without_stored(calls).await;
        if calls.is_empty() {
            return (None, Vec::new());
        }
        for UntoldCall { effects, .. } in &calls {
            for change in &effects.protected_changes {
                let (path, what, undone) = (&change.path, change.change.name(), change.undone);
                tracing::warn!(turn = %self.id(), path, what, undone, "a stopped command had changed a protected file");
            }
        }
        // No results: whether a call that was stopped has done what it should, nobody knows.
        let effects = calls.iter().map(|UntoldCall { call_id, effects, .. }| AttachedEffects {
            call_id: call_id.clone(),
            effects: effects.clone(),
        });
        let entry =
            TurnMessage { effects: effects.collect(), ..TurnMessage::new(Message::results(Vec::new())) };
        let events = calls.into_iter().map(|UntoldCall { call_id, tool, effects }| TurnEvent::ToolFinished {
            call_id,
            tool,
            is_error: true,
            reminders: Vec::new(),
            effects,
        });
        (Some(TurnItem::Message(entry)), events.collect())
    }

    /// Those of some calls whose effects are not stored: a turn may be stopped while an answer is being written.
    async fn without_stored(&self, mut calls: Vec<UntoldCall>) -> Vec<UntoldCall> {
        if calls.is_empty() {
            return calls;
        }
        // Who writes has the lock.
        drop(self.pending.lock().await);
        let stored = self.agent.store.turn_items(self.workspace_id(), self.id()).await.unwrap_or_default();
        let is_stored = |call: &UntoldCall| {
            let messages = stored.iter().filter_map(|item| match &item.item {
                TurnItem::Message(message) => Some(message),
                TurnItem::Context(_) | TurnItem::Round(_) => None,
            });
            messages.flat_map(|message| &message.effects).any(|attached| attached.call_id == call.call_id)
        };
        calls.retain(|call| !is_stored(call));
        calls
    }

    /// Writes the end, and tries again while the database is away. Whoever could fail the turn needs the database too, so
    /// an answer that somebody has read is given up late.
    pub(crate) async fn finish(&self, outcome: &Outcome) {
        let (effects, events) = self.settle_calls().await;
        let mut last = self.pending.lock().await;
        if !matches!(outcome, Outcome::Completed(_)) {
            let text = self.pending_text(&last).await;
            last.extend(text);
        }
        last.extend(effects);
        let (end, requested_tools) = match outcome {
            Outcome::Completed(ThreadAfter { session, requested_tools }) => {
                (TurnEnd::Completed { session: session.clone() }, requested_tools.clone())
            }
            Outcome::Failed(error) => (TurnEnd::Failed(turn_error(error)), None),
            Outcome::Cancelled => (TurnEnd::Cancelled, None),
        };
        let usage = Some(self.running.usage());
        let finish = FinishTurn { end, usage, items: last.clone(), events, requested_tools };
        let (agent, actor) = (&self.agent, self.subject.request.actor.as_deref());
        let deadline = tokio::time::Instant::now() + WRITE_FOR;
        let may_wait = || tokio::time::Instant::now() < deadline && !agent.running.shutdown.is_cancelled();
        loop {
            let (workspace_id, finish) = (self.workspace_id(), finish.clone());
            match agent.store.finish_turn(workspace_id, self.id(), &agent.node, finish, actor).await {
                Ok(_) => return self.running.text_stored(),
                Err(StoreError::Unavailable(_) | StoreError::DiskFull) if may_wait() => {
                    tokio::time::sleep(WRITE_AGAIN).await;
                }
                Err(error) => {
                    tracing::error!(%error, turn = %self.id(), "the end of a turn could not be written");
                    return;
                }
            }
        }
    }

    /// What a model was saying when it was stopped.
    async fn pending_text(&self, pending: &[TurnItem]) -> Option<TurnItem> {
        let text = self.running.pending_text()?;
        // It may have been stopped just when this had been stored, or was about to be with the end.
        let last = match pending.last() {
            Some(item) => Some(item.clone()),
            None => {
                let stored = self.agent.store.turn_items(self.workspace_id(), self.id()).await.ok();
                stored.and_then(|mut items| Some(items.pop()?.item))
            }
        };
        if let Some(TurnItem::Message(last)) = last
            && last.message.text() == text
        {
            return None;
        }
        Some(TurnItem::Message(TurnMessage::new(Message::assistant(vec![Block::text(text)]))))
    }
}
