//! The rounds of a turn: a model is asked, its calls are run, and it is asked again, until it answers.

use std::collections::BTreeSet;
use std::path::PathBuf;

use futures_util::StreamExt as _;
use prompt::{RECOVERY_CONTINUATION, RETRY_INSTRUCTION, notes};
use protocol::message::{MessageNote, TurnItem, TurnMessage};
use protocol::prompt::RoundNote;
use protocol::round::{CacheMark, RoundOutcome};
use protocol::{TokenUsage, ToolCall};
use provider::{
    Block, ChatEvent, ChatRequest, ChatResponse, ErrorKind, Message, MessageRole, ProviderError, StopReason,
    ToolChoice,
};
use store::TurnEvent;

use crate::error::AgentError;
use crate::history::compaction::CompactionReason;
use crate::prompt::notes::mark_repeated_sections;
use crate::turn::call_ids;
use crate::turn::executor::ToolExecutor;
use crate::turn::message::{self, sent_tokens};
use crate::turn::plan::TurnPlan;
use crate::turn::running::RunningTurn;

/// How often a model whose answer was cut off is told to go on.
const MAX_CONTINUATIONS: u32 = 3;

/// A turn between its rounds.
pub(crate) struct Rounds<'a> {
    turn: &'a RunningTurn,
    plan: TurnPlan,
    executor: ToolExecutor,
    /// What is sent but for its messages, which are those of the history and `entries`.
    request: ChatRequest,
    /// The messages of this turn.
    entries: Vec<TurnMessage>,
    spent: Spent,
    /// Where its calls have looked.
    places: BTreeSet<PathBuf>,
    /// Whether a provider has said that the request is too long.
    shortened: bool,
    /// What the next round is told because of the last one.
    notes: Vec<RoundNote>,
}

/// What a turn has used of its budgets.
#[derive(Default)]
struct Spent {
    rounds: u32,
    calls: usize,
    continuations: u32,
}

/// Whether a model may still call tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoundKind {
    Open,
    /// The tools are listed as before, so that the cached prefix holds, but none may be called.
    Last,
}

enum Next {
    Ask,
    End,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(turn: &'a RunningTurn, plan: TurnPlan) -> Self {
        let request = turn.chat_request(&plan.prepared.compiled, plan.tools.specs());
        let executor = ToolExecutor::new(plan.resolver.clone());
        let entries = vec![plan.opening.clone()];
        let spent = Spent::default();
        let (places, notes) = (BTreeSet::new(), Vec::new());
        Self { turn, plan, executor, request, entries, spent, places, shortened: false, notes }
    }

    /// Asks until there is an answer, and gives the plan back.
    pub(crate) async fn run(mut self) -> Result<TurnPlan, AgentError> {
        loop {
            let kind = self.open_round().await?;
            let mut response = self.ask().await?;
            self.turn.running.spend(response.usage);
            let marks = std::mem::take(&mut response.cache_marks);
            self.keep_outcome(response.usage, marks, is_cut(&response.stop)).await;
            self.notes.clear();
            let earlier = self.plan.history.entries().chain(&self.entries);
            call_ids::make_unique(&mut response.message, earlier);
            let calls: Vec<ToolCall> = response.message.tool_calls().cloned().collect();
            let next = match (kind, calls.is_empty()) {
                (_, true) => self.end_or_continue(kind, response).await?,
                (RoundKind::Open, false) => self.run_calls(response, calls).await?,
                (RoundKind::Last, false) => self.end_without_calls(response.message).await?,
            };
            if let Next::End = next {
                return Ok(self.plan);
            }
        }
    }

    /// Lists the round's tools, and records its prompt.
    async fn open_round(&mut self) -> Result<RoundKind, AgentError> {
        let agent = &self.turn.agent;
        let settings = &agent.settings.turns;
        self.spent.rounds += 1;
        let round = self.spent.rounds;
        let calls_spent = self.spent.calls > 0 && self.spent.calls >= settings.max_tool_calls as usize;
        let kind =
            if round > self.turn.max_rounds() || calls_spent { RoundKind::Last } else { RoundKind::Open };
        self.request.tool_choice = if kind == RoundKind::Last { ToolChoice::None } else { ToolChoice::Auto };
        // The first round's tools are known from planning.
        if round > 1 && self.plan.tools.refresh(&self.turn.round_context(round)).await {
            let before = agent.tool_tokens(&self.request.tools);
            self.request.tools = self.plan.tools.specs();
            // More to describe leaves less room for what was said.
            let more = agent.tool_tokens(&self.request.tools).saturating_sub(before);
            self.plan.budget = self.plan.budget.saturating_sub(more);
        }
        let history = self.turn.agent.history_tokens(&self.plan.history);
        if !self.plan.history.turns.is_empty() && self.own_tokens() + history > self.plan.budget {
            self.shorten().await?;
        }
        self.record_round().await?;
        Ok(kind)
    }

