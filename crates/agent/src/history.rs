//! What was said before: completed turns, whole and as they were sent, under a budget of tokens.
//!
//! The window over them moves rarely, because whatever moves it breaks the prefix that a provider has cached: past the
//! limit of entries half of them go at once, and what no longer fits is summarised down to much less than the limit.

use protocol::message::{TurnItem, TurnMessage};
use protocol::turn::ExplainedHistory;
use protocol::{ThreadId, TokenUsage, Turn, TurnId, Version, WorkspaceId};
use provider::Message;
use store::{StoredHistory, StoredItem, TurnEvent};

use crate::error::AgentError;
use crate::held_turn::HeldTurn;
use crate::preparation::Agent;
use crate::turn_message::{message_tokens, sent_tokens};

/// Most stored messages that are sent again.
const MAX_ENTRIES: usize = 200;
/// With less room than this a summary would say nothing, and what it replaces would be lost.
const MIN_SUMMARY_BUDGET: usize = 2_000;

/// Shares of the budget, in hundredths.
pub(crate) mod share {
    /// From here on earlier turns are summarised.
    pub(crate) const FULL: usize = 80;
    /// What the newest turns may keep word for word.
    pub(crate) const KEPT: usize = 40;
    /// The same, when a provider has said that the request is too long.
    pub(crate) const KEPT_WHEN_REFUSED: usize = 20;
    /// What a summary may have.
    pub(crate) const SUMMARY: usize = 10;
}

/// Why earlier turns may have to be summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionReason {
    /// A turn begins; they are summarised if they take too much.
    TurnStart,
    /// A provider has said that the request is too long, or this turn needs their room.
    TooLong,
}

/// What a model is sent of earlier turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) summary: Option<String>,
    pub(crate) turns: Vec<PastTurn>,
    /// Turns up to this ordinal are not among them.
    pub(crate) through: u64,
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

impl History {
    /// The messages, oldest first.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let summary = self.summary.as_deref().map(|text| Message::user(prompt::notes::summary(text)));
        summary.into_iter().chain(self.entries().map(TurnMessage::as_sent)).collect()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &TurnMessage> {
        self.turns.iter().flat_map(|turn| &turn.entries)
    }

    fn count(&self) -> usize {
        self.turns.iter().map(|turn| turn.entries.len()).sum()
    }

    fn turn_tokens(&self) -> usize {
        self.turns.iter().map(|turn| turn.tokens).sum()
    }

    /// Past the limit of entries, leaves out so many of the oldest turns that half of it is left.
    fn leave_out_past_limit(&mut self) {
        let mut left = self.count();
        if left <= MAX_ENTRIES {
            return;
        }
        let gone = self.turns.iter().take_while(|turn| {
            let is_over = left > MAX_ENTRIES / 2;
            left -= turn.entries.len();
            is_over
        });
        // The newest turn stays, however long it is.
        let gone = gone.count().min(self.turns.len() - 1);
        let before = self.through;
        self.leave_out(gone);
        if let Some(summary) = self.summary.as_mut().filter(|_| gone > 0) {
            let (first, last) = (before + 1, self.through);
            let mark = format!("\n\n[foreword: turns {first} to {last} came after this and are left out]");
            summary.push_str(&mark);
        }
    }

    /// Leaves out the oldest turns, and answers with them.
    fn leave_out(&mut self, count: usize) -> Vec<PastTurn> {
        let left_out: Vec<PastTurn> = self.turns.drain(..count).collect();
        self.through = left_out.last().map_or(self.through, |turn| turn.ordinal);
        left_out
    }

    /// How many of the oldest turns must go so that the rest has at most so many tokens.
    fn excess(&self, max_tokens: usize) -> usize {
        let mut kept = 0;
        let newest = self.turns.iter().rev().take_while(|turn| {
            kept += turn.tokens;
            kept <= max_tokens
        });
        self.turns.len() - newest.count()
    }

    /// How many of the oldest turns a summary should replace.
    fn to_summarise(&self, budget: usize, reason: CompactionReason) -> usize {
        match reason {
            CompactionReason::TurnStart => {
                let count = self.excess(budget * share::KEPT / 100);
                let newest = self.turns.last().map_or(0, |turn| turn.tokens);
                // The newest turn stays word for word if it fits at all.
                let keeps_newest = count == self.turns.len() && newest <= budget * share::FULL / 100;
                count.saturating_sub(usize::from(keeps_newest))
            }
            // Whatever was counted, it was too much.
            CompactionReason::TooLong => {
                self.excess((budget * share::KEPT_WHEN_REFUSED / 100).min(self.turn_tokens() / 2))
            }
        }
    }
}

impl HeldTurn {
    /// What is sent of earlier turns, in at most `budget` tokens; what does not fit is summarised.
    pub(crate) async fn history(
        &self,
        budget: usize,
        reason: CompactionReason,
    ) -> Result<History, AgentError> {
        let stored = &self.stored;
        let (mut history, mut version) =
            self.agent.stored_history(&stored.workspace_id, &stored.thread_id, stored.ordinal).await?;
        let before = history.through;
        history.leave_out_past_limit();
        if history.through > before {
            version = self.save_context(&history, version).await?;
            self.log(TurnEvent::ContextCompressed { through: history.through, summarised: false }).await?;
        }
        let is_full = self.agent.history_tokens(&history) >= budget * share::FULL / 100;
        if reason == CompactionReason::TooLong || is_full {
            self.compress(&mut history, version, budget, reason).await?;
        }
        Ok(history)
    }

