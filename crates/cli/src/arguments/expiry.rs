//! Times and durations on the command line.

use std::str::FromStr;
use std::time::Duration;

use protocol::Timestamp;

use crate::config::period;

/// A time, or a duration from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    At(Timestamp),
    After(Duration),
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // `period::parse` also accepts `forever` as `Some(None)`. Here it is invalid, because omitting the flag
        // already means that.
        if let Some(Some(time)) = period::parse(text) {
            return Ok(Expiry::After(time));
        }
        let time = text.parse().map(Expiry::At);
        time.map_err(|_| {
            "expected a duration such as `30 days`, or a time such as `2027-01-31T00:00:00Z`".to_owned()
        })
    }
}

impl Expiry {
    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Expiry::At(time) => time,
            Expiry::After(time) => {
                // An absurdly long duration means "never" in practice, so it saturates instead of failing.
                let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
                Timestamp::from_milliseconds(now.milliseconds().saturating_add(milliseconds))
            }
        }
    }
}

/// A time, or a duration before now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    At(Timestamp),
    Ago(Duration),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(Some(time)) = period::parse(text) {
            return Ok(Since::Ago(time));
        }
        let time = text.parse().map(Since::At);
        time.map_err(|_| {
            "expected an age such as `7 days`, or a time such as `2027-01-31T00:00:00Z`".to_owned()
        })
    }
}

impl Since {
    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Since::At(time) => time,
            Since::Ago(time) => {
                let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
                Timestamp::from_milliseconds(now.milliseconds().saturating_sub(milliseconds))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_since_value_is_a_time_or_an_age() {
        let now = "2027-01-31T00:00:00Z".parse().unwrap();
        let since = |text: &str| text.parse::<Since>().map(|since| since.from(now).to_string());
        assert_eq!(since("30 days").unwrap(), "2027-01-01T00:00:00.000Z");
        assert_eq!(since("2026-12-24T00:00:00Z").unwrap(), "2026-12-24T00:00:00.000Z");
        assert!(since("yesterday").unwrap_err().starts_with("expected an age"));
    }

    #[test]
    fn an_expiry_is_a_time_or_a_duration() {
        let now = Timestamp::from_milliseconds(0);
        let ends = |text: &str| text.parse::<Expiry>().map(|expiry| expiry.from(now).to_string());
        assert_eq!(ends("2 hours").unwrap(), "1970-01-01T02:00:00.000Z");
        assert_eq!(ends("2027-01-31T00:00:00Z").unwrap(), "2027-01-31T00:00:00.000Z");
        for wrong in ["", "soon", "forever", "30"] {
            assert!(ends(wrong).is_err(), "{wrong}");
        }
    }
}
