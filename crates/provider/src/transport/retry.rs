//! Retries and their delays.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// Number of retries and their delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most requests; one means no retry.
    pub attempts: u32,
    /// Delay after the first request; it doubles after each.
    pub base: Duration,
    /// Longest delay that we choose.
    pub longest: Duration,
    /// Longest delay that a provider may request. If it requests more, the caller gets the error immediately.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            base: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            longest_asked: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns the delay after `attempts` requests. `None` to give up.
    pub(crate) fn delay(&self, attempts: u32, asked: Option<Duration>) -> Option<Duration> {
        if attempts >= self.attempts {
            return None;
        }
        match asked {
            // A little later than requested, because other clients were given the same moment.
            Some(asked) if asked <= self.longest_asked => Some(asked + self.base.mul_f64(0.5 * random())),
            Some(_) => None,
            None => {
                let doubled = self.base.saturating_mul(1 << (attempts.saturating_sub(1)).min(16));
                // Half of the delay is random, so that clients that failed together spread out.
                Some(doubled.min(self.longest).mul_f64(0.5 + 0.5 * random()))
            }
        }
    }
}

/// Parses the delay that an answer's headers request.
pub(crate) fn asked_delay(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    // OpenAI sends milliseconds in a header of its own, which is more precise than the standard one.
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return seconds(milliseconds / 1000.0);
    }
    let text = text("retry-after")?;
    if let Ok(number) = text.parse::<f64>() {
        return seconds(number);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// Returns a number from zero to one. It is not security relevant; without randomness the delays are only less spread.
fn random() -> f64 {
    f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let policy = RetryPolicy { attempts: 9, longest: Duration::from_secs(4), ..RetryPolicy::default() };
        for (attempts, limit) in [(1, 500), (2, 1000), (3, 2000), (4, 4000), (8, 4000)] {
            let delay = policy.delay(attempts, None).unwrap().as_millis();
            assert!((limit / 2..=limit).contains(&delay), "{attempts}: {delay}");
        }
        assert_eq!(policy.delay(9, None), None);
    }

    #[test]
    fn requested_delay_counts_unless_too_long() {
        let policy = RetryPolicy::default();
        let asked = Duration::from_secs(20);
        assert!(policy.delay(1, Some(asked)).unwrap() >= asked);
        assert_eq!(policy.delay(1, Some(Duration::from_secs(61))), None);
    }

    #[test]
    fn delays_are_parsed_from_headers() {
        let of = |name: &'static str, value: &str| {
            asked_delay(&HeaderMap::from_iter([(
                reqwest::header::HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )]))
        };
        assert_eq!(of("retry-after", "3"), Some(Duration::from_secs(3)));
        assert_eq!(of("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(of("retry-after-ms", "20"), Some(Duration::from_millis(20)));
        assert_eq!(of("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(of("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT").unwrap() > Duration::from_secs(1 << 20));
        for nonsense in ["-1", "soon", "NaN", "1e300"] {
            assert_eq!(of("retry-after", nonsense), None, "{nonsense}");
        }
    }
}
