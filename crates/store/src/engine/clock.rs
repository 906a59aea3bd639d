//! The database's clock, which all gateways of one database share regardless of their machines' clocks.

use std::time::Duration;

use parking_lot::Mutex;
use protocol::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// A time of the database, and when it was read.
// The time since then is measured with a monotonic clock that includes suspension: it cannot be set, and a laptop that
// wakes up must not believe that its leases are still valid.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    asked: Mutex<(Timestamp, Duration)>,
}

/// Returns the time since the machine started, including suspension.
pub(crate) fn up_time() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

impl DatabaseClock {
    pub(crate) fn new(time: Timestamp, at: Duration) -> Self {
        Self { asked: Mutex::new((time, at)) }
    }

    pub(crate) fn set(&self, time: Timestamp, at: Duration) {
        *self.asked.lock() = (time, at);
    }

    pub(crate) fn now(&self) -> Timestamp {
        let (time, at) = *self.asked.lock();
        let since = i64::try_from(up_time().saturating_sub(at).as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_milliseconds(time.milliseconds().saturating_add(since))
    }
}
