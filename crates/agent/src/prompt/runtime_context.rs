//! The date and time in a prompt.

use crate::settings::Clock;

/// Returns the date, and the time if the settings include it.
pub(crate) fn runtime_context(clock: Clock) -> String {
    at(jiff::Timestamp::now(), clock)
}

fn at(moment: jiff::Timestamp, clock: Clock) -> String {
    let text = moment.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    let minutes = time.get(..5).unwrap_or_default();
    match clock {
        Clock::Date => format!("Date: {date} (UTC)"),
        Clock::DateAndTime => format!("Date and time: {date} {minutes} (UTC)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_included_only_if_configured() {
        let moment = jiff::Timestamp::from_second(1_794_744_000).unwrap_or_default();
        assert_eq!(at(moment, Clock::Date), "Date: 2026-11-15 (UTC)");
        assert_eq!(at(moment, Clock::DateAndTime), "Date and time: 2026-11-15 12:00 (UTC)");
    }
}
