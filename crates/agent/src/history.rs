//! What was said before: completed turns, whole and as they were sent, under a budget of tokens.
//!
//! The window over them moves rarely, because whatever moves it breaks the prefix that a provider has cached: when there
//! is too much, the older half goes at once. Nothing goes before it has been in a summary, and each summary is made from
//! the one before it, so that what was said first can still be known last.

pub(crate) mod compaction;
pub(crate) mod summary;

use prompt::notes;
use protocol::message::{TurnItem, TurnMessage};
use protocol::turn::ExplainedHistory;
use protocol::{Session, ThreadId, TokenUsage, Turn, TurnId, Version, WorkspaceId};
use provider::Message;
use store::{StoredHistory, StoredItem, TurnRange};

use crate::agent::Agent;
use crate::domains::memory::privacy::hide_memory_of_others;
use crate::error::AgentError;
use crate::turn::message::{self, message_tokens, sent_tokens};

/// Most entries that are sent again word for word: what users said, and what they were answered. Tools count as tokens
/// only, because a turn that uses many is still one question and its answer.
pub(crate) const MAX_ENTRIES: usize = 200;
/// How many turns are read to be sent; each has at least one entry.
pub(crate) const MAX_TURNS_READ: u64 = MAX_ENTRIES as u64 + 1;
/// What a model is sent of earlier turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) summary: Option<String>,
    pub(crate) turns: Vec<PastTurn>,
    /// Turns up to this ordinal are not among them.
    pub(crate) through: u64,
    /// Those of them after this ordinal are in no summary either: they could not be summarised yet.
    pub(crate) missing_after: Option<u64>,
    /// The version of what is stored in the place of turns that were left out.
    pub(crate) version: Version,
    /// What making a summary has cost.
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
    /// What was said, without the tools: the question, and the answer if it has one.
    pub(crate) fn entry_count(&self) -> usize {
        1 + usize::from(message::answer(&self.entries).is_some())
    }
}

impl History {
    /// The messages, oldest first.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.preface().into_iter().chain(self.entries().map(TurnMessage::as_sent)).collect()
    }

    /// What stands for the turns that are not among the messages.
    fn preface(&self) -> Option<Message> {
        let text = match (self.summary.as_deref().map(notes::summary), self.missing_after) {
            (None, None) => return None,
            (Some(summary), None) => summary,
            (Some(summary), Some(_)) => format!("{summary}\n\n{}", notes::missing_turns_after_summary()),
            (None, Some(_)) => notes::missing_turns(),
        };
        Some(Message::user(text))
    }

    /// Takes for delivered only what a session's model still has before it in these messages.
    pub(crate) fn keep_delivered(&self, session: &mut Session) {
        session.keep_delivered(self.entries().flat_map(TurnMessage::told));
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

    /// How many of the oldest turns must go so that the rest has at most so many tokens.
    pub(crate) fn over_tokens(&self, max_tokens: usize) -> usize {
        self.over(max_tokens, |turn| turn.tokens)
    }

    /// How many of the oldest turns must go so that the rest has at most so many entries.
    pub(crate) fn over_entries(&self, max_entries: usize) -> usize {
        self.over(max_entries, PastTurn::entry_count)
    }

    fn over(&self, limit: usize, size: impl Fn(&PastTurn) -> usize) -> usize {
        let mut kept = 0;
        let newest = self.turns.iter().rev().take_while(|turn| {
            kept += size(turn);
            kept <= limit
        });
        self.turns.len() - newest.count()
    }
}

impl Agent {
    /// Keeps what was sent of earlier turns, for whoever asks why.
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

    /// What of a thread could be sent again, before anything is summarised.
    pub(crate) async fn history_so_far(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        reader: Option<&str>,
    ) -> Result<History, AgentError> {
        /// After every turn there is; databases count with signed numbers.
        const NEXT: u64 = i64::MAX as u64;
        self.stored_history(workspace_id, thread_id, NEXT, reader).await
    }

    /// What is stored of the turns before an ordinal, as far as it could be sent in a turn of somebody's.
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

    /// Completed turns of a turn's thread, oldest first, without anybody's own memory.
    pub(crate) async fn completed_turns(
        &self,
        turn: &Turn,
        range: TurnRange,
    ) -> Result<Vec<PastTurn>, AgentError> {
        let items = self.store.completed_items(&turn.workspace_id, &turn.thread_id, range).await?;
        Ok(self.past_turns(items, None))
    }

    fn past_turns(&self, items: Vec<(u64, StoredItem)>, reader: Option<&str>) -> Vec<PastTurn> {
        let mut turns: Vec<PastTurn> = Vec::new();
        for (ordinal, item) in items {
            let (TurnItem::Message(entry), turn_id) = (item.item, item.turn_id) else { continue };
            match turns.last_mut().filter(|turn| turn.ordinal == ordinal) {
                Some(turn) => turn.entries.push(entry),
                None => turns.push(PastTurn { id: turn_id, ordinal, entries: vec![entry], tokens: 0 }),
            }
        }
        for turn in &mut turns {
            hide_memory_of_others(&mut turn.entries, reader);
            turn.tokens = turn.entries.iter().map(|entry| sent_tokens(&self.counter, entry)).sum();
        }
        turns
    }
}
