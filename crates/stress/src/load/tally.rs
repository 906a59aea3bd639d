//! Latencies and errors of calls.

use std::collections::BTreeMap;
use std::time::Duration;

use client::ClientError;
use measure::Samples;

use crate::load::CallKind;

/// Failure of a call.
#[derive(Debug)]
pub(crate) enum Problem {
    Client(ClientError),
    /// The turn did not complete.
    Turn(&'static str),
    /// There was no answer within [`crate::load::PATIENCE`].
    Unanswered,
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl Problem {
    /// Returns the message a client received, with its code if it has one.
    pub(crate) fn message(&self) -> String {
        match self {
            Problem::Client(error @ ClientError::Refused(refused)) => {
                let kind = error.kind().map_or_else(String::new, |kind| format!(" {kind:?}"));
                let hint = refused.data.as_ref().and_then(|data| data.hint.as_deref());
                let hint = hint.map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
                format!("{}{kind}: {}{hint}", refused.code, refused.message)
            }
            Problem::Client(error) => error.to_string(),
            Problem::Turn(how) => format!("the turn ended as {how}"),
            Problem::Unanswered => "no answer came".to_owned(),
        }
    }
}

/// Results of many calls.
#[derive(Debug, Default)]
pub struct Tally {
    pub time: Duration,
    times: BTreeMap<CallKind, Vec<Duration>>,
    /// Number of errors by kind of call and message.
    pub problems: BTreeMap<(CallKind, String), u64>,
    /// Calls that were skipped because earlier ones took too long.
    pub not_made: u64,
}

impl Tally {
    /// Returns an empty tally for a period.
    pub(crate) fn of(time: Duration) -> Self {
        Self { time, ..Self::default() }
    }

    pub(crate) fn count(&mut self, kind: CallKind, time: Duration, outcome: Result<(), Problem>) {
        match outcome {
            Ok(()) => self.times.entry(kind).or_default().push(time),
            Err(problem) => *self.problems.entry((kind, problem.message())).or_default() += 1,
        }
    }

    /// Adds results from the same period.
    pub(crate) fn merge(&mut self, other: Tally) {
        for (kind, times) in other.times {
            self.times.entry(kind).or_default().extend(times);
        }
        for (problem, count) in other.problems {
            *self.problems.entry(problem).or_default() += count;
        }
        self.not_made += other.not_made;
    }

    /// Adds results from a later period.
    pub(crate) fn add(&mut self, later: Tally) {
        self.time += later.time;
        self.merge(later);
    }

    /// Returns the latencies of successful calls of a kind.
    pub fn samples(&self, kind: CallKind) -> Samples {
        Samples::new(self.times.get(&kind).cloned().unwrap_or_default())
    }

    /// Returns the latencies of all successful calls.
    pub fn all(&self) -> Samples {
        Samples::new(self.times.values().flatten().copied().collect())
    }

    pub fn problem_count(&self) -> u64 {
        self.problems.values().sum()
    }

    pub fn rate(&self, count: usize) -> f64 {
        count as f64 / self.time.as_secs_f64().max(f64::EPSILON)
    }
}
