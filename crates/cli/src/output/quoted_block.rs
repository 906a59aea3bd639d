//! Untrusted text on a screen: every row starts with a margin, so that no text can imitate a line of our output.

use crate::output::seen_line as visible;
use crate::output::terminal::{max_columns, max_width};

/// Margins of new lines and of continued lines.
pub(crate) const MARGIN: &str = "  │ ";
const CONTINUED: &str = "  ┊ ";
/// Minimum width of the text beside the margin.
const MIN_COLUMNS: usize = 10;

/// Appends the lines of a text behind margins. Lines wider than the screen continue in the next row; without a screen they
/// stay whole.
pub(crate) fn add_block(rows: &mut Vec<String>, text: &str, columns: Option<usize>) {
    // The final newline ends the last line and must not add an empty row.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let room =
        columns.map_or(usize::MAX, |columns| columns.saturating_sub(max_width(MARGIN)).max(MIN_COLUMNS));
    for line in text.split('\n') {
        let mut margin = MARGIN;
        let mut row = String::new();
        let mut used = 0;
        for character in visible(line).chars() {
            let needed = max_columns(character);
            // The width is rounded up, so that the terminal never breaks a row itself and starts its rest without a
            // margin.
            if used + needed > room {
                rows.push(format!("{margin}{row}").trim_end().to_owned());
                row.clear();
                used = 0;
                margin = CONTINUED;
            }
            row.push(character);
            used += needed;
        }
        rows.push(format!("{margin}{row}").trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_never_start_without_a_margin() {
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
        assert_eq!(rows.len(), 2, "lines are not wrapped in a pipe");
    }
}
