//! A turn running in this process. Its subject is loaded once, and only the holder of its lease writes to it.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hooks::TurnContext;
use parking_lot::Mutex;
use prompt::CompiledPrompt;
use protocol::message::TurnItem;
use protocol::prompt::{PromptDiagnostic, RoundRequest};
use protocol::{ContentHash, ToolSpec, Turn, TurnId, WorkspaceId};
use provider::{ModelName, Provider};
use store::{BeginRound, PromptText, TurnActor, TurnEvent};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tools::UnreportedEffects;

use crate::agent::Agent;
use crate::blocking::joined;
use crate::domains::delegation::OfferedTools;
use crate::error::AgentError;
use crate::history::summary::Summariser;
use crate::subject::PromptSubject;
use crate::turn::handles::TurnHandle;
use crate::turn::lease::TurnLease;
use crate::turn::listener::TurnListener;
use crate::turn::tools::described;

/// A running turn and everything it needs.
pub(crate) struct RunningTurn {
    pub(crate) agent: Arc<Agent>,
    pub(crate) subject: PromptSubject,
    pub(crate) stored: Turn,
    pub(crate) model: TurnModel,
    pub(crate) listener: Arc<dyn TurnListener>,
    pub(crate) actor: TurnActor,
    pub(crate) handle: TurnHandle,
    /// The tools of the current round.
    pub(crate) offered: OfferedTools,
    /// Delegated turns that have not ended.
    pub(crate) children: TaskTracker,
    pub(crate) lease: Arc<TurnLease>,
    /// Effects of calls that no stored result reports yet.
    pub(crate) untold: UnreportedEffects,
    /// Items to write with the next commit. The lock is held during a commit, so its holder knows what is stored.
    pub(crate) pending: Arc<tokio::sync::Mutex<Vec<TurnItem>>>,
    touched: Mutex<BTreeSet<PathBuf>>,
    /// The context for hooks, once the first phases have run.
    context: Mutex<Option<TurnContext>>,
    /// Digests of prompt texts stored with an earlier round.
    stored_texts: Mutex<HashSet<ContentHash>>,
}

/// The actor, cancellation token and listener of a new turn.
pub(crate) struct TurnOrigin {
    pub(crate) actor: TurnActor,
    pub(crate) stop: CancellationToken,
    pub(crate) listener: Arc<dyn TurnListener>,
}

/// The model of a turn, and the one that summarises.
pub(crate) struct TurnModel {
    pub(crate) name: ModelName,
    pub(crate) provider: Provider,
    pub(crate) summariser: Summariser,
}

impl RunningTurn {
    pub(crate) fn new(
        agent: Arc<Agent>,
        subject: PromptSubject,
        stored: Turn,
        model: TurnModel,
        origin: TurnOrigin,
    ) -> Self {
        let TurnOrigin { actor, stop, listener } = origin;
        let handle = agent.running.begin(&stored.id, listener.recipient(), stop);
        // From here on the records of the turn's hooks wait for one of its commits.
        agent.records.hold(&stored.id);
        let workspace_id = stored.workspace_id.clone();
        let turn_id = stored.id.clone();
        let lease = Arc::new(TurnLease::new(Arc::clone(&agent), workspace_id, turn_id));
        let mut subject = subject;
        Arc::make_mut(&mut subject.scope).turn_id = Some(stored.id.clone());
        Self {
            agent,
            subject,
            stored,
            model,
            listener,
            actor,
            handle,
            offered: OfferedTools::default(),
            children: TaskTracker::new(),
            lease,
            untold: UnreportedEffects::default(),
            pending: Arc::default(),
            touched: Mutex::default(),
            context: Mutex::default(),
            stored_texts: Mutex::default(),
        }
    }

    pub(crate) fn id(&self) -> &TurnId {
        &self.stored.id
    }

    pub(crate) fn workspace_id(&self) -> &WorkspaceId {
        &self.stored.workspace_id
    }

    /// Sends a piece of the answer to all listeners; only the one that started the turn applies backpressure.
    pub(crate) async fn broadcast_delta(&self, text: &str) {
        // The index and the list of watchers are taken together, so that a watcher who joins now misses no
        // piece and gets none twice.
        let (index, watchers) = self.handle.next_piece(text);
        for watcher in watchers {
            watcher.delta(self.id(), index, text).await;
        }
        self.listener.delta(self.id(), index, text).await;
    }