    /// HookRunWriter what the model is asked with now.
    async fn record_round(&self) -> Result<(), AgentError> {
        self.turn.offered.set(&self.request.tools);
        let TurnPlan { prepared, tools, .. } = &self.plan;
        let mode = self.turn.subject.thread.mode;
        let request = tools.round_request(mode, self.request.tool_choice, self.notes.clone());
        self.turn.record(self.spent.rounds, &prepared.compiled, request, tools.diagnostics()).await
    }

    /// Stores the model's calls, runs them, and stores their results for the next round.
    async fn run_calls(&mut self, response: ChatResponse, calls: Vec<ToolCall>) -> Result<Next, AgentError> {
        let started = calls
            .iter()
            .map(|call| TurnEvent::ToolStarted { call_id: call.id.clone(), tool: call.name.clone() });
        self.push(response.message, started.collect()).await?;
        let settings = &self.turn.agent.settings.turns;
        let max_calls = settings.max_tool_calls as usize;
        let left = max_calls.saturating_sub(self.spent.calls);
        self.spent.calls += calls.len();
        let mut batch = self.executor.run(self.plan.tools.router(), calls, left, self.room()).await;
        if self.turn.running.stop.is_cancelled() {
            // These answers say no more than that somebody stopped the turn, which ends now. What its calls still put
            // right is told with its end.
            std::future::pending::<()>().await;
        }
        self.places.extend(std::mem::take(&mut batch.places));
        self.turn.touch(std::mem::take(&mut batch.touched));
        let is_next_last = self.spent.rounds >= self.turn.max_rounds()
            || self.spent.calls >= max_calls
            || self.is_full(&batch.entry)
            || self.are_tokens_spent().await?;
        if is_next_last {
            self.notes.push(RoundNote::FinalAnswer);
            batch.entry.notes.push(note("final_answer", notes::final_answer()));
            self.spent.calls = self.spent.calls.max(max_calls);
        } else if !response.unfinished_calls.is_empty() {
            self.notes.push(RoundNote::Continuation);
            batch.entry.notes.push(continuation(&response.unfinished_calls));
        } else if batch.partly_failed {
            self.notes.push(RoundNote::Retry);
            batch.entry.notes.push(note(RETRY_INSTRUCTION, notes::retry_instruction()));
        }
        let events = std::mem::take(&mut batch.events);
        self.add(batch.entry.clone(), events).await?;
        batch.entry.effects.iter().for_each(|attached| self.turn.untold.forget(&attached.call_id));
        batch.confirm();
        Ok(Next::Ask)
    }