    /// Summarises older turns; if that fails, the newest turns that fit are sent, and the next turn tries again.
    async fn compress(
        &self,
        history: &mut History,
        version: Version,
        budget: usize,
        reason: CompactionReason,
    ) -> Result<(), AgentError> {
        let count = history.to_summarise(budget, reason);
        if count == 0 {
            return Ok(());
        }
        self.log(TurnEvent::ContextCompressing).await?;
        self.before_compaction().await?;
        let before = history.through;
        let left_out = history.leave_out(count);
        let summarised = match self.summarise(history, &left_out, budget).await {
            Ok(()) => {
                self.save_context(history, version).await?;
                true
            }
            Err(error) => {
                tracing::warn!(%error, turn = %self.id(), "earlier turns could not be summarised");
                history.turns.splice(0..0, left_out);
                history.through = before;
                let summary = self.agent.history_tokens(history) - history.turn_tokens();
                let count = match reason {
                    CompactionReason::TooLong => count,
                    CompactionReason::TurnStart => history.excess(budget.saturating_sub(summary)),
                };
                history.leave_out(count);
                false
            }
        };
        self.log(TurnEvent::ContextCompressed { through: history.through, summarised }).await
    }

    /// Puts a summary in the place of turns that were left out.
    async fn summarise(
        &self,
        history: &mut History,
        left_out: &[PastTurn],
        budget: usize,
    ) -> Result<(), AgentError> {
        let max_tokens = (budget * share::SUMMARY / 100).max(1);
        if budget < MIN_SUMMARY_BUDGET {
            return Err(AgentError::TooLong { tokens: max_tokens, room: budget });
        }
        let summariser = &self.model.summariser;
        let (summary, usage) = summariser.summarise(history.summary.as_deref(), left_out, max_tokens).await?;
        history.usage += usage;
        history.summary = Some(summary);
        Ok(())
    }

    async fn save_context(&self, history: &History, version: Version) -> Result<Version, AgentError> {
        let (stored, summary) = (&self.stored, history.summary.as_deref());
        let saved = self
            .agent
            .store
            .save_thread_context(&stored.workspace_id, &stored.thread_id, history.through, summary, version)
            .await?;
        // Only one turn of a thread runs, so who saved in between has taken this gateway for dead.
        Ok(saved.ok_or(AgentError::LeaseLost)?.version)
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
            summarised: history.summary.is_some(),
            turns: history.turns.len() as u64,
            entries: history.count() as u64,
            tokens: self.history_tokens(history) as u64,
            budget_tokens: budget as u64,
        }
    }

    /// Everything of a thread that could be sent again, before anything is summarised.
    pub(crate) async fn history_so_far(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<History, AgentError> {
        /// After every turn there is; databases count with signed numbers.
        const NEXT: u64 = i64::MAX as u64;
        Ok(self.stored_history(workspace_id, thread_id, NEXT).await?.0)
    }

    /// What is stored of the turns before an ordinal, and the version of their summary.
    async fn stored_history(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        before: u64,
    ) -> Result<(History, Version), AgentError> {
        let StoredHistory { context, items } =
            self.store.stored_history(workspace_id, thread_id, before).await?;
        let version = context.as_ref().map_or(Version(0), |context| context.version);
        let history = History {
            through: context.as_ref().map_or(0, |context| context.through),
            summary: context.and_then(|context| context.summary),
            turns: self.past_turns(items),
            usage: TokenUsage::default(),
        };
        Ok((history, version))
    }

    pub(crate) fn history_tokens(&self, history: &History) -> usize {
        let summary = history.summary.as_deref().map(|text| Message::user(prompt::notes::summary(text)));
        let summary = summary.map_or(0, |message| message_tokens(&self.counter, &message));
        summary + history.turn_tokens()
    }

    /// The completed turns of a thread before one and after an ordinal, oldest first.
    pub(crate) async fn completed_turns(&self, turn: &Turn, after: u64) -> Result<Vec<PastTurn>, AgentError> {
        let (workspace_id, thread_id) = (&turn.workspace_id, &turn.thread_id);
        let items = self.store.completed_items(workspace_id, thread_id, after, turn.ordinal).await?;
        Ok(self.past_turns(items))
    }

    fn past_turns(&self, items: Vec<(u64, StoredItem)>) -> Vec<PastTurn> {
        let mut turns: Vec<PastTurn> = Vec::new();
        for (ordinal, item) in items {
            let (TurnItem::Message(entry), turn_id) = (item.item, item.turn_id) else { continue };
            let tokens = sent_tokens(&self.counter, &entry);
            match turns.last_mut().filter(|turn| turn.ordinal == ordinal) {
                Some(turn) => {
                    turn.entries.push(entry);
                    turn.tokens += tokens;
                }
                None => turns.push(PastTurn { id: turn_id, ordinal, entries: vec![entry], tokens }),
            }
        }
        turns
    }
}
