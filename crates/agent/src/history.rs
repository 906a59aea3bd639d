//! History: completed turns, sent again unchanged, within a token budget.
//!
//! The window over them moves rarely, because each move invalidates the provider's cached prefix: when the history
//! grows too large, its older half is dropped in one step. Turns are dropped only after they were summarised, and
//! each summary is made from the previous one, so that early facts can survive.

pub(crate) mod compaction;
pub(crate) mod summary;

use prompt::notes;
use protocol::message::{TurnItem, TurnMessage};
use protocol::turn::ExplainedHistory;
use protocol::{Session, ThreadId, TokenUsage, Turn, TurnId, Version, WorkspaceId};
use provider::{Message, MessageRole};
use store::{StoredHistory, StoredItem, TurnRange};

use crate::agent::Agent;
use crate::domains::memory::privacy::hide_memory_of_others;
use crate::error::AgentError;
use crate::turn::message::{self, message_tokens, sent_tokens};

/// Maximum number of entries sent word for word: user inputs and answers. Tool calls only count as tokens, because a
/// turn with many calls is still one question and its answer.
pub(crate) const MAX_ENTRIES: usize = 200;
/// Maximum number of turns loaded for a request; each has at least one entry.
pub(crate) const MAX_TURNS_READ: u64 = MAX_ENTRIES as u64 + 1;
/// The earlier turns as they are sent to a model.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) summary: Option<String>,
    pub(crate) turns: Vec<PastTurn>,
    /// Turns up to this ordinal are left out.
    pub(crate) through: u64,
    /// Left-out turns after this ordinal are in no summary, because summarising failed so far.
    pub(crate) missing_after: Option<u64>,
    /// Version of the stored summary, for optimistic locking.
    pub(crate) version: Version,
    /// Tokens spent on summaries.
    pub(crate) usage: TokenUsage,
}

/// A completed turn.
#[derive(Debug, Clone)]
pub(crate) struct PastTurn {
    pub(crate) id: TurnId,
    pub(crate) ordinal: u64,
    pub(crate) entries: Vec<TurnMessage>,
    pub(crate) tokens: usize,
}

impl PastTurn {
    /// Counts the question and, if there is one, the answer, but no tool calls.
    pub(crate) fn entry_count(&self) -> usize {
        1 + usize::from(message::answer(&self.entries).is_some())
    }

    /// Removes a note at the end that no model has answered, such as the request to continue when no room was left. The
    /// next question would otherwise follow it as if it were a part of it.
    fn drop_unanswered_notes(&mut self) {
        let is_note = |entry: &TurnMessage| {
            entry.message.role == MessageRole::User
                && entry.message.blocks.is_empty()
                && entry.reminders.is_empty()
        };
        while self.entries.len() > 1 && self.entries.last().is_some_and(is_note) {
            self.entries.pop();
        }
    }
}

impl History {
    /// Returns the messages to send, oldest first.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.preface().into_iter().chain(self.entries().map(TurnMessage::as_sent)).collect()
    }

    /// Returns the message that stands in for the left-out turns.
    fn preface(&self) -> Option<Message> {
        // A gap is mentioned explicitly. Without the note, a model would take the oldest message for the
        // start of the conversation.
        let text = match (self.summary.as_deref().map(notes::summary), self.missing_after) {
            (None, None) => return None,
            (Some(summary), None) => summary,
            (Some(summary), Some(_)) => format!("{summary}\n\n{}", notes::missing_turns_after_summary()),
            (None, Some(_)) => notes::missing_turns(),
        };
        Some(Message::user(text))
    }

    /// Marks as delivered only the instruction files whose text is still in these messages.
    pub(crate) fn retain_delivered(&self, session: &mut Session) {
        session.retain_delivered(self.entries().flat_map(TurnMessage::delivered_texts));
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &TurnMessage> + Clone {
        self.turns.iter().flat_map(|turn| &turn.entries)
    }

    pub(crate) fn entry_count(&self) -> usize {
        self.turns.iter().map(PastTurn::entry_count).sum()
    }

    pub(crate) fn turn_tokens(&self) -> usize {
        self.turns.iter().map(|turn| turn.tokens).sum()
    }

    pub(crate) fn leave_out(&mut self, count: usize) {
        self.through = self.turns.drain(..count).next_back().map_or(self.through, |turn| turn.ordinal);
    }

    /// Returns how many of the oldest turns must be dropped to leave at most `max_tokens`.
    pub(crate) fn over_tokens(&self, max_tokens: usize) -> usize {
        self.over(max_tokens, |turn| turn.tokens)
    }

    /// Returns how many of the oldest turns must be dropped to leave at most `max_entries`.
    pub(crate) fn over_entries(&self, max_entries: usize) -> usize {
        self.over(max_entries, PastTurn::entry_count)
    }

    fn over(&self, limit: usize, size: impl Fn(&PastTurn) -> usize) -> usize {
        let mut kept = 0;
        // Counted from the newest turn backwards: the first turn that does not fit ends the window, even if
        // an older one would fit.
        let newest = self.turns.iter().rev().take_while(|turn| {
            kept += size(turn);
            kept <= limit
        });
        self.turns.len() - newest.count()
    }
}

