//! Fits the requests of a running turn into the model's window.

use protocol::TokenUsage;
use protocol::message::{TrimmedResult, TrimmedResults, TurnItem, TurnMessage};
use provider::{Block, ChatResponse, ErrorKind, MessageRole, ProviderError};
use tokens::Counter;

use super::{Rounds, continuation};
use crate::error::AgentError;
use crate::history::compaction::CompactionReason;
use crate::prompt::notes::mark_repeated_sections;
use crate::turn::message::{message_tokens, sent_tokens};

/// Bytes of a result that are always left.
const LEAST_RESULT_BYTES: usize = 400;
/// Tokens cut in addition to the excess, for the reminder about the cut.
const REMINDER_TOKENS: usize = 60;

impl Rounds<'_> {
    /// Counts the request as it would be sent now.
    pub(super) fn counted(&self) -> usize {
        self.plan.fixed + self.turn.agent.history_tokens(&self.plan.history) + self.own_tokens()
    }

    /// Corrects the budget by the usage that the provider reports for the last request.
    pub(super) fn learn_usage(&mut self, counted: usize, usage: TokenUsage) {
        self.turn.agent.windows.learn_usage(&self.turn.model.name, counted, usage.input);
        self.update_budget();
    }

    /// Recomputes the tokens that earlier turns and this one may have together.
    pub(super) fn update_budget(&mut self) {
        self.plan.budget = self.turn.window().request.saturating_sub(self.plan.fixed);
        self.request.max_output_tokens = self.turn.max_output_tokens();
    }

    /// Returns true if an answer that was cut off can be continued, if necessary without any earlier turn.
    pub(super) fn has_room_to_continue(&self, response: &ChatResponse) -> bool {
        let counter = &self.turn.agent.counter;
        let hint = TurnMessage::of_notes(vec![continuation(&response.unfinished_calls)]);
        let more = message_tokens(counter, &response.message) + sent_tokens(counter, &hint);
        more <= self.room()
    }

    /// Returns the tokens that this turn may still add. Earlier turns make way for it, but not their summary.
    pub(super) fn room(&self) -> usize {
        let history = &self.plan.history;
        let summary = self.turn.agent.history_tokens(history) - history.turn_tokens();
        self.plan.budget.saturating_sub(self.own_tokens() + summary)
    }

    /// Shortens new results of calls until they fit.
    pub(super) fn trim_new_results(&self, entry: &mut TurnMessage) {
        let room = self.room();
        trim_results(&self.turn.agent.counter, std::slice::from_mut(entry), room);
    }

    /// Makes a request shorter that the provider has rejected as too long; false if nothing can be left out any more.
    /// Earlier turns make way first, then results of this turn, each once.
    pub(super) async fn make_room(&mut self, error: &ProviderError) -> Result<bool, AgentError> {
        if let Some(overrun) = error.overrun.as_deref().copied() {
            let counted = self.counted();
            self.turn.agent.windows.learn_overrun(&self.turn.model.name, counted, overrun);
            self.update_budget();
        }
        if !std::mem::replace(&mut self.shortened, true) && self.shorten().await? {
            return Ok(true);
        }
        if std::mem::replace(&mut self.trimmed, true) {
            return Ok(false);
        }
        let counter = &self.turn.agent.counter;
        let own = self.own_tokens();
        let results = self.entries.iter().filter(|entry| entry.message.role == MessageRole::Tool);
        let of_results: usize = results.map(|entry| sent_tokens(counter, entry)).sum();
        // Our count may be wrong, so at least half of the results is left out even if they should fit.
        let target = self.plan.budget.min(own - of_results / 2);
        let trimmed = trim_results(counter, &mut self.entries[1..], target);
        if trimmed.is_empty() {
            return Ok(false);
        }
        let item = TurnItem::Trimmed(TrimmedResults { results: trimmed });
        self.turn.add(vec![item], Vec::new()).await?;
        Ok(true)
    }

    /// Returns true if a failed request would only have continued an answer that was cut off. The user has read that
    /// answer, so the turn ends with it.
    pub(super) fn was_continuing(&self, error: &AgentError) -> bool {
        let too_long =
            matches!(error, AgentError::Provider(error) if error.kind == ErrorKind::ContextTooLong);
        let last = self.entries.iter().rfind(|entry| entry.message.role != MessageRole::User);
        too_long && last.is_some_and(|entry| entry.cut && !entry.message.text().trim().is_empty())
    }

    /// Drops more of the earlier turns; false if there is nothing to drop.
    pub(super) async fn shorten(&mut self) -> Result<bool, AgentError> {
        let stored = self.turn.stored_history().await?;
        let history = self.turn.fit_history(stored, self.plan.budget, CompactionReason::TooLong).await?;
        self.turn.handle.spend(history.usage);
        let is_shorter = history.through > self.plan.history.through;
        self.plan.history = history;
        let item = self.turn.agent.context_item(&self.plan.history, self.plan.budget);
        self.turn.add(vec![item], Vec::new()).await?;
        if let Some(retold) =
            self.turn.agent.resend_dropped_context(&self.plan, &self.entries, &self.visited).await?
        {
            self.add(retold.message.clone(), Vec::new()).await?;
            retold.confirm();
            mark_repeated_sections(&mut self.plan.prepared.compiled.manifest, &self.entries);
        }
        Ok(is_shorter)
    }
}

