//! Rounds: ask the model, run its calls, ask again, until it answers.

mod fitting;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use futures_util::StreamExt as _;
use prompt::{FINAL_ANSWER, RECOVERY_CONTINUATION, RETRY_INSTRUCTION, notes};
use protocol::message::{MessageNote, TurnItem, TurnMessage};
use protocol::prompt::RoundNote;
use protocol::round::{CacheMark, RoundOutcome, SentRequest};
use protocol::{ContentHash, TokenUsage, ToolCall};
use provider::{
    Block, ChatEvent, ChatRequest, ChatResponse, EncodedRequest, ErrorKind, Message, MessageRole,
    ProviderError, ProviderKind, StopReason, ToolChoice,
};
use store::TurnEvent;

use crate::error::AgentError;
use crate::turn::call_ids;
use crate::turn::executor::ToolExecutor;
use crate::turn::handles::AskedRound;
use crate::turn::message::{self, sent_tokens};
use crate::turn::plan::TurnPlan;
use crate::turn::running::RunningTurn;

/// Maximum continuations after a truncated answer.
const MAX_CONTINUATIONS: u32 = 3;

/// A turn between its rounds.
pub(crate) struct Rounds<'a> {
    turn: &'a RunningTurn,
    plan: TurnPlan,
    executor: ToolExecutor,
    /// The request without its messages, which are those of the history and `entries`.
    request: ChatRequest,
    /// The recorded form of the request; `None` once it is sent.
    encoded: Option<EncodedRequest>,
    /// The messages of this turn.
    entries: Vec<TurnMessage>,
    spent: SpentBudget,
    /// Paths that its calls have touched.
    visited: BTreeSet<PathBuf>,
    /// True once earlier turns were left out because a provider has rejected the request as too long.
    shortened: bool,
    /// True once results of this turn were shortened for the same reason.
    trimmed: bool,
    /// Notes that the last round leaves for the next one, with their texts.
    notes: Vec<(RoundNote, MessageNote)>,
}

/// Budgets used by the turn so far.
#[derive(Default)]
struct SpentBudget {
    rounds: u32,
    calls: usize,
    continuations: u32,
}

/// Permission to call tools in a round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoundKind {
    Open,
    /// The tools stay listed, which keeps the cached prefix valid, but none may be called.
    Last,
}

enum AfterRound {
    Ask,
    End,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(turn: &'a RunningTurn, plan: TurnPlan) -> Self {
        let request = turn.chat_request(&plan.prepared.compiled, plan.tools.specs());
        let executor = ToolExecutor::new(plan.resolver.clone());
        let entries = vec![plan.opening.clone()];
        let spent = SpentBudget::default();
        let visited = BTreeSet::new();
        let notes = Vec::new();
        Self {
            turn,
            plan,
            executor,
            request,
            encoded: None,
            entries,
            spent,
            visited,
            shortened: false,
            trimmed: false,
            notes,
        }
    }

    /// Runs rounds until the model answers, and returns the plan.
    pub(crate) async fn run(mut self) -> Result<TurnPlan, AgentError> {
        loop {
            let kind = self.open_round().await?;
            let mut response = match self.ask().await {
                Ok(response) => response,
                Err(error) if self.was_continuing(&error) => {
                    tracing::warn!(%error, turn = %self.turn.id(), "an answer that was cut off could not be continued");
                    return Ok(self.plan);
                }
                Err(error) => return Err(error),
            };
            self.turn.handle.spend(response.usage);
            self.learn_usage(self.counted(), response.usage);
            let marks = std::mem::take(&mut response.cache_marks);
            // Record the cost before handling the answer, which may fail; the tokens are spent in any case.
            self.record_outcome(response.usage, marks, is_cut(&response.stop)).await;
            self.notes.clear();
            let earlier = self.plan.history.entries().chain(&self.entries);
            call_ids::make_unique(&mut response.message, earlier);
            let calls: Vec<ToolCall> = response.message.tool_calls().cloned().collect();
            let next = match (kind, calls.is_empty()) {
                (_, true) => self.end_or_continue(kind, response).await?,
                (RoundKind::Open, false) => self.run_calls(response, calls).await?,
                (RoundKind::Last, false) => self.end_without_calls(response.message).await?,
            };
            if let AfterRound::End = next {
                return Ok(self.plan);
            }
        }
    }

