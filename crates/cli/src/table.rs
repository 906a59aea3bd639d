//! Tables and numbers for people.

use comfy_table::{ContentArrangement, Table, presets};

/// A table without lines, its columns wide enough for their longest cell.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings.iter().map(|heading| heading.to_uppercase()));
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{}\n", lines.join("\n"))
}

/// A number of things: `1 byte`, `2 bytes`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_without_trailing_space() {
        let text = table(&["name", "id"], [vec!["a".into(), "1".into()], vec!["long".into(), "2".into()]]);
        assert_eq!(text, "NAME  ID\na     1\nlong  2\n");
    }
}
