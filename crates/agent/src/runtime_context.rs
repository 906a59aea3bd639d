//! What a prompt says about here and now.

use crate::settings::Clock;

/// The date, the time if that is wanted, and the operating system.
pub(crate) fn runtime_context(clock: Clock) -> String {
    at(jiff::Timestamp::now(), clock)
}

fn at(moment: jiff::Timestamp, clock: Clock) -> String {
    let text = moment.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    let minutes = time.get(..5).unwrap_or_default();
    let when = match clock {
        Clock::Date => format!("Date: {date} (UTC)"),
        Clock::DateAndTime => format!("Date and time: {date} {minutes} (UTC)"),
    };
    format!("{when}\nOperating system: {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_there_only_when_it_is_wanted() {
        let moment = jiff::Timestamp::from_second(1_794_744_000).unwrap_or_default();
        let system = std::env::consts::OS;
        assert_eq!(at(moment, Clock::Date), format!("Date: 2026-11-15 (UTC)\nOperating system: {system}"));
        assert!(at(moment, Clock::DateAndTime).starts_with("Date and time: 2026-11-15 12:00 (UTC)\n"));
    }
}