    /// Updates the round's tools and records its prompt.
    async fn open_round(&mut self) -> Result<RoundKind, AgentError> {
        let agent = &self.turn.agent;
        let settings = &agent.settings.turns;
        self.spent.rounds += 1;
        let round = self.spent.rounds;
        // A spent budget does not end the turn. It gets one more round without tools, because an answer with what is
        // known is worth more than none.
        let calls_spent = self.spent.calls > 0 && self.spent.calls >= settings.max_tool_calls as usize;
        let kind =
            if round > self.turn.max_rounds() || calls_spent { RoundKind::Last } else { RoundKind::Open };
        self.request.tool_choice = if kind == RoundKind::Last { ToolChoice::None } else { ToolChoice::Auto };
        // Planning has already refreshed the tools of the first round.
        if round > 1 && self.plan.tools.refresh(&self.turn.round_context(round)).await {
            let before = agent.tool_tokens(&self.request.tools);
            self.request.tools = self.plan.tools.specs();
            // More tool descriptions leave less of the window for the history.
            let more = agent.tool_tokens(&self.request.tools).saturating_sub(before);
            self.plan.fixed += more;
            self.update_budget();
        }
        let history = self.turn.agent.history_tokens(&self.plan.history);
        if !self.plan.history.turns.is_empty() && self.own_tokens() + history > self.plan.budget {
            self.shorten().await?;
        }
        self.record_round().await?;
        Ok(kind)
    }

    /// Encodes the request that the model is about to get, and records it.
    async fn record_round(&mut self) -> Result<(), AgentError> {
        let earlier = self.plan.history.messages().into_iter();
        self.request.messages = earlier.chain(self.entries.iter().map(TurnMessage::as_sent)).collect();
        let encoded = EncodedRequest::new(self.turn.model.provider.kind(), &self.request);
        let record =
            sent_request(self.spent.rounds, self.turn.model.provider.kind(), &self.request, &encoded);
        self.encoded = Some(encoded);
        // Stored with the record of the round, before anything is sent.
        self.turn.buffer_items([TurnItem::Request(record)]).await;
        self.turn.offered.set(&self.request.tools);
        let TurnPlan { prepared, tools, .. } = &self.plan;
        let mode = self.turn.subject.thread.mode;
        let notes = self.notes.iter().map(|(kind, _)| *kind).collect();
        let request = tools.round_request(mode, self.request.tool_choice, notes);
        let mut compiled = Cow::Borrowed(&prepared.compiled);
        if !self.notes.is_empty() {
            let notes = self.notes.iter().map(|(_, note)| (note.id.as_str(), note.text.as_str()));
            compiled.to_mut().add_notes(&self.turn.agent.counter, notes);
        }
        let specs = &self.request.tools;
        self.turn.record(self.spent.rounds, &compiled, request, specs, tools.diagnostics()).await
    }

    /// Stores the model's calls, runs them, and stores their results for the next round.
    async fn run_calls(
        &mut self,
        response: ChatResponse,
        calls: Vec<ToolCall>,
    ) -> Result<AfterRound, AgentError> {
        let started = calls
            .iter()
            .map(|call| TurnEvent::ToolStarted { call_id: call.id.clone(), tool: call.name.clone() });
        // Store the calls before running them. If the gateway dies meanwhile, the next turn still learns which
        // calls may have changed something.
        self.push(response.message, started.collect()).await?;
        let settings = &self.turn.agent.settings.turns;
        let max_calls = settings.max_tool_calls as usize;
        let left = max_calls.saturating_sub(self.spent.calls);
        self.spent.calls += calls.len();
        let mut batch = self.executor.run(self.plan.tools.router(), calls, left, self.room()).await;
        if self.turn.handle.stop.is_cancelled() {
            // The results only report the stop. They are not stored; the effects of the calls are recorded with the end.
            return Err(AgentError::Cancelled);
        }
        self.visited.extend(std::mem::take(&mut batch.visited));
        self.turn.touch(std::mem::take(&mut batch.touched));
        let is_next_last = self.spent.rounds >= self.turn.max_rounds()
            || self.spent.calls >= max_calls
            || self.is_full(&batch.entry)
            || self.is_daily_limit_reached().await?;
        let next_note = if is_next_last {
            // Using up the budget makes the next round the last one.
            self.spent.calls = self.spent.calls.max(max_calls);
            Some((RoundNote::FinalAnswer, note(FINAL_ANSWER, notes::final_answer())))
        } else if !response.unfinished_calls.is_empty() {
            Some((RoundNote::Continuation, continuation(&response.unfinished_calls)))
        } else {
            let retry = |failed| note(RETRY_INSTRUCTION, notes::retry_instruction(failed));
            batch.failed.map(|failed| (RoundNote::Retry, retry(failed)))
        };
        batch.entry.notes.extend(next_note.iter().map(|(_, note)| note.clone()));
        self.notes.extend(next_note);
        self.trim_new_results(&mut batch.entry);
        let events = std::mem::take(&mut batch.events);
        self.add(batch.entry.clone(), events).await?;
        // The effects are stored now, so the end of the turn must not record them again.
        batch.entry.effects.iter().for_each(|attached| self.turn.untold.forget(&attached.call_id));
        // Only after the commit: if it fails, the instructions count as undelivered and are announced again.
        batch.confirm();
        Ok(AfterRound::Ask)
    }

