//! The rounds of a turn: a model is asked, its calls are run, and it is asked again, until it answers.

use futures_util::StreamExt as _;
use prompt::{CompiledPrompt, notes};
use provider::{
    Block, ChatEvent, ChatRequest, ChatResponse, ErrorKind, Message, MessageRole, Provider, ProviderError,
    StopReason, ToolChoice,
};
use store::{NewTurnItem, Turn, TurnEvent};
use tools::RoundContext;

use crate::call_ids;
use crate::calls::ToolExecutor;
use crate::entry::{Entry, message_tokens};
use crate::error::AgentError;
use crate::history::{History, Need};
use crate::preparation::Agent;
use crate::round_tools::RoundTools;
use crate::running::RunningTurn;
use crate::summary::Summariser;
use crate::turn::TurnListener;

/// How often a model whose answer was cut off is told to go on.
const MAX_CONTINUATIONS: u32 = 3;

/// A turn between its rounds.
pub(crate) struct Rounds<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) turn: &'a Turn,
    pub(crate) running: &'a RunningTurn,
    pub(crate) listener: &'a dyn TurnListener,
    pub(crate) provider: &'a Provider,
    pub(crate) summariser: &'a Summariser,
    pub(crate) compiled: &'a CompiledPrompt,
    pub(crate) tools: RoundTools,
    /// What the sources of tools are told about the present round.
    pub(crate) round: RoundContext,
    pub(crate) executor: ToolExecutor,
    /// What is sent but for its messages, which are those of `history` and `entries`.
    pub(crate) request: ChatRequest,
    pub(crate) history: History,
    /// Tokens that earlier turns may have.
    pub(crate) budget: usize,
    /// The messages of this turn.
    pub(crate) entries: Vec<Entry>,
    pub(crate) deltas: u64,
    pub(crate) shortened: bool,
}

