//! A turn's life: begun under a lease, run by itself, ended once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::limits::MAX_WAITING_TURNS;
use protocol::method::TurnStartParams;
use protocol::{Turn, TurnId};
use provider::{ModelName, Provider};
use store::{StoreError, TurnActor};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::history::summary::Summariser;
use crate::prompt::prepare::{PromptRequest, Reach};
use crate::settings::WhenBusy;
use crate::turn::handles::TurnPermit;
use crate::turn::listener::TurnListener;
use crate::turn::running::{RunningTurn, TurnModel, TurnOrigin};

/// How often somebody who waits for a thread asks again.
pub(crate) const ASK_AGAIN: Duration = Duration::from_millis(100);

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
            let held = RunningTurn::new(Arc::clone(self), subject, turn.clone(), model, origin);
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
}