    /// What follows an answer without calls: usually nothing.
    async fn end_or_continue(&mut self, kind: RoundKind, response: ChatResponse) -> Result<Next, AgentError> {
        // Asked only where the answer is not the last: one that is finished needs nothing more of the database.
        let wants_more = match response.stop {
            StopReason::MaxOutputTokens | StopReason::ContextFull => true,
            StopReason::EndTurn => response.message.text().trim().is_empty() && self.has_unanswered_results(),
            _ => false,
        };
        let can_continue =
            wants_more && self.spent.continuations < MAX_CONTINUATIONS && !self.are_tokens_spent().await?;
        match response.stop {
            StopReason::Paused if kind == RoundKind::Open => {
                self.push(response.message, Vec::new()).await?;
                Ok(Next::Ask)
            }
            StopReason::MaxOutputTokens | StopReason::ContextFull if can_continue => {
                self.spent.continuations += 1;
                let cut = response.unfinished_calls.is_empty();
                self.push_entry(TurnMessage { cut, ..TurnMessage::new(response.message) }, Vec::new())
                    .await?;
                self.notes.push(RoundNote::Continuation);
                let hint = continuation(&response.unfinished_calls);
                self.add(TurnMessage::of_notes(vec![hint]), Vec::new()).await?;
                Ok(Next::Ask)
            }
            // Some models end like this after the results of tools; what they said before is no answer to those.
            StopReason::EndTurn if can_continue => {
                self.spent.continuations = MAX_CONTINUATIONS;
                self.push(response.message, Vec::new()).await?;
                self.notes.push(RoundNote::Continuation);
                let hint = note(RECOVERY_CONTINUATION, notes::empty_answer());
                self.add(TurnMessage::of_notes(vec![hint]), Vec::new()).await?;
                Ok(Next::Ask)
            }
            stop => {
                let unfinished = response.unfinished_calls.last().map(|call| call.name.clone());
                let cut = is_cut(&stop) && unfinished.is_none();
                self.push_last(TurnMessage { cut, ..TurnMessage::new(response.message) }).await?;
                if let Some(tool) = unfinished {
                    return Err(AgentError::CutCall { tool });
                }
                match stop {
                    StopReason::EndTurn if self.has_unanswered_results() => Err(AgentError::NoAnswer),
                    StopReason::Refused if self.has_no_answer() => Err(AgentError::Refused),
                    _ if self.has_no_answer() => Err(AgentError::NoAnswer),
                    _ => Ok(Next::End),
                }
            }
        }
    }

    /// Ends a turn whose model keeps calling tools although it must not.
    async fn end_without_calls(&mut self, mut message: Message) -> Result<Next, AgentError> {
        // A call without a result would make the history one that no provider takes.
        message.blocks.retain(|block| !matches!(block, Block::ToolCall(_)));
        if message.text().trim().is_empty() {
            return Err(AgentError::OnlyCalls);
        }
        self.push_last(TurnMessage::new(message)).await?;
        Ok(Next::End)
    }

    /// Whether the workspace's tokens of today are used up, so that only an answer is left.
    async fn are_tokens_spent(&self) -> Result<bool, AgentError> {
        Ok(self.turn.agent.spent_limit(&self.turn.stored.workspace_id).await?.is_some())
    }

    /// Whether the turn itself has become so long that only an answer still fits.
    fn is_full(&self, next: &TurnMessage) -> bool {
        self.own_tokens() + sent_tokens(&self.turn.agent.counter, next) > self.plan.budget
    }

    /// Tokens that this turn may still add; earlier turns give way to it.
    fn room(&self) -> usize {
        self.plan.budget.saturating_sub(self.own_tokens())
    }

    /// Tokens of this turn's messages; its opening was taken from the budget before.
    fn own_tokens(&self) -> usize {
        self.entries.iter().skip(1).map(|entry| sent_tokens(&self.turn.agent.counter, entry)).sum()
    }

    /// Whether tools have answered and the model has said nothing since.
    fn has_unanswered_results(&self) -> bool {
        let spoken =
            self.entries.iter().rev().find(|entry| {
                entry.message.role == MessageRole::Tool || !entry.message.text().trim().is_empty()
            });
        spoken.is_some_and(|entry| entry.message.role == MessageRole::Tool)
    }

    fn has_no_answer(&self) -> bool {
        message::answer(&self.entries).is_none()
    }

    /// Asks once; once in a turn a request that is too long is shortened and sent again.
    async fn ask(&mut self) -> Result<ChatResponse, AgentError> {
        loop {
            let earlier = self.plan.history.messages().into_iter();
            self.request.messages = earlier.chain(self.entries.iter().map(TurnMessage::as_sent)).collect();
            let error = match self.listen().await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if error.kind == ErrorKind::ContextTooLong && !self.shortened {
                // What was refused is a round as well: the shorter request says other things, and has a record of its own.
                self.keep_outcome(TokenUsage::default(), Vec::new(), false).await;
                if self.shorten().await? {
                    self.shortened = true;
                    self.spent.rounds += 1;
                    self.record_round().await?;
                    continue;
                }
            }
            if let Some(partial) = &error.partial {
                self.turn.running.spend(partial.usage);
                self.keep_outcome(partial.usage, Vec::new(), true).await;
                self.keep_partial(partial.message.clone()).await?;
            }
            return Err(AgentError::Provider(Box::new(error)));
        }
    }

