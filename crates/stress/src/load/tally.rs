//! How long calls took, and what those were told that failed.

use std::collections::BTreeMap;
use std::time::Duration;

use client::ClientError;
use measure::Samples;

use crate::load::Kind;

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum Problem {
    Client(ClientError),
    /// Its turn ended, but not well.
    Turn(&'static str),
    /// Nobody answered for [`crate::load::PATIENCE`].
    Unanswered,
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl Problem {
    /// What a client was told, with the code where there is one.
    pub(crate) fn told(&self) -> String {
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

/// What came of many calls.
#[derive(Debug, Default)]
pub struct Tally {
    /// How long all of it took.
    pub time: Duration,
    times: BTreeMap<Kind, Vec<Duration>>,
    /// How often each of a kind was told what.
    pub problems: BTreeMap<(Kind, String), u64>,
    /// Calls whose time never came because those before them took too long.
    pub not_made: u64,
}

impl Tally {
    /// Nothing yet, of a time.
    pub(crate) fn of(time: Duration) -> Self {
        Self { time, ..Self::default() }
    }

    pub(crate) fn count(&mut self, kind: Kind, time: Duration, outcome: Result<(), Problem>) {
        match outcome {
            Ok(()) => self.times.entry(kind).or_default().push(time),
            Err(problem) => *self.problems.entry((kind, problem.told())).or_default() += 1,
        }
    }

    /// Adds calls that were made at the same time.
    pub(crate) fn merge(&mut self, other: Tally) {
        for (kind, times) in other.times {
            self.times.entry(kind).or_default().extend(times);
        }
        for (problem, count) in other.problems {
            *self.problems.entry(problem).or_default() += count;
        }
        self.not_made += other.not_made;
    }

    /// Adds calls that were made later.
    pub(crate) fn add(&mut self, later: Tally) {
        self.time += later.time;
        self.merge(later);
    }

    /// Calls of a kind that succeeded.
    pub fn samples(&self, kind: Kind) -> Samples {
        Samples::new(self.times.get(&kind).cloned().unwrap_or_default())
    }

    /// All that succeeded.
    pub fn all(&self) -> Samples {
        Samples::new(self.times.values().flatten().copied().collect())
    }

    pub fn problem_count(&self) -> u64 {
        self.problems.values().sum()
    }

    /// So many a second.
    pub fn rate(&self, count: usize) -> f64 {
        count as f64 / self.time.as_secs_f64().max(f64::EPSILON)
    }
}
