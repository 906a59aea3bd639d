//! Limit on failed sign-ins.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

use crate::access::counts::network;

/// Failures of one network within a minute. The next ones are answered with 429.
const PER_MINUTE: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Number of networks from which on those without recent failures are removed.
const SWEPT_FROM: usize = 1024;

/// Failed sign-ins by network.
// Only failures are limited. A correct code is accepted however many wrong ones came from the same network: behind a
// proxy all people share one address, and a stranger must not be able to lock them out.
pub(crate) struct FailedSignIns(DefaultKeyedRateLimiter<String>);

impl Default for FailedSignIns {
    fn default() -> Self {
        Self(DefaultKeyedRateLimiter::keyed(Quota::per_minute(PER_MINUTE)))
    }
}

impl FailedSignIns {
    /// Counts a failure. The error is the time after which another attempt may fail.
    pub(crate) fn count(&self, source: IpAddr) -> Result<(), Duration> {
        if self.0.len() >= SWEPT_FROM {
            self.0.retain_recent();
        }
        self.0
            .check_key(&network(source))
            .map_err(|refused| refused.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_one_network_are_limited() {
        let failures = FailedSignIns::default();
        let here: IpAddr = "192.0.2.1".parse().unwrap();
        for _ in 0..PER_MINUTE.get() {
            assert!(failures.count(here).is_ok());
        }
        assert!(failures.count(here).unwrap_err() <= Duration::from_secs(60));
        assert!(failures.count("192.0.2.2".parse().unwrap()).is_ok());
    }
}
