//! Durations such as `30 days`, `1 year` or `forever`.

use std::time::Duration;

const FOREVER: &str = "forever";

/// Units and their seconds, largest first.
const UNITS: [(&str, u64); 3] = [("year", 365 * 24 * 3600), ("day", 24 * 3600), ("hour", 3600)];

/// Parses a duration. `None` if it is invalid; `Some(None)` means forever.
pub(crate) fn parse(text: &str) -> Option<Option<Duration>> {
    if text == FOREVER {
        return Some(None);
    }
    let (number, unit) = text.split_once(' ')?;
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    let (_, seconds) = UNITS.iter().find(|(name, _)| unit.strip_suffix('s').unwrap_or(unit) == *name)?;
    number.checked_mul(*seconds).map(|seconds| Some(Duration::from_secs(seconds)))
}

/// Formats a duration in its largest whole unit.
pub(super) fn show(time: Option<Duration>) -> String {
    let Some(seconds) = time.map(|time| time.as_secs()) else { return FOREVER.to_owned() };
    let divides = |(_, unit): &&(&str, u64)| seconds % unit == 0;
    let (name, unit) = UNITS.iter().find(divides).unwrap_or(&("second", 1));
    let number = seconds / unit;
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {name}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        for text in ["30 days", "1 year", "12 hours", "forever"] {
            assert_eq!(show(parse(text).unwrap()), text);
        }
        assert_eq!(parse("365 days"), parse("1 year"));
        let wrong = ["", "30", "days", "0 days", "-1 days", "1.5 days", "1 dayss", "1  day", "1 month"];
        for text in wrong.into_iter().chain(["18446744073709551615 years"]) {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