/// Shortens results, the longest first, until the messages have at most `room` tokens. Returns the shortened results.
fn trim_results(counter: &Counter, entries: &mut [TurnMessage], room: usize) -> Vec<TrimmedResult> {
    let mut trimmed: Vec<TrimmedResult> = Vec::new();
    loop {
        let tokens: usize = entries.iter().map(|entry| sent_tokens(counter, entry)).sum();
        let Some(excess) = tokens.checked_sub(room + 1) else { return trimmed };
        let results = entries.iter().enumerate().flat_map(|(index, entry)| {
            let results = entry.message.blocks.iter().filter_map(|block| match block {
                Block::ToolResult(result) => Some(result),
                _ => None,
            });
            results.map(move |result| (index, result.call_id.clone(), result.blocks.concat()))
        });
        let longest = results.max_by_key(|(_, _, text)| text.len());
        let Some((index, call_id, text)) = longest.filter(|(_, _, text)| text.len() > LEAST_RESULT_BYTES)
        else {
            return trimmed;
        };
        let own = counter.count(tokens::Encoding::Cl100k, &text).max(1);
        let removed = (excess + 1 + REMINDER_TOKENS).saturating_mul(text.len()).div_ceil(own);
        let bytes = text.len().saturating_sub(removed).max(LEAST_RESULT_BYTES);
        let result = TrimmedResult { call_id, bytes };
        entries[index].trim_result(&result);
        trimmed.retain(|known| known.call_id != result.call_id);
        trimmed.push(result);
    }
}

#[cfg(test)]
mod tests {
    use provider::{Message, ToolResult};

    use super::*;

    #[test]
    fn longest_results_are_trimmed_until_all_fit() {
        let counter = Counter::default();
        let long = "line with some words\n".repeat(2_000);
        let results =
            [ToolResult::new("1", &long), ToolResult::new("2", "short"), ToolResult::new("3", &long)];
        let mut entries = [TurnMessage::new(Message::results(results))];
        let trimmed = trim_results(&counter, &mut entries, 1_000);
        assert!(sent_tokens(&counter, &entries[0]) <= 1_000);
        assert_eq!(trimmed.len(), 2, "{trimmed:?}");
        assert_eq!(entries[0].reminders.len(), 2);
        assert!(trim_results(&counter, &mut entries, 1_000).is_empty());
        // Even without any room, each result keeps its beginning.
        trim_results(&counter, &mut entries, 0);
        let kept: usize = entries[0]
            .message
            .blocks
            .iter()
            .map(|block| match block {
                Block::ToolResult(result) => result.blocks.concat().len(),
                _ => 0,
            })
            .sum();
        assert!((2 * LEAST_RESULT_BYTES - 8..=2 * LEAST_RESULT_BYTES + 5).contains(&kept), "{kept}");
    }
}
