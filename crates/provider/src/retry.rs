//! When a provider is asked again, and how long is waited before.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// How often a provider is asked, and how long is waited in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How many times a request is sent at most; one means never again.
    pub attempts: u32,
    /// The wait after the first time; it doubles after each.
    pub base: Duration,
    /// The longest wait we choose ourselves.
    pub longest: Duration,
    /// The longest wait that a provider may ask for; if it wants more, the error is the caller's at once.
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
    /// How long to wait after that many attempts, or `None` to give up.
    pub(crate) fn delay(&self, attempts: u32, asked: Option<Duration>) -> Option<Duration> {
        if attempts >= self.attempts {
            return None;
        }
        match asked {
            // A little later than asked: others were told the same moment.
            Some(asked) if asked <= self.longest_asked => Some(asked + self.base.mul_f64(0.5 * random())),
            Some(_) => None,
            None => {
                let doubled = self.base.saturating_mul(1 << (attempts.saturating_sub(1)).min(16));
                // Half of it for certain, the other half by chance: clients that failed together part.
                Some(doubled.min(self.longest).mul_f64(0.5 + 0.5 * random()))
            }
        }
    }
}

/// What an answer's headers say about when to come back.
pub(crate) fn asked_delay(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
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

/// A number from zero to one. Nothing secret depends on it; without randomness waits are only less spread.
fn random() -> f64 {
    f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let policy = RetryPolicy { attempts: 9, longest: Duration::from_secs(4), ..RetryPolicy::default() };
        for (attempts, limit) in [(1, 500), (2, 1000), (3, 2000), (4, 4000), (8, 4000)] {
            let delay = policy.delay(attempts, None).unwrap().as_millis();
            assert!((limit / 2..=limit).contains(&delay), "{attempts}: {delay}");
        }
        assert_eq!(policy.delay(9, None), None);
    }

    #[test]
    fn what_the_provider_asks_for_counts_unless_it_is_too_much() {
        let policy = RetryPolicy::default();
        let asked = Duration::from_secs(20);
        assert!(policy.delay(1, Some(asked)).unwrap() >= asked);
        assert_eq!(policy.delay(1, Some(Duration::from_secs(61))), None);
    }

    #[test]
    fn delays_in_headers() {
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
