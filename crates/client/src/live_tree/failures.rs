//! Failed requests of a tree and their retries.

use std::collections::BTreeSet;
use std::time::Instant;

use super::fetching::Wanted;
use crate::{Failure, backoff};

/// Failed requests. They share one retry time, because the cause usually affects all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    /// Requests that are retried automatically.
    passing: BTreeSet<Wanted>,
    /// Requests that are retried only on the user's demand.
    lasting: BTreeSet<Wanted>,
    /// Failures since the last answer.
    attempts: u32,
    retries_at: Option<Instant>,
    message: Option<String>,
}

impl Failures {
    pub(super) fn add(&mut self, wanted: Wanted, failure: Failure, now: Instant) {
        // Requests that fail together count as one attempt, so parallel requests do not inflate the backoff.
        if self.passing.is_empty() {
            self.attempts = self.attempts.saturating_add(1);
        }
        self.message = Some(failure.message);
        if failure.is_transient {
            self.passing.insert(wanted);
            self.retries_at = Some(now + backoff::pause(self.attempts));
        } else {
            self.lasting.insert(wanted);
        }
    }

    pub(super) fn contains(&self, wanted: &Wanted) -> bool {
        self.passing.contains(wanted) || self.lasting.contains(wanted)
    }

    /// Resets the backoff after an answer.
    pub(super) fn succeeded(&mut self) {
        self.attempts = 0;
    }

    /// Removes a request that is being sent again.
    pub(super) fn forget(&mut self, wanted: &Wanted) {
        self.passing.remove(wanted);
        self.lasting.remove(wanted);
    }

    /// Takes the requests whose retry time has come.
    pub(super) fn take_due(&mut self, now: Instant) -> BTreeSet<Wanted> {
        match self.wake_at() {
            Some(at) if at <= now => std::mem::take(&mut self.passing),
            _ => BTreeSet::new(),
        }
    }

    /// Takes all failed requests.
    pub(super) fn take_all(&mut self) -> BTreeSet<Wanted> {
        let Self { mut passing, mut lasting, .. } = std::mem::take(self);
        passing.append(&mut lasting);
        passing
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.retries_at.filter(|_| !self.passing.is_empty())
    }

    /// Returns the last failure's message while content is missing or being retried.
    pub(super) fn message(&self) -> Option<&str> {
        let is_missing = !self.passing.is_empty() || !self.lasting.is_empty();
        // The message stays while a retry is in flight, because the content is still missing.
        self.message.as_deref().filter(|_| is_missing || self.attempts > 0)
    }
}
