//! Results of random calls.

use protocol::error::ErrorObject;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::random_calls::answer::kind;

/// Counts of a run without violations.
#[derive(Debug, Default)]
pub struct RandomCallsReport {
    /// Rounds in which every caller called every method.
    pub rounds: u64,
    pub calls: u64,
    pub succeeded: u64,
    /// Answers that showed the secret to callers who may see it.
    pub secrets: u64,
    /// Rejected calls by kind of error.
    pub refused: BTreeMap<String, u64>,
}

impl RandomCallsReport {
    pub(crate) fn count(&mut self, answer: &Result<Value, ErrorObject>) {
        self.calls += 1;
        match answer {
            Ok(_) => self.succeeded += 1,
            Err(error) => {
                let kind = kind(error).map_or_else(|| "no kind".to_owned(), |kind| format!("{kind:?}"));
                *self.refused.entry(kind).or_default() += 1;
            }
        }
    }
}

impl fmt::Display for RandomCallsReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, calls, succeeded, secrets, refused } = self;
        writeln!(
            formatter,
            "{calls} calls in {rounds} rounds, all answered: {succeeded} succeeded, of which {secrets}"
        )?;
        write!(formatter, "showed a secret to those who may see it; the others were refused:")?;
        for (kind, count) in refused {
            write!(formatter, "\n  {count} × {kind}")?;
        }
        Ok(())
    }
}
