//! Comparison of shown and actual output.

use super::page::Precision;

/// Stands for anything in a line; alone in a line, for any lines.
const ANYTHING: &str = "…";

/// Sections whose text is the same wherever a page is followed, so that their sizes are, too.
const OURS: &[&str] = &["identity", "safety", "agents_guidance"];

/// Compares expected with actual output. An error names the first missing line of the page.
pub(super) fn compare(shown: &str, said: &str, precision: Precision) -> Result<(), String> {
    let shown: Vec<String> = lines(shown, precision);
    let said: Vec<String> = lines(said, precision);
    // Remember the longest match, for the message.
    let mut furthest = 0;
    if fits(&shown, &said, 0, &mut furthest) {
        return Ok(());
    }
    let line = shown.get(furthest).map_or("its end", String::as_str);
    Err(format!("the page shows what was not said, from here on: {line}"))
}

fn lines(text: &str, precision: Precision) -> Vec<String> {
    let lines = text.trim_end().lines().map(str::trim_end);
    match precision {
        Precision::Exact => lines.map(str::to_owned).collect(),
        Precision::Like => lines.map(without_figures).collect(),
    }
}

/// A line in which figures, bars and columns have no length; the figures of a section of ours stay.
pub(crate) fn without_figures(line: &str) -> String {
    let section = line.split_whitespace().nth(1).filter(|_| line.ends_with(" characters"));
    let is_ours = section.is_some_and(|section| OURS.contains(&section));
    let mut short = String::new();
    for letter in line.chars() {
        let is_figure = letter.is_ascii_digit() && !is_ours;
        let letter = if is_figure { '0' } else { letter };
        let repeats = (is_figure || matches!(letter, ' ' | '█')) && short.ends_with(letter);
        if !repeats {
            short.push(letter);
        }
    }
    // A figure that fills its column has one space less before it.
    short.replace("0.0", "0").replace("█ ", " ").replace(" █", "")
}

fn fits(shown: &[String], said: &[String], at: usize, furthest: &mut usize) -> bool {
    *furthest = (*furthest).max(at);
    let Some((first, rest)) = shown.split_first() else { return said.is_empty() };
    if first.trim() == ANYTHING {
        // Trying every length is exponential for many ellipses, but a block has only a few of them.
        return (0..=said.len()).any(|from| fits(rest, &said[from..], at + 1, furthest));
    }
    match said.split_first() {
        Some((line, below)) => line_fits(first, line) && fits(rest, below, at + 1, furthest),
        None => false,
    }
}

fn line_fits(shown: &str, said: &str) -> bool {
    let Some((begin, rest)) = shown.split_once(ANYTHING) else { return shown == said };
    let Some(said) = said.strip_prefix(begin) else { return false };
    // Only character boundaries are tried, because slicing inside a character would panic.
    (0..=said.len()).filter(|at| said.is_char_boundary(*at)).any(|at| line_fits(rest, &said[at..]))
}

#[test]
fn dots_stand_for_what_varies() {
    let fits = |shown: &str, said: &str| compare(shown, said, Precision::Exact).is_ok();
    assert!(fits("a\nb\n", "a\nb"));
    assert!(fits("a …, c\n", "a b, c"));
    assert!(fits("…\nc\n", "a\nb\nc\n"));
    assert!(fits("a\n…\nc\n…\n", "a\nc\n"));
    // Output beyond the page's last line counts as a difference, or a page could hide a warning.
    assert!(!fits("a\n", "a\nb\n"));
    assert!(!fits("a …, c\n", "a b c"));
    assert!(!fits("…\nc\n", "a\nb\nc\nd\n"));
    assert_eq!(
        compare("a\nb\n", "a\nc\n", Precision::Exact),
        Err("the page shows what was not said, from here on: b".to_owned())
    );
}

#[test]
fn figures_may_differ_in_marked_blocks() {
    let fits = |shown: &str, said: &str| compare(shown, said, Precision::Like).is_ok();
    assert!(fits(
        "stable  environment  ███   76 tokens, 1.5 %",
        "stable  environment  █████████  176 tokens, 12 %"
    ));
    // Sizes of built-in sections are the same on every machine, so a changed text must show up in the page.
    let ours = |bar: &str, size: &str| format!("stable  identity  {bar}   {size} characters");
    assert!(fits(&ours("███", "84 tokens, 300"), &ours("█████", "84 tokens, 300")));
    assert!(!fits(&ours("███", "84 tokens, 300"), &ours("███", "84 tokens, 301")));
    assert!(!fits(&ours("███", "84 tokens, 300"), &ours("███", "84 tokens, 30")));
    assert!(!fits("stable  identity  76 tokens", "stable  safety  76 tokens"));
}
