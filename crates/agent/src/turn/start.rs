//! Starting a turn: checks the request, waits for the thread if necessary, and stores the turn.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::limits::{MAX_TURN_CONTEXT_CHARACTERS, MAX_WAITING_TURNS};
use protocol::method::TurnStartParams;
use protocol::{TokenReach, Turn, TurnId, TurnScope};
use provider::{ModelName, Provider};
use store::{StoreError, TurnActor};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::history::summary::Summariser;
use crate::prompt::prepare::PromptRequest;
use crate::settings::WhenBusy;
use crate::turn::handles::TurnPermit;
use crate::turn::listener::TurnListener;
use crate::turn::running::{RunningTurn, TurnModel, TurnOrigin};

/// Polling interval while waiting for a thread.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Ends a turn in this process when dropped. Even a panic at the very end must not leave it listed as running.
pub(crate) struct EndOnDrop {
    pub(crate) agent: Arc<Agent>,
    pub(crate) turn_id: TurnId,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.agent.running.end(&self.turn_id);
    }
}

/// Rejects a context that is longer than allowed. Cutting it would lose text without the caller's knowledge.
pub(crate) fn check_context(context: Option<&str>) -> Result<(), AgentError> {
    let limit = MAX_TURN_CONTEXT_CHARACTERS;
    let characters = context.map_or(0, |context| context.chars().count());
    if characters > limit { Err(AgentError::LongContext { characters, limit }) } else { Ok(()) }
}

impl Agent {
    /// Starts a turn and returns once it is stored; the turn continues in its own task.
    pub fn start_turn(
        self: &Arc<Self>,
        start: TurnStartParams,
        actor: TurnActor,
        reach: TokenReach,
        listener: Arc<dyn TurnListener>,
    ) -> BoxFuture<'_, Result<Turn, AgentError>> {
        Box::pin(async move {
            if start.input.trim().is_empty() {
                return Err(AgentError::NoInput);
            }
            check_context(start.context.as_deref())?;
            // Report an unusable directory or skill to the caller, rather than through a failed turn.
            let scope = TurnScope {
                input: Some(start.input.clone()),
                actor: actor.name.clone(),
                reach,
                skills: start.skills.clone(),
                context: start.context.clone(),
                tool_domains: start.mcp.iter().map(|name| protocol::mcp::tool_domain(name)).collect(),
                ..TurnScope::new(start.workspace_id.clone(), start.thread_id.clone())
            };
            let request = PromptRequest { scope, cwd: start.cwd.clone() };
            let subject = self.load(&request).await?;
            self.check_skills(&subject).await?;
            let model = self.turn_model(start.model.as_deref())?;
            let (turn, slot) = self.create(&start, &model.name, &actor, listener.as_ref()).await?;
            let origin = TurnOrigin { actor, stop: CancellationToken::new(), listener };
            let running = RunningTurn::new(Arc::clone(self), subject, turn.clone(), model, origin);
            // A queued turn may start much later, when its workspace has changed.
            let queued = (self.settings.turns.when_busy == WhenBusy::Queue).then_some(request);
            let ended = EndOnDrop { agent: Arc::clone(self), turn_id: turn.id.clone() };
            self.running.tasks.spawn(async move {
                running.run(queued, Some(slot)).await;
                drop(ended);
            });
            Ok(turn)
        })
    }

    /// Returns the model to ask and the one that summarises.
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
        let window = self.windows.size(&model, settings);
        let summariser = Summariser {
            provider: summary_provider,
            model,
            counter: Arc::clone(&self.counter),
            context_tokens: window.request + window.answer,
            requests: Arc::default(),
        };
        Ok(TurnModel { name, provider, summariser })
    }

    /// Returns the provider of a model, or an error if it cannot be used, so that the caller learns it before the
    /// turn is stored.
    pub(crate) fn provider(&self, model: &ModelName) -> Result<Provider, AgentError> {
        let found = self.settings.providers.of(model);
        let provider = found.map_err(|error| AgentError::UnknownProvider(Box::new(error)))?;
        provider.check_key().map_err(|error| AgentError::Provider(Box::new(error)))?;
        Ok(provider.clone())
    }

    /// Stores the turn. If the thread is busy, waits for it if the settings choose `queue`.
    async fn create(
        &self,
        start: &TurnStartParams,
        model: &ModelName,
        actor: &TurnActor,
        listener: &dyn TurnListener,
    ) -> Result<(Turn, TurnPermit), AgentError> {
        let limits = &self.settings.turns.limits;
        // Turns of this process are served in order of arrival; between gateways, whichever polls first wins.
        let queue = match self.settings.turns.when_busy {
            WhenBusy::Queue => Some(
                self.queues.of(&start.thread_id).ok_or(AgentError::QueueFull { limit: MAX_WAITING_TURNS })?,
            ),
            WhenBusy::Refuse => None,
        };
        // Held until this function returns, so that only the first waiting turn polls the store.
        let _turn_in_queue = match &queue {
            Some(queue) => Some(queue.lock().await),
            None => None,
        };
        let is_waiting =
            || self.settings.turns.when_busy == WhenBusy::Queue && !self.running.shutdown.is_cancelled();
        let mut swept = false;
        self.check_tokens(&start.workspace_id).await?;
        loop {
            // Take a slot only for the attempt: a turn that waits for its thread must not block others.
            let slot = self.running.reserve_slot();
            let slot = slot.ok_or(AgentError::TooManyTurns { limit: limits.running })?;
            // Store the model that will be asked, even if it comes from the defaults.
            let chosen = TurnStartParams { model: Some(model.to_string()), ..start.clone() };
            let max_running = Some(limits.running_in_workspace);
            match self.store.create_turn(chosen, self.lease(), max_running, actor.clone()).await {
                // The gateway of the running turn may be dead without any sweep having noticed yet.
                Err(StoreError::TurnRunning { .. }) if !swept => {
                    self.fail_dead_turns().await?;
                    swept = true;
                }
                Err(StoreError::TurnRunning { .. }) if listener.is_gone() => {
                    return Err(AgentError::Withdrawn);
                }
                Err(StoreError::TurnRunning { .. }) if is_waiting() => {
                    drop(slot);
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                // Turns of dead gateways count against the limit until a sweep fails them.
                Err(StoreError::TooManyTurns { .. }) if !swept => {
                    self.fail_dead_turns().await?;
                    swept = true;
                }
                created => return Ok((created?, slot)),
            }
        }
    }
}