    /// Notifies all listeners that the provider is called again.
    pub(crate) async fn broadcast_retry(&self, attempt: u32, delay: Duration, message: &str) {
        for watcher in self.handle.watchers() {
            watcher.retrying(self.id(), attempt, delay, message).await;
        }
        self.listener.retrying(self.id(), attempt, delay, message).await;
    }

    /// Records the paths touched by calls.
    pub(crate) fn touch(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.touched.lock().extend(paths);
    }

    /// Returns the paths touched by calls of this turn.
    pub(crate) fn touched(&self) -> BTreeSet<PathBuf> {
        self.touched.lock().clone()
    }

    /// Returns the current context for hooks.
    pub(crate) fn hook_context(&self) -> TurnContext {
        let touched = self.touched();
        let context = self.context.lock().clone();
        let context = context.unwrap_or_else(|| self.subject.turn_context());
        let mut touched_paths: BTreeSet<PathBuf> = context.touched_paths.iter().cloned().collect();
        touched_paths.extend(touched);
        TurnContext { touched_paths: touched_paths.into_iter().collect(), ..context }
    }

    /// Passes the contributions of earlier hooks on to later ones.
    pub(crate) fn set_hook_context(&self, context: TurnContext) {
        *self.context.lock() = Some(context);
    }

    /// Buffers items until the next commit, because each commit delays the model.
    pub(crate) async fn buffer_items(&self, items: impl IntoIterator<Item = TurnItem>) {
        self.pending.lock().await.extend(items);
    }

    /// Writes items and events, together with buffered items.
    pub(crate) async fn add(&self, items: Vec<TurnItem>, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        let agent = Arc::clone(&self.agent);
        let turn = self.stored.clone();
        // The lock is held until the commit has ended. Another commit in between would store the items in a
        // different order.
        let mut pending = Arc::clone(&self.pending).lock_owned().await;
        self.write(async move {
            let all: Vec<TurnItem> = pending.iter().cloned().chain(items).collect();
            agent.store.add_turn_items(&turn.workspace_id, &turn.id, &agent.node, &all, events).await?;
            pending.clear();
            Ok(())
        })
        .await
    }

    /// Writes in a separate task: stopping a turn abandons the wait, but never a write that has started.
    async fn write(
        &self,
        write: impl Future<Output = Result<(), AgentError>> + Send + 'static,
    ) -> Result<(), AgentError> {
        joined(self.agent.running.tasks.spawn(write)).await
    }

    /// Logs an event.
    pub(crate) async fn log(&self, event: TurnEvent) -> Result<(), AgentError> {
        let store = &self.agent.store;
        Ok(store.log_turn_events(self.workspace_id(), self.id(), &self.agent.node, vec![event]).await?)
    }

    /// Records the prompt of a round before the model is asked, in one commit with the buffered items.
    pub(crate) async fn record(
        &self,
        round: u32,
        compiled: &CompiledPrompt,
        request: RoundRequest,
        specs: &[ToolSpec],
        about_tools: &[PromptDiagnostic],
    ) -> Result<(), AgentError> {
        let agent = Arc::clone(&self.agent);
        let turn = self.stored.clone();
        let stored_texts = self.stored_texts.lock().clone();
        let mut record = agent.round_record(round, compiled, Some(request), about_tools, &stored_texts);
        if agent.settings.prompt.keep_texts {
            let texts = specs.iter().map(|spec| PromptText::new(described(spec)));
            record.texts.extend(texts.filter(|text| !stored_texts.contains(&text.sha256)));
        }
        let of_record: Vec<ContentHash> = record.texts.iter().map(|text| text.sha256.clone()).collect();
        let mut pending = Arc::clone(&self.pending).lock_owned().await;
        self.write(async move {
            let runs = agent.records.take(&turn.id);
            let record = BeginRound { items: pending.clone(), hook_runs: runs.clone(), ..record };
            let begun = agent.store.begin_round(&turn.workspace_id, &turn.id, &agent.node, record).await;
            match begun {
                Ok(()) => pending.clear(),
                // The round was not recorded, but its hooks did run, so their records must survive.
                Err(_) => agent.records.put_back(&turn.id, runs),
            }
            Ok(begun?)
        })
        .await?;
        let digests = compiled.sections.iter().map(|section| section.sha256.clone());
        self.stored_texts.lock().extend(digests.chain(of_record));
        Ok(())
    }

    /// Returns the number of rounds before the model must answer.
    pub(crate) fn max_rounds(&self) -> u32 {
        // At least one round, because a turn without any could not answer.
        let configured = self.agent.settings.turns.max_rounds.max(1);
        self.subject.limits.max_rounds.map_or(configured, |limit| limit.clamp(1, configured))
    }
}