impl Rounds<'_> {
    /// Asks until there is an answer.
    pub(crate) async fn run(&mut self) -> Result<(), AgentError> {
        let settings = &self.agent.settings.turns;
        let (most_rounds, most_calls) = (settings.max_rounds.max(1), settings.max_tool_calls as usize);
        let (mut round, mut called, mut continued) = (0, 0, 0);
        loop {
            round += 1;
            let is_last = round > most_rounds || (called >= most_calls && called > 0);
            self.request.tool_choice = if is_last { ToolChoice::None } else { ToolChoice::Auto };
            self.offer_tools(round).await;
            let (workspace_id, turn_id) = (&self.turn.workspace_id, &self.turn.id);
            self.agent.keep(workspace_id, turn_id, &self.agent.node, round, self.compiled).await?;
            let mut response = self.ask().await?;
            self.running.spend(response.usage);
            call_ids::make_unique(&mut response.message, &self.entries);
            let calls: Vec<protocol::ToolCall> = response.message.tool_calls().cloned().collect();
            if is_last && !calls.is_empty() {
                return self.end_without_calls(response).await;
            }
            let started = calls
                .iter()
                .map(|call| TurnEvent::ToolStarted { call_id: call.id.clone(), tool: call.name.clone() });
            let (started, stop) = (started.collect(), response.stop);
            self.say(response.message, started).await?;
            if !calls.is_empty() {
                let left = most_calls.saturating_sub(called);
                called += calls.len();
                let mut results = self.executor.run(self.tools.router(), calls, left, self.room()).await;
                let is_next_last =
                    round >= most_rounds || called >= most_calls || self.is_full(&results.entry);
                if is_next_last {
                    results.entry.message.blocks.push(Block::text(notes::final_answer()));
                    called = called.max(most_calls);
                } else if results.recoverable {
                    results.entry.message.blocks.push(Block::text(notes::retry_instruction()));
                }
                let events = std::mem::take(&mut results.events);
                self.add(results.entry.clone(), events).await?;
                results.confirm();
                continue;
            }
            match stop {
                StopReason::Paused if !is_last => {}
                StopReason::MaxOutputTokens | StopReason::ContextFull if continued < MAX_CONTINUATIONS => {
                    continued += 1;
                    let hint = Entry::new(Message::user(notes::recovery_continuation()));
                    self.add(hint, Vec::new()).await?;
                }
                StopReason::Refused if self.has_said_nothing() => return Err(AgentError::Refused),
                _ if self.has_said_nothing() => return Err(AgentError::NoAnswer),
                _ => return Ok(()),
            }
        }
    }

    /// Lists what can be called in this round. The first round's tools are known from planning.
    async fn offer_tools(&mut self, round: u32) {
        if round == self.round.round {
            return;
        }
        self.round.round = round;
        if self.tools.refresh(&self.round).await {
            let before = tool_tokens(self.agent, &self.request.tools);
            self.request.tools = self.tools.specs();
            // More to describe leaves less room for what was said.
            let more = tool_tokens(self.agent, &self.request.tools).saturating_sub(before);
            self.budget = self.budget.saturating_sub(more);
        }
    }

    /// Whether the turn itself has become so long that only an answer still fits.
    fn is_full(&self, next: &Entry) -> bool {
        self.own_tokens() + next.tokens(&self.agent.counter) > self.budget
    }

    /// Tokens that this turn may still add; earlier turns give way to it.
    fn room(&self) -> usize {
        self.budget.saturating_sub(self.own_tokens())
    }

    /// Tokens of this turn's messages; its opening was taken from the budget before.
    fn own_tokens(&self) -> usize {
        self.entries.iter().skip(1).map(|entry| entry.tokens(&self.agent.counter)).sum()
    }

    fn has_said_nothing(&self) -> bool {
        crate::entry::answer(&self.entries).is_none()
    }

    /// Ends a turn whose model goes on calling tools although it must not.
    async fn end_without_calls(&mut self, response: ChatResponse) -> Result<(), AgentError> {
        let mut message = response.message;
        // A call without a result would make the history one that no provider takes.
        message.blocks.retain(|block| !matches!(block, Block::ToolCall(_)));
        if message.text().trim().is_empty() {
            return Err(AgentError::OnlyCalls);
        }
        self.say(message, Vec::new()).await
    }

    /// Asks once; once in a turn a request that is too long is shortened and sent again.
    async fn ask(&mut self) -> Result<ChatResponse, AgentError> {
        let history = self.agent.history_tokens(&self.history);
        if !self.history.turns.is_empty() && self.own_tokens() + history > self.budget {
            self.shorten().await?;
        }
        loop {
            self.request.messages =
                self.history.messages().into_iter().chain(self.entries.iter().map(Entry::as_sent)).collect();
            let error = match self.listen().await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if error.kind == ErrorKind::ContextTooLong && !self.shortened && self.shorten().await? {
                self.shortened = true;
                continue;
            }
            if let Some(partial) = &error.partial {
                self.running.spend(partial.usage);
                self.keep_partial(partial.message.clone()).await?;
            }
            return Err(AgentError::Provider(Box::new(error)));
        }
    }

    /// Leaves out more of the earlier turns; false when there is nothing to leave out.
    async fn shorten(&mut self) -> Result<bool, AgentError> {
        let history = self.agent.history(self.turn, self.budget, Need::Less, self.summariser).await?;
        self.running.spend(history.usage);
        let is_shorter = history.through > self.history.through;
        self.history = history;
        let item = self.agent.context_item(&self.history, self.budget);
        self.agent.add_items(self.turn, vec![item], Vec::new()).await?;
        if let Some(resolver) = &self.executor.resolver {
            let reminders = self.history.entries().chain(&self.entries).flat_map(Entry::reminders);
            resolver.keep_delivered(reminders);
        }
        Ok(is_shorter)
    }

    async fn listen(&mut self) -> Result<ChatResponse, ProviderError> {
        let mut stream = self.provider.chat(&self.request);
        // All pieces together are the answer, which parts what was said in different rounds.
        let mut joint = if self.has_said_nothing() { "" } else { crate::entry::JOINT };
        while let Some(event) = stream.next().await {
            match event? {
                ChatEvent::TextDelta { text } if text.is_empty() => {}
                ChatEvent::TextDelta { text } => {
                    self.running.say(&text);
                    let text = std::mem::take(&mut joint).to_owned() + &text;
                    self.listener.delta(&self.turn.id, self.deltas, &text).await;
                    self.deltas += 1;
                }
                ChatEvent::Retrying { attempt, delay, error } => {
                    tracing::info!(turn = %self.turn.id, attempt, ?delay, %error, "a provider is asked again");
                    self.listener.retrying(&self.turn.id, attempt, delay, &error.to_string()).await;
                }
                ChatEvent::Finished(response) => return Ok(response),
                _ => {}
            }
        }
        // The provider's stream ends with an end or an error; if not, that is its fault.
        self.provider.complete(&self.request).await
    }

    /// Keeps what had arrived of an answer that broke off, without calls that nobody will run.
    async fn keep_partial(&mut self, mut message: Message) -> Result<(), AgentError> {
        message.blocks.retain(|block| matches!(block, Block::Text { .. }));
        match message.blocks.is_empty() {
            true => Ok(()),
            false => self.say(message, Vec::new()).await,
        }
    }

    /// Keeps what the model has said.
    async fn say(&mut self, message: Message, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        debug_assert_eq!(message.role, MessageRole::Assistant);
        // A message without anything in it is one that no provider takes back.
        if !message.blocks.is_empty() {
            self.add(Entry::new(message), events).await?;
        }
        self.running.stored();
        Ok(())
    }

    /// Keeps a message of this turn, and tells what happened with it.
    async fn add(&mut self, entry: Entry, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        self.agent.add_items(self.turn, vec![entry.item()?], events).await?;
        self.entries.push(entry);
        Ok(())
    }
}

/// Tokens of the tools' descriptions, an estimate.
pub(crate) fn tool_tokens(agent: &Agent, tools: &[protocol::ToolSpec]) -> usize {
    let described = tools.iter().map(|tool| {
        let text = format!("{}\n{}\n{}", tool.name, tool.description, tool.schema);
        message_tokens(&agent.counter, &Message::user(text))
    });
    described.sum()
}

impl Agent {
    pub(crate) async fn add_items(
        &self,
        turn: &Turn,
        items: Vec<NewTurnItem>,
        events: Vec<TurnEvent>,
    ) -> Result<(), AgentError> {
        self.store.add_turn_items(&turn.workspace_id, &turn.id, &self.node, items, events).await?;
        Ok(())
    }

    pub(crate) async fn log(&self, turn: &Turn, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        Ok(self.store.log_turn_events(&turn.workspace_id, &turn.id, &self.node, events).await?)
    }
}
