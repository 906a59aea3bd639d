//! What of a tree could not be loaded, and when it is tried again.

use std::collections::BTreeSet;
use std::time::Instant;

use super::fetching::Wanted;
use crate::{Failure, backoff};

/// Requests that failed. They wait together: what keeps one from being answered most often keeps all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    /// What time alone may mend.
    passing: BTreeSet<Wanted>,
    /// What waits for somebody to ask again.
    lasting: BTreeSet<Wanted>,
    /// Failures since something was last answered.
    attempts: u32,
    retries_at: Option<Instant>,
    message: Option<String>,
}

impl Failures {
    pub(super) fn add(&mut self, wanted: Wanted, failure: Failure, now: Instant) {
        // Those that fail together count as one try.
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

    /// Something was answered, so the gateway can be asked.
    pub(super) fn succeeded(&mut self) {
        self.attempts = 0;
    }

    /// It is asked for again.
    pub(super) fn forget(&mut self, wanted: &Wanted) {
        self.passing.remove(wanted);
        self.lasting.remove(wanted);
    }

    /// What to ask for again by now.
    pub(super) fn take_due(&mut self, now: Instant) -> BTreeSet<Wanted> {
        match self.wake_at() {
            Some(at) if at <= now => std::mem::take(&mut self.passing),
            _ => BTreeSet::new(),
        }
    }

    /// Everything, to be asked for again now or not at all.
    pub(super) fn take_all(&mut self) -> BTreeSet<Wanted> {
        let Self { mut passing, mut lasting, .. } = std::mem::take(self);
        passing.append(&mut lasting);
        passing
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.retries_at.filter(|_| !self.passing.is_empty())
    }

    /// Why the last one failed, while something is missing or is being tried again.
    pub(super) fn message(&self) -> Option<&str> {
        let is_missing = !self.passing.is_empty() || !self.lasting.is_empty();
        self.message.as_deref().filter(|_| is_missing || self.attempts > 0)
    }
}
