//! Lines of instruction files, compared without the marks around them.

/// Returns a line without the marks of a list, a quote or a heading, with single spaces.
pub(crate) fn plain_line(line: &str) -> String {
    let mut rest = line.trim();
    loop {
        let before = rest;
        for mark in ["- ", "* ", "+ ", "> ", "[ ] ", "[x] "] {
            rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
        }
        let heading = rest.trim_start_matches('#');
        if heading.len() < rest.len() && heading.starts_with(' ') {
            rest = heading.trim_start();
        }
        rest = without_number(rest);
        if rest == before {
            break;
        }
    }
    rest.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes the number of a list item, such as `3. ` or `3) `.
fn without_number(text: &str) -> &str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    let item = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "));
    item.filter(|_| (1..=3).contains(&digits)).map_or(text, str::trim_start)
}

/// Removes the number that a tool prints before a line of a file.
pub(crate) fn without_line_number(line: &str) -> &str {
    let start = line.trim_start();
    let digits = start.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return line;
    }
    let rest = &start[digits..];
    ["\t", ": ", "→", " | "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(line)
}

/// Replaces the escapes that an agent puts into texts for HTML.
pub(crate) fn unescaped(text: &str) -> String {
    let pairs =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// Returns true if a text has a line with this plain form.
pub(crate) fn has_line(text: &str, plain: &str) -> bool {
    let matches = |text: &str| {
        text.lines().any(|line| plain_line(line) == plain || plain_line(without_line_number(line)) == plain)
    };
    // Most texts lack the first word, which is cheaper to search than lines are to compare.
    let word = plain.split(' ').next().unwrap_or_default();
    (text.contains(word) && matches(text)) || (text.contains('&') && matches(&unescaped(text)))
}

/// Returns the lines of a text that are not blank, trimmed and without numbers of a tool.
pub(crate) fn essence(text: &str) -> Vec<&str> {
    text.lines().map(|line| without_line_number(line).trim()).filter(|line| !line.is_empty()).collect()
}

/// Returns the share of common lines of two texts, between 0 and 1.
pub(crate) fn similarity(one: &str, other: &str) -> f64 {
    let (one, other) = (essence(one), essence(other));
    let longest = one.len().max(other.len());
    if longest == 0 {
        return 0.0;
    }
    let common = one.iter().filter(|line| other.contains(line)).count();
    common as f64 / longest as f64
}

/// Returns the share of the wanted words that a line has, between 0 and 1.
pub(crate) fn word_share(wanted: &str, line: &str) -> f64 {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (wanted, line) = (words(wanted), words(line));
    if wanted.is_empty() {
        return 0.0;
    }
    wanted.iter().filter(|word| line.contains(word)).count() as f64 / wanted.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_around_a_line_do_not_count() {
        for line in ["- Use pnpm.", "  * Use  pnpm.", "3. Use pnpm.", "> - [ ] Use pnpm.", "## Use pnpm."] {
            assert_eq!(plain_line(line), "Use pnpm.", "{line}");
        }
        assert_eq!(plain_line("2026 was good"), "2026 was good");
        assert_eq!(plain_line("#hash"), "#hash");
    }

    #[test]
    fn lines_are_found_behind_numbers_and_escapes() {
        assert!(has_line("# A\n\n- Use a < b.", "Use a < b."));
        assert!(has_line("     3\t- Use pnpm.", "Use pnpm."));
        assert!(has_line("3: - Use pnpm.", "Use pnpm."));
        assert!(has_line("- Use a &lt; b.", "Use a < b."));
        assert!(!has_line("- Use pnpm, never npm.", "Use pnpm."));
    }

    #[test]
    fn similarity_counts_common_lines() {
        assert!((similarity("a\nb\nc", "a\nb\nd") - 2.0 / 3.0).abs() < 1e-9);
        assert!(similarity("", "").abs() < 1e-9);
        assert!((word_share("use pnpm", "Use pnpm 9, never npm.") - 1.0).abs() < 1e-9);
    }
}
