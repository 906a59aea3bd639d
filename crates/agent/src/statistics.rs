//! Figures about turns since the process started, for monitoring.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use protocol::{TokenUsage, TurnStatus};
use provider::ErrorKind;

use crate::agent::Agent;

/// Counters of this process. Labels are configured names or words of ours, so their number is limited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Turns that are running.
    pub running_turns: u64,
    /// Ended turns by status.
    pub turns: BTreeMap<&'static str, u64>,
    /// Requests of turns by provider and outcome: `ok` or the kind of error.
    pub requests: BTreeMap<(String, String), u64>,
    /// Requests that were repeated because a provider was busy or failed.
    pub retries: BTreeMap<String, u64>,
    /// Tokens of ended turns by provider.
    pub tokens: BTreeMap<String, TokenUsage>,
    /// Decisions about calls that required approval.
    pub approvals: BTreeMap<&'static str, u64>,
    /// Attempts of background jobs by outcome.
    pub jobs: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Statistics(Mutex<Figures>);

impl Statistics {
    pub(crate) fn turn_ended(&self, status: TurnStatus, provider: &str, usage: TokenUsage) {
        let status = match status {
            TurnStatus::Completed => "completed",
            TurnStatus::Failed => "failed",
            TurnStatus::Cancelled => "cancelled",
            // A turn that has ended does not run.
            TurnStatus::Running => return,
        };
        let mut figures = self.0.lock();
        *figures.turns.entry(status).or_default() += 1;
        *figures.tokens.entry(provider.to_owned()).or_default() += usage;
    }

    /// Counts an answered request, or one that failed for the last time.
    pub(crate) fn asked(&self, provider: &str, error: Option<ErrorKind>) {
        let outcome = error.map_or_else(|| "ok".to_owned(), |kind| kind.to_string());
        *self.0.lock().requests.entry((provider.to_owned(), outcome)).or_default() += 1;
    }

    pub(crate) fn retried(&self, provider: &str) {
        *self.0.lock().retries.entry(provider.to_owned()).or_default() += 1;
    }

    pub(crate) fn approval_decided(&self, decision: &'static str) {
        *self.0.lock().approvals.entry(decision).or_default() += 1;
    }

    pub(crate) fn job_ended(&self, outcome: &'static str) {
        *self.0.lock().jobs.entry(outcome).or_default() += 1;
    }
}

impl Agent {
    /// Returns the figures since the process started.
    pub fn figures(&self) -> Figures {
        let running_turns = self.running.ids().len() as u64;
        Figures { running_turns, ..self.statistics.0.lock().clone() }
    }
}
