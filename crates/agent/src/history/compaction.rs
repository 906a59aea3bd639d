//! Compaction: summarises the oldest turns when the history no longer fits.

use store::{RangePart, TurnEvent, TurnRange};

use crate::agent::Agent;
use crate::domains::memory::privacy::hide_memory_of_others;
use crate::error::AgentError;
use crate::history::summary::Summary;
use crate::history::{History, MAX_ENTRIES, MAX_TURNS_READ, PastTurn};
use crate::turn::running::RunningTurn;

/// Page size for summarising a backlog of more turns than can be sent.
const BACKLOG_PAGE: u64 = 500;
/// Maximum number of attempts if items are forgotten while a summary is being made.
const MAX_TRIES: usize = 3;
/// Below this budget a summary would be empty, and the turns it replaces would be lost.
const MIN_SUMMARY_BUDGET: usize = 2_000;

/// Shares of the budget, in percent.
pub(crate) mod share {
    /// Threshold above which earlier turns are summarised.
    pub(crate) const FULL: usize = 80;
    /// Share of the newest turns that stay word for word.
    pub(crate) const KEPT: usize = 40;
    /// The same share after a provider has rejected the request as too long.
    pub(crate) const KEPT_WHEN_REFUSED: usize = 20;
    /// Share of a summary.
    pub(crate) const SUMMARY: usize = 10;
}

/// Reason to consider summarising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionReason {
    /// A turn starts; earlier turns are summarised if they take too much.
    TurnStart,
    /// A provider rejected the request as too long, or the running turn needs the tokens.
    TooLong,
}

/// Progress of summarising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummaryProgress {
    Done,
    /// The rest is left for the next turn.
    Partly,
    /// The turns to be summarised have changed in the meantime.
    Outdated,
}

/// The limits that the earlier turns exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Excess {
    entries: bool,
    tokens: bool,
}

impl History {
    /// Returns how many of the oldest turns a summary should replace.
    fn to_summarise(&self, budget: usize, excess: Excess, reason: CompactionReason) -> usize {
        // The provider counts differently. Whatever our count was, the request was too long, so halve it at least.
        if reason == CompactionReason::TooLong {
            return self.over_tokens((budget * share::KEPT_WHEN_REFUSED / 100).min(self.turn_tokens() / 2));
        }
        // Shrink well below the limit instead of just under it. Each compaction costs the cached prefix, so the next
        // one should be far away.
        let entries = if excess.entries { self.over_entries(MAX_ENTRIES / 2) } else { 0 };
        let tokens = if excess.tokens { self.over_tokens(budget * share::KEPT / 100) } else { 0 };
        let count = entries.max(tokens);
        let newest = self.turns.last().map_or(0, |turn| turn.tokens);
        // The newest turn stays word for word if it fits at all.
        let keeps_newest = count == self.turns.len() && newest <= budget * share::FULL / 100;
        count.saturating_sub(usize::from(keeps_newest))
    }
}

impl RunningTurn {
    /// Loads the earlier turns, as many as could be sent.
    pub(crate) async fn stored_history(&self) -> Result<History, AgentError> {
        let stored = &self.stored;
        let reader = self.subject.scope.memory_owner();
        self.agent.stored_history(&stored.workspace_id, &stored.thread_id, stored.ordinal, reader).await
    }

    /// Fits the earlier turns into `budget` tokens by summarising the oldest.
    pub(crate) async fn fit_history(
        &self,
        mut history: History,
        budget: usize,
        reason: CompactionReason,
    ) -> Result<History, AgentError> {
        let count = self.agent.to_summarise(&history, budget, reason);
        if count > 0 {
            self.compress(&mut history, count, budget, reason).await?;
        }
        Ok(history)
    }