    /// Handles an answer without calls: usually it ends the turn.
    async fn end_or_continue(
        &mut self,
        kind: RoundKind,
        response: ChatResponse,
    ) -> Result<AfterRound, AgentError> {
        // Check the daily limit only for an answer that would be continued: a finished answer needs no further query.
        let wants_more = match response.stop {
            StopReason::MaxOutputTokens | StopReason::ContextFull => true,
            StopReason::EndTurn => response.message.text().trim().is_empty() && self.has_unanswered_results(),
            _ => false,
        };
        let can_continue = wants_more
            && self.has_room_to_continue(&response)
            && self.spent.continuations < MAX_CONTINUATIONS
            && !self.is_daily_limit_reached().await?;
        match response.stop {
            StopReason::Paused if kind == RoundKind::Open => {
                self.push(response.message, Vec::new()).await?;
                Ok(AfterRound::Ask)
            }
            StopReason::MaxOutputTokens | StopReason::ContextFull if can_continue => {
                self.spent.continuations += 1;
                let cut = response.unfinished_calls.is_empty();
                self.push_entry(TurnMessage { cut, ..TurnMessage::new(response.message) }, Vec::new())
                    .await?;
                let hint = continuation(&response.unfinished_calls);
                self.notes.push((RoundNote::Continuation, hint.clone()));
                self.add(TurnMessage::of_notes(vec![hint]), Vec::new()).await?;
                Ok(AfterRound::Ask)
            }
            // Some models stop like this after tool results. Text from before the results does not answer them.
            StopReason::EndTurn if can_continue => {
                self.spent.continuations = MAX_CONTINUATIONS;
                self.push(response.message, Vec::new()).await?;
                let hint = note(RECOVERY_CONTINUATION, notes::empty_answer());
                self.notes.push((RoundNote::Continuation, hint.clone()));
                self.add(TurnMessage::of_notes(vec![hint]), Vec::new()).await?;
                Ok(AfterRound::Ask)
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
                    _ => Ok(AfterRound::End),
                }
            }
        }
    }

    /// Ends a turn whose model keeps calling tools although it must answer.
    async fn end_without_calls(&mut self, mut message: Message) -> Result<AfterRound, AgentError> {
        // No provider accepts a history that contains a call without a result.
        message.blocks.retain(|block| !matches!(block, Block::ToolCall(_)));
        if message.text().trim().is_empty() {
            return Err(AgentError::OnlyCalls);
        }
        self.push_last(TurnMessage::new(message)).await?;
        Ok(AfterRound::End)
    }

    /// Returns true if the workspace has used its daily tokens, so that only an answer is left.
    async fn is_daily_limit_reached(&self) -> Result<bool, AgentError> {
        Ok(self.turn.agent.exhausted_token_limit(&self.turn.stored.workspace_id).await?.is_some())
    }

    /// Returns true if the turn itself has become so long that only an answer still fits.
    fn is_full(&self, next: &TurnMessage) -> bool {
        sent_tokens(&self.turn.agent.counter, next) > self.room()
    }

    /// Returns the tokens of this turn's messages. The opening was already deducted from the budget.
    fn own_tokens(&self) -> usize {
        self.entries.iter().skip(1).map(|entry| sent_tokens(&self.turn.agent.counter, entry)).sum()
    }

    /// Returns true if the model has produced no text since the last tool results.
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

    /// Asks the model. A request that is too long is shortened and sent again, as long as anything can be left out.
    async fn ask(&mut self) -> Result<ChatResponse, AgentError> {
        loop {
            let turn = self.turn;
            let estimate = turn.agent.windows.reported(&turn.model.name, self.counted());
            // A turn that is stopped before the answer has ended still has to pay for the request.
            turn.handle.ask(AskedRound::new(self.spent.rounds, estimate));
            let listened = self.listen().await;
            turn.handle.take_asked();
            let kind = listened.as_ref().err().map(|error| error.kind);
            turn.agent.statistics.asked(turn.model.name.provider(), kind);
            let error = match listened {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if error.kind == ErrorKind::ContextTooLong {
                // A rejected request is a round of its own: the shorter one differs and gets its own record.
                self.record_outcome(TokenUsage::default(), Vec::new(), false).await;
                if self.make_room(&error).await? {
                    self.spent.rounds += 1;
                    self.record_round().await?;
                    continue;
                }
            }
            if let Some(partial) = &error.partial {
                self.turn.handle.spend(partial.usage);
                self.record_outcome(partial.usage, Vec::new(), true).await;
                // The user has already seen this text and paid for it.
                self.store_partial(partial.message.clone()).await?;
            }
            return Err(AgentError::Provider(Box::new(error)));
        }
    }

    async fn listen(&mut self) -> Result<ChatResponse, ProviderError> {
        let turn = self.turn;
        let provider = &self.turn.model.provider;
        let mut stream = match self.encoded.take() {
            Some(encoded) => provider.send(&self.request, encoded),
            None => provider.chat(&self.request),
        };
        // Listeners concatenate all pieces, so the separator between rounds must be sent as well.
        let mut joint = message::separator_after(&self.entries);
        while let Some(event) = stream.next().await {
            match event? {
                ChatEvent::TextDelta { text } if text.is_empty() => {}
                ChatEvent::TextDelta { text } => {
                    turn.handle.push_text(&text);
                    let text = std::mem::take(&mut joint).to_owned() + &text;
                    turn.broadcast_delta(&text).await;
                }
                ChatEvent::Usage(usage) => turn.handle.report(usage),
                ChatEvent::Retrying { attempt, delay, error } => {
                    turn.agent.statistics.retried(turn.model.name.provider());
                    turn.broadcast_retry(attempt, delay, &error.to_string()).await;
                }
                ChatEvent::Finished(response) => return Ok(response),
                _ => {}
            }
        }
        // A provider's stream must end with a result or an error; anything else is its bug. Part of the answer may
        // have reached the user already, so the request is not repeated.
        Err(provider.ended_early(&self.request))
    }

    /// Records the cost of a round, placed before its answer.
    async fn record_outcome(&self, usage: TokenUsage, cache_marks: Vec<CacheMark>, cut: bool) {
        let outcome = RoundOutcome { round: self.spent.rounds, usage, cache_marks, cut };
        self.turn.buffer_items([TurnItem::Round(outcome)]).await;
    }

    /// Stores the text of an interrupted answer, without calls that will never run.
    async fn store_partial(&mut self, mut message: Message) -> Result<(), AgentError> {
        message.blocks.retain(|block| matches!(block, Block::Text { .. }));
        if message.blocks.is_empty() { Ok(()) } else { self.push(message, Vec::new()).await }
    }

    /// Stores a message of the model.
    async fn push(&mut self, message: Message, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        self.push_entry(TurnMessage::new(message), events).await
    }

    async fn push_entry(&mut self, entry: TurnMessage, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        // No provider accepts an empty message back.
        if !entry.message.blocks.is_empty() {
            self.add(entry, events).await?;
        }
        self.turn.handle.text_stored();
        Ok(())
    }

    /// Takes the model's last message, which is stored with the turn's end. Until then it counts as pending text.
    async fn push_last(&mut self, entry: TurnMessage) -> Result<(), AgentError> {
        if !entry.message.blocks.is_empty() {
            self.turn.buffer_items([TurnItem::Message(entry.clone())]).await;
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Stores a message of this turn with its log events.
    async fn add(&mut self, entry: TurnMessage, events: Vec<TurnEvent>) -> Result<(), AgentError> {
        self.turn.add(vec![TurnItem::Message(entry.clone())], events).await?;
        self.entries.push(entry);
        Ok(())
    }
}

/// Returns the record of a request.
fn sent_request(
    round: u32,
    api: ProviderKind,
    request: &ChatRequest,
    encoded: &EncodedRequest,
) -> SentRequest {
    SentRequest {
        round,
        api,
        model: request.model.clone(),
        max_output_tokens: request.max_output_tokens,
        reasoning: request.reasoning.map(|effort| effort.word().to_owned()),
        sha256: ContentHash::of(&encoded.body),
        bytes: encoded.body.len() as u64,
    }
}

/// Returns true if an answer reached its maximum length.
fn is_cut(stop: &StopReason) -> bool {
    matches!(stop, StopReason::MaxOutputTokens | StopReason::ContextFull)
}

/// Returns the note for a model whose answer was cut off, inside its text or inside a call.
fn continuation(unfinished: &[ToolCall]) -> MessageNote {
    let text = match unfinished.last() {
        // A call is repeated rather than continued, because half of its arguments are useless.
        Some(call) => notes::cut_call(&call.name),
        None => notes::recovery_continuation(),
    };
    note(RECOVERY_CONTINUATION, text)
}

fn note(id: &str, text: String) -> MessageNote {
    MessageNote::new(id, text)
}