    /// Leaves out more of the earlier turns; false when there is nothing to leave out.
    async fn shorten(&mut self) -> Result<bool, AgentError> {
        let stored = self.turn.stored_history().await?;
        let history = self.turn.fit_history(stored, self.plan.budget, CompactionReason::TooLong).await?;
        self.turn.running.spend(history.usage);
        let is_shorter = history.through > self.plan.history.through;
        self.plan.history = history;
        let item = self.turn.agent.context_item(&self.plan.history, self.plan.budget);
        self.turn.add(vec![item], Vec::new()).await?;
        if let Some(retold) =
            self.turn.agent.resend_dropped_context(&self.plan, &self.entries, &self.places).await?
        {
            self.add(retold.message.clone(), Vec::new()).await?;
            retold.confirm();
            mark_repeated_sections(&mut self.plan.prepared.compiled.manifest, &self.entries);
        }
        Ok(is_shorter)
    }

    async fn listen(&mut self) -> Result<ChatResponse, ProviderError> {
        let (turn, provider) = (self.turn, &self.turn.model.provider);
        let mut stream = provider.chat(&self.request);
        // All pieces together are the answer, which parts what was said in different rounds.
        let mut joint = message::joint_after(&self.entries);
        while let Some(event) = stream.next().await {
            match event? {
                ChatEvent::TextDelta { text } if text.is_empty() => {}
                ChatEvent::TextDelta { text } => {
                    turn.running.push_text(&text);
                    let text = std::mem::take(&mut joint).to_owned() + &text;
                    turn.broadcast_delta(&text).await;
                }
                ChatEvent::Retrying { attempt, delay, error } => {
                    tracing::info!(turn = %turn.id(), attempt, ?delay, %error, "a provider is asked again");
                    turn.broadcast_retry(attempt, delay, &error.to_string()).await;
                }
                ChatEvent::Finished(response) => return Ok(response),
                _ => {}
            }
        }
        // The provider's stream ends with an end or an error; if not, that is its fault. Some of the answer may have
        // been told, so it is not asked for again.
        Err(provider.ended_early(&self.request))
    }

    /// Keeps what a round has cost, in its place before the answer.
    async fn keep_outcome(&self, usage: TokenUsage, cache_marks: Vec<CacheMark>, cut: bool) {
        let outcome = RoundOutcome { round: self.spent.rounds, usage, cache_marks, cut };
        self.turn.buffer_items([TurnItem::Round(outcome)]).await;
    }

    /// Keeps what had arrived of an answer that broke off, without calls that nobody will run.
    async fn keep_partial(&mut self, mut message: Message) -> Result<(), AgentError> {
        message.blocks.retain(|block| matches!(block, Block::Text { .. }));
        if message.blocks.is_empty() { Ok(()) } else { self.push(message, Vec::new()).await }
    }

    /// Stores what the model has said.
    async fn push(&mut self, message: Message, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        self.push_entry(TurnMessage::new(message), events).await
    }

    async fn push_entry(&mut self, entry: TurnMessage, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        // A message without anything in it is one that no provider takes back.
        if !entry.message.blocks.is_empty() {
            self.add(entry, events).await?;
        }
        self.turn.running.text_stored();
        Ok(())
    }

    /// Takes the model's last words, which are stored with the turn's end. Until then they count as pending text.
    async fn push_last(&mut self, entry: TurnMessage) -> Result<(), AgentError> {
        if !entry.message.blocks.is_empty() {
            self.turn.buffer_items([TurnItem::Message(entry.clone())]).await;
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Stores a message of this turn, and logs what happened with it.
    async fn add(&mut self, entry: TurnMessage, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        self.turn.add(vec![TurnItem::Message(entry.clone())], events).await?;
        self.entries.push(entry);
        Ok(())
    }
}

/// Whether an answer reached its limit of length.
fn is_cut(stop: &StopReason) -> bool {
    matches!(stop, StopReason::MaxOutputTokens | StopReason::ContextFull)
}

/// What a model is told whose answer reached its limit of length: in the middle of its text, or of a call.
fn continuation(unfinished: &[ToolCall]) -> MessageNote {
    let text = match unfinished.last() {
        // A call is not continued but made again: half of its arguments are of no use to anybody.
        Some(call) => notes::cut_call(&call.name),
        None => notes::recovery_continuation(),
    };
    note(RECOVERY_CONTINUATION, text)
}

fn note(id: &str, text: String) -> MessageNote {
    MessageNote::new(id, text)
}