    /// Summarises the oldest turns. If that fails, sends the newest turns that fit, and leaves the rest to the next
    /// turn.
    async fn compress(
        &self,
        history: &mut History,
        count: usize,
        budget: usize,
        reason: CompactionReason,
    ) -> Result<(), AgentError> {
        self.log(TurnEvent::ContextCompressing {}).await?;
        self.before_compaction().await?;
        let mut count = count;
        let mut tries = 0;
        let (sent, summarised) = loop {
            let sent = history.turns.len();
            let made = match self.summarise_oldest(history, count, budget).await {
                Ok(made) => made,
                // A lost lease or a failing database would fail the turn anyway, and is not the summariser's fault.
                Err(error @ (AgentError::LeaseLost | AgentError::Store(_))) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, turn = %self.id(), "earlier turns could not be summarised");
                    break (sent, false);
                }
            };
            tries += 1;
            match made {
                SummaryProgress::Done => break (sent, true),
                SummaryProgress::Partly => break (sent, false),
                SummaryProgress::Outdated => {
                    // Start over from the store, but keep the cost of the attempt.
                    let usage = history.usage;
                    *history = History { usage, ..self.stored_history().await? };
                    count = self.agent.to_summarise(history, budget, reason);
                    if count == 0 {
                        break (sent, true);
                    }
                    if tries == MAX_TRIES {
                        break (history.turns.len(), false);
                    }
                    // This write fails if the lease is lost, before another request is spent on a summary.
                    self.log(TurnEvent::ContextCompressing {}).await?;
                }
            }
        };
        if !summarised {
            let summarised_through = history.through;
            // Reserve the tokens of the notice about missing turns up front: it is nearly always needed here.
            history.missing_after = Some(summarised_through);
            let preface = self.agent.history_tokens(history) - history.turn_tokens();
            let unfit = match reason {
                CompactionReason::TooLong => count.saturating_sub(sent - history.turns.len()),
                CompactionReason::TurnStart => history.over_tokens(budget.saturating_sub(preface)),
            };
            history.leave_out(unfit.max(history.over_entries(MAX_ENTRIES)));
            history.missing_after = history.missing_after.filter(|after| history.through > *after);
        }
        let through = history.through;
        let missing_after = history.missing_after;
        self.log(TurnEvent::ContextCompressed { through, summarised, missing_after }).await
    }

    /// Replaces the oldest turns by a summary, within the limit of requests per turn. Partial progress is kept.
    async fn summarise_oldest(
        &self,
        history: &mut History,
        count: usize,
        budget: usize,
    ) -> Result<SummaryProgress, AgentError> {
        if budget < MIN_SUMMARY_BUDGET {
            return Err(AgentError::TooLong { tokens: MIN_SUMMARY_BUDGET, room: budget });
        }
        // A full page means that there may be older turns, which no summary covers yet.
        if history.turns.len() as u64 >= MAX_TURNS_READ {
            let progress = self.summarise_backlog(history, budget).await?;
            if progress != SummaryProgress::Done {
                return Ok(progress);
            }
        }
        let mut oldest: Vec<PastTurn> = history.turns[..count].to_vec();
        // The summary is sent to whichever user has the next turn, so it must not contain private memory.
        oldest.iter_mut().for_each(|turn| hide_memory_of_others(&mut turn.entries, None));
        let Some(covered) = self.summarise(history, &oldest, budget).await? else {
            return Ok(SummaryProgress::Outdated);
        };
        history.leave_out(covered);
        Ok(if covered == count { SummaryProgress::Done } else { SummaryProgress::Partly })
    }

    /// Summarises the turns before those that were loaded, which pile up while summaries keep failing.
    async fn summarise_backlog(
        &self,
        history: &mut History,
        budget: usize,
    ) -> Result<SummaryProgress, AgentError> {
        let before = history.turns.first().map_or(self.stored.ordinal, |turn| turn.ordinal);
        loop {
            let range = TurnRange { after: history.through, before, part: RangePart::Oldest(BACKLOG_PAGE) };
            let page = self.agent.completed_turns(&self.stored, range).await?;
            let is_last = (page.len() as u64) < BACKLOG_PAGE;
            if !page.is_empty() {
                match self.summarise(history, &page, budget).await? {
                    None => return Ok(SummaryProgress::Outdated),
                    Some(covered) if covered < page.len() => return Ok(SummaryProgress::Partly),
                    Some(_) => {}
                }
            }
            if is_last {
                return Ok(SummaryProgress::Done);
            }
        }
    }

    /// Makes and stores the next summary from the previous one and the turns after it; returns how many turns it
    /// covers. `None` if its input has changed in the meantime; nothing was stored then.
    async fn summarise(
        &self,
        history: &mut History,
        turns: &[PastTurn],
        budget: usize,
    ) -> Result<Option<usize>, AgentError> {
        let max_tokens = (budget * share::SUMMARY / 100).max(1);
        let summariser = &self.model.summariser;
        let made = summariser.summarise(history.summary.as_deref(), turns, max_tokens).await;
        // Before looking at the result, because a failed summary costs tokens too.
        history.usage += made.usage;
        let Summary { text, covered } = made.summary?;
        let through = turns[..covered].last().map_or(history.through, |turn| turn.ordinal);
        let store = &self.agent.store;
        let stored = &self.stored;
        let saved = store
            .save_thread_context(
                &stored.workspace_id,
                &stored.thread_id,
                through,
                Some(&text),
                history.version,
            )
            .await?;
        // Only one turn of a thread runs, so an item was forgotten, or another gateway has declared this turn dead.
        let Some(saved) = saved else { return Ok(None) };
        history.version = saved.version;
        history.summary = Some(text);
        history.through = through;
        Ok(Some(covered))
    }
}

impl Agent {
    /// Returns how many of the oldest turns a summary should replace; 0 while they fit.
    fn to_summarise(&self, history: &History, budget: usize, reason: CompactionReason) -> usize {
        let excess = Excess {
            entries: history.entry_count() > MAX_ENTRIES,
            tokens: self.history_tokens(history) >= budget * share::FULL / 100,
        };
        if reason == CompactionReason::TooLong || excess.entries || excess.tokens {
            history.to_summarise(budget, excess, reason)
        } else {
            0
        }
    }
}
