//! What was said before: completed turns, whole and as they were sent, under a budget of tokens.
//!
//! The window over them moves rarely, because whatever moves it breaks the prefix that a provider has cached: past the
//! limit of entries half of them go at once, and what no longer fits is summarised down to much less than the limit.

use protocol::turn::ExplainedHistory;
use protocol::{TurnId, Version};
use provider::Message;
use serde_json::json;
use store::{NewTurnItem, Turn, TurnEvent};

use crate::entry::{Entry, message_tokens};
use crate::error::AgentError;
use crate::preparation::Agent;
use crate::summary::Summariser;

/// Most stored messages that are sent again.
const MAX_ENTRIES: usize = 200;
/// With less room than this a summary would say nothing, and what it replaces would be lost.
const MIN_SUMMARY_BUDGET: usize = 2_000;
/// The kind of turn item that says what was sent of earlier turns.
pub(crate) const CONTEXT: &str = "context";

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

/// Why earlier turns are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// A turn begins.
    Fit,
    /// A provider has said that the request is too long.
    Less,
}

/// What a model is sent of earlier turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) summary: Option<String>,
    pub(crate) turns: Vec<PastTurn>,
    /// Turns up to this ordinal are not among them.
    pub(crate) through: u64,
    /// What making a summary has cost.
    pub(crate) usage: protocol::TokenUsage,
}

/// A completed turn.
#[derive(Debug, Clone)]
pub(crate) struct PastTurn {
    pub(crate) id: TurnId,
    pub(crate) ordinal: u64,
    pub(crate) entries: Vec<Entry>,
    pub(crate) tokens: usize,
}

impl History {
    /// The messages, oldest first.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let summary = self.summary.as_deref().map(|text| Message::user(prompt::notes::summary(text)));
        summary.into_iter().chain(self.entries().map(Entry::as_sent)).collect()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
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
    fn too_many(&self, most: usize) -> usize {
        let mut kept = 0;
        let newest = self.turns.iter().rev().take_while(|turn| {
            kept += turn.tokens;
            kept <= most
        });
        self.turns.len() - newest.count()
    }
}

impl Agent {
    /// What is sent of the turns before one, in at most `budget` tokens; what does not fit is summarised.
    pub(crate) async fn history(
        &self,
        turn: &Turn,
        budget: usize,
        need: Need,
        summariser: &Summariser,
    ) -> Result<History, AgentError> {
        let stored = self.store.thread_context(&turn.workspace_id, &turn.thread_id).await?;
        let mut version = stored.as_ref().map_or(Version(0), |stored| stored.version);
        let mut history = History {
            through: stored.as_ref().map_or(0, |stored| stored.through),
            summary: stored.and_then(|stored| stored.summary),
            turns: Vec::new(),
            usage: protocol::TokenUsage::default(),
        };
        history.turns = self.completed_turns(turn, history.through).await?;
        let before = history.through;
        history.leave_out_past_limit();
        if history.through > before {
            let (through, summary) = (history.through, history.summary.as_deref());
            version = self.save_context(turn, through, summary, version).await?;
            self.log(turn, vec![TurnEvent::ContextCompressed { through, summarised: false }]).await?;
        }
        if need == Need::Less || self.history_tokens(&history) >= budget * share::FULL / 100 {
            return self.compress(turn, history, version, budget, need, summariser).await;
        }
        Ok(history)
    }

    /// Keeps what was sent of earlier turns, for whoever asks why.
    pub(crate) fn context_item(&self, history: &History, budget: usize) -> NewTurnItem {
        let explained = ExplainedHistory {
            left_out_through: history.through,
            summarised: history.summary.is_some(),
            turns: history.turns.len() as u64,
            entries: history.count() as u64,
            tokens: self.history_tokens(history) as u64,
            budget_tokens: budget as u64,
        };
        NewTurnItem { kind: CONTEXT.to_owned(), content: json!(explained) }
    }

