//! What time the database has. Gateways of one database agree on it, whatever their machines' clocks say.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use protocol::Timestamp;

/// A time of the database, and how long ago it was asked for. The time since is measured by a clock that nobody sets.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    asked: Mutex<(Timestamp, Instant)>,
}

impl DatabaseClock {
    pub(crate) fn new(time: Timestamp, at: Instant) -> Self {
        Self { asked: Mutex::new((time, at)) }
    }

    pub(crate) fn set(&self, time: Timestamp, at: Instant) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = (time, at);
    }

    pub(crate) fn now(&self) -> Timestamp {
        let (time, at) = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let since = i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_milliseconds(time.milliseconds().saturating_add(since))
    }
}
