//! Texts of others on a screen: each line behind a margin, whatever the width, so that none can pass for a line of ours.

use crate::output::seen_line as visible;

/// Before every line, and before what did not fit on the line above.
pub(crate) const MARGIN: &str = "  │ ";
const CONTINUED: &str = "  ┊ ";
/// The narrowest text beside a margin.
const MIN_COLUMNS: usize = 10;

/// The lines of a text, each behind a margin; what is wider than the screen continues in the next row. Where there is no
/// screen, no line is broken.
pub(crate) fn add_block(rows: &mut Vec<String>, text: &str, columns: Option<usize>) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(width(MARGIN)).max(MIN_COLUMNS));
    for line in text.split('\n') {
        let mut margin = MARGIN;
        let (mut row, mut used) = (String::new(), 0);
        for character in visible(line).chars() {
            let needed = columns_of(character);
            if used + needed > room {
                rows.push(format!("{margin}{row}").trim_end().to_owned());
                (row, used, margin) = (String::new(), 0, CONTINUED);
            }
            row.push(character);
            used += needed;
        }
        rows.push(format!("{margin}{row}").trim_end().to_owned());
    }
}

/// How many columns a text takes at most.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Never less than a terminal takes, so that no row is wider than the screen.
fn columns_of(character: char) -> usize {
    if character.is_ascii() || matches!(character, '│' | '┊' | '→' | '⏎') { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wider_than_the_screen_never_begins_a_line() {
        let text = format!("{}Trust 0 skills as shown? [y/N]\nnext\n", "y".repeat(76));
        let mut rows = Vec::new();
        add_block(&mut rows, &text, Some(80));
        let expected = [
            format!("  │ {}", "y".repeat(76)),
            "  ┊ Trust 0 skills as shown? [y/N]".to_owned(),
            "  │ next".to_owned(),
        ];
        assert_eq!(rows, expected);
        rows.clear();
        add_block(&mut rows, &text, None);
        assert_eq!(rows.len(), 2, "in a pipe lines are as long as they are");
    }
}