    pub(crate) fn history_tokens(&self, history: &History) -> usize {
        let summary = history.summary.as_deref().map(|text| Message::user(prompt::notes::summary(text)));
        let summary = summary.map_or(0, |message| message_tokens(&self.counter, &message));
        summary + history.turn_tokens()
    }

    /// Summarises older turns; if that fails, the newest turns that fit are sent, and the next turn tries again.
    async fn compress(
        &self,
        turn: &Turn,
        mut history: History,
        version: Version,
        budget: usize,
        need: Need,
        summariser: &Summariser,
    ) -> Result<History, AgentError> {
        let kept = match need {
            Need::Fit => budget * share::KEPT / 100,
            // Whatever was counted, it was too much.
            Need::Less => (budget * share::KEPT_WHEN_REFUSED / 100).min(history.turn_tokens() / 2),
        };
        let mut gone = history.too_many(kept);
        let newest = history.turns.last().map_or(0, |turn| turn.tokens);
        if need == Need::Fit && gone == history.turns.len() && newest <= budget * share::FULL / 100 {
            // The newest turn stays word for word if it fits at all.
            gone = gone.saturating_sub(1);
        }
        if gone == 0 {
            return Ok(history);
        }
        self.log(turn, vec![TurnEvent::ContextCompressing]).await?;
        self.before_compaction(turn).await?;
        let before = history.through;
        let left_out = history.leave_out(gone);
        let most = (budget * share::SUMMARY / 100).max(1);
        let summary = match budget < MIN_SUMMARY_BUDGET {
            true => Err(AgentError::TooLong { tokens: most, room: budget }),
            false => summariser.summarise(history.summary.as_deref(), &left_out, most).await,
        };
        let summarised = match summary {
            Ok((summary, usage)) => {
                history.usage += usage;
                history.summary = Some(summary);
                self.save_context(turn, history.through, history.summary.as_deref(), version).await?;
                true
            }
            Err(error) => {
                tracing::warn!(%error, turn = %turn.id, "earlier turns could not be summarised");
                history.turns.splice(0..0, left_out);
                history.through = before;
                let room = budget.saturating_sub(self.history_tokens(&history) - history.turn_tokens());
                let gone = if need == Need::Less { gone } else { history.too_many(room) };
                history.leave_out(gone);
                false
            }
        };
        let through = history.through;
        self.log(turn, vec![TurnEvent::ContextCompressed { through, summarised }]).await?;
        Ok(history)
    }

    async fn save_context(
        &self,
        turn: &Turn,
        through: u64,
        summary: Option<&str>,
        version: Version,
    ) -> Result<Version, AgentError> {
        let saved = self
            .store
            .save_thread_context(&turn.workspace_id, &turn.thread_id, through, summary, version)
            .await?;
        // Only one turn of a thread runs, so who saved in between has taken this gateway for dead.
        Ok(saved.ok_or(AgentError::LeaseLost)?.version)
    }

    /// The completed turns of a thread before one and after an ordinal, oldest first.
    pub(crate) async fn completed_turns(&self, turn: &Turn, after: u64) -> Result<Vec<PastTurn>, AgentError> {
        let (workspace_id, thread_id) = (&turn.workspace_id, &turn.thread_id);
        let items = self.store.completed_items(workspace_id, thread_id, after, turn.ordinal).await?;
        let mut turns: Vec<PastTurn> = Vec::new();
        for (ordinal, item) in items {
            let turn_id = item.turn_id.clone();
            let Some(entry) = Entry::of(item)? else { continue };
            let tokens = entry.tokens(&self.counter);
            match turns.last_mut().filter(|turn| turn.ordinal == ordinal) {
                Some(turn) => {
                    turn.entries.push(entry);
                    turn.tokens += tokens;
                }
                None => turns.push(PastTurn { id: turn_id, ordinal, entries: vec![entry], tokens }),
            }
        }
        Ok(turns)
    }
}
