//! Numbers, lists and outcomes for display.

use instructions::Outcome;

/// Returns a number with commas between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns a number of bytes with its unit.
pub(crate) fn bytes(number: u64) -> String {
    if number == 1 { "1 byte".to_owned() } else { format!("{} bytes", grouped(number)) }
}

/// Joins words as in a sentence: `a, b and c`.
pub fn joined(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// Joins words with "and".
pub(crate) fn list(items: &[String]) -> String {
    joined(items, "and")
}

/// Joins words with "or", for negated clauses.
pub(crate) fn alternatives(items: &[String]) -> String {
    joined(items, "or")
}

/// Returns the verb form for a number of subjects.
pub(crate) fn verb(doers: usize, one: &'static str, many: &'static str) -> &'static str {
    if doers == 1 { one } else { many }
}

/// Escapes control characters, so that a name cannot imitate lines of output.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, letter| {
        // Besides line breaks this covers escape sequences, with which a name could change the terminal.
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
        line
    })
}

/// Returns an outcome in one or two words.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Used => "read",
        Outcome::Truncated => "cut",
        Outcome::OverBudget => "dropped",
        Outcome::Shadowed => "shadowed",
        Outcome::Blank => "blank",
        Outcome::Absent => "absent",
        Outcome::NotAFile => "not a file",
        Outcome::Unreadable => "unreadable",
        Outcome::TooDeep => "too deep",
        Outcome::OutsideRoot => "outside root",
        Outcome::NotApplicable => "not applicable",
        Outcome::Duplicate => "duplicate",
        Outcome::Disabled => "disabled",
        Outcome::Ignored => "ignored",
        Outcome::AboveRoot => "above root",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (13_220, "13,220")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn lists_end_with_and() {
        let list = |items: &[&str]| list(&items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>());
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b"]), "a and b");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