impl Agent {
    /// Returns the item that records which history was sent.
    pub(crate) fn context_item(&self, history: &History, budget: usize) -> TurnItem {
        TurnItem::Context(self.explained_history(history, budget))
    }

    pub(crate) fn explained_history(&self, history: &History, budget: usize) -> ExplainedHistory {
        ExplainedHistory {
            left_out_through: history.through,
            missing_after: history.missing_after,
            summarised: history.summary.is_some(),
            summary: history.summary.clone(),
            turns: history.turns.len() as u64,
            entries: history.entry_count() as u64,
            tokens: self.history_tokens(history) as u64,
            budget_tokens: budget as u64,
        }
    }

    /// Returns the history of a thread's next turn, before any summarising.
    pub(crate) async fn history_so_far(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        reader: Option<&str>,
    ) -> Result<History, AgentError> {
        /// An ordinal after every turn; databases use signed numbers.
        const NEXT: u64 = i64::MAX as u64;
        self.stored_history(workspace_id, thread_id, NEXT, reader).await
    }

    /// Loads the turns before an ordinal, as many as could be sent, with the private memory of `reader` only.
    async fn stored_history(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        before: u64,
        reader: Option<&str>,
    ) -> Result<History, AgentError> {
        let StoredHistory { context, items } =
            self.store.stored_history(workspace_id, thread_id, before, MAX_TURNS_READ).await?;
        Ok(History {
            through: context.as_ref().map_or(0, |context| context.through),
            version: context.as_ref().map_or(Version(0), |context| context.version),
            summary: context.and_then(|context| context.summary),
            turns: self.past_turns(items, reader),
            missing_after: None,
            usage: TokenUsage::default(),
        })
    }

    pub(crate) fn history_tokens(&self, history: &History) -> usize {
        let preface = history.preface().map_or(0, |message| message_tokens(&self.counter, &message));
        preface + history.turn_tokens()
    }

    /// Returns completed turns of a turn's thread, oldest first, without anyone's private memory.
    pub(crate) async fn completed_turns(
        &self,
        turn: &Turn,
        range: TurnRange,
    ) -> Result<Vec<PastTurn>, AgentError> {
        self.completed_turns_for(turn, range, None).await
    }

    /// Returns completed turns of a turn's thread, oldest first, with the private memory of `reader` only.
    pub(crate) async fn completed_turns_for(
        &self,
        turn: &Turn,
        range: TurnRange,
        reader: Option<&str>,
    ) -> Result<Vec<PastTurn>, AgentError> {
        let items = self.store.completed_items(&turn.workspace_id, &turn.thread_id, range).await?;
        Ok(self.past_turns(items, reader))
    }

    fn past_turns(&self, items: Vec<(u64, StoredItem)>, reader: Option<&str>) -> Vec<PastTurn> {
        let mut turns: Vec<PastTurn> = Vec::new();
        for (ordinal, item) in items {
            let turn = turns.last_mut().filter(|turn| turn.ordinal == ordinal);
            match (item.item, turn) {
                (TurnItem::Message(entry), Some(turn)) => turn.entries.push(entry),
                (TurnItem::Message(entry), None) => {
                    turns.push(PastTurn { id: item.turn_id, ordinal, entries: vec![entry], tokens: 0 });
                }
                (TurnItem::Trimmed(trimmed), Some(turn)) => {
                    for entry in &mut turn.entries {
                        trimmed.results.iter().for_each(|result| entry.trim_result(result));
                    }
                }
                (
                    TurnItem::Trimmed(_) | TurnItem::Context(_) | TurnItem::Round(_) | TurnItem::Request(_),
                    _,
                ) => {}
            }
        }
        for turn in &mut turns {
            turn.drop_unanswered_notes();
            // Redact before counting: the replacement text is what will be sent.
            hide_memory_of_others(&mut turn.entries, reader);
            turn.tokens = turn.entries.iter().map(|entry| sent_tokens(&self.counter, entry)).sum();
        }
        turns
    }
}
