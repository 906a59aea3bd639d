//! Output on terminals of three widths and in a pipe.

use crate::support::{Machine, finish};

/// Returns a command's output on a terminal of this width. `None` without `script`, which provides the terminal.
fn on_terminal(machine: &Machine, columns: usize, words: &str) -> Option<String> {
    let script = format!(
        "command -v script >/dev/null || exit 99; \
         script -qec 'stty rows 24 columns {columns}; \"$foreword\" --color never {words}' /dev/null"
    );
    let said = finish(machine.shell(&script), b"");
    (said.code != Some(99)).then(|| said.out.replace('\r', ""))
}

fn words_of(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn an_explanation_fits_the_terminal_and_loses_no_word() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", " \n");
    machine.write("project/CLAUDE.md", "other\n");
    let piped = machine.run("explain").done();
    assert!(piped.lines().any(|line| line.len() > 80), "a pipe has lines as long as they are: {piped}");
    // A path is never broken, so that it can be copied.
    let longest = words_of(&piped).iter().map(|word| word.len()).max().unwrap() + 10;
    for columns in [80, 60, 40] {
        let Some(shown) = on_terminal(&machine, columns, "explain") else { return };
        for line in shown.lines() {
            assert!(line.chars().count() <= columns.max(longest), "{columns}: {line:?} in\n{shown}");
        }
        assert!(shown.lines().count() > piped.lines().count(), "{columns}: {shown}");
        assert_eq!(words_of(&shown), words_of(&piped), "{columns}");
    }
}

#[test]
fn times_are_relative_only_on_a_terminal() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "text").done();
    machine.write("data/drafts/draft.md", "left behind");
    for words in ["doc history", "token list", "doc drafts"] {
        assert!(machine.tidy(&machine.run(words).done()).contains("TIME"), "{words}");
        let Some(shown) = on_terminal(&machine, 120, words) else { return };
        assert!(!machine.tidy(&shown).contains("TIME"), "{shown}");
        assert!(shown.contains(" ago") || shown.contains(" now"), "{shown}");
        for columns in [80, 60, 40] {
            let shown = on_terminal(&machine, columns, words).unwrap();
            // A path is never broken, so that it can be copied.
            let longest = words_of(&shown).iter().map(|word| word.len()).max().unwrap() + 10;
            let widest = columns.max(longest.min(80));
            assert!(shown.lines().all(|line| line.chars().count() <= widest), "{columns}: {shown}");
        }
    }
}

#[test]
fn charts_notes_warnings_and_errors_fit_the_terminal() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "one line\nand another\n");
    for words in
        ["prompt sections", "prompt manifest", "show --max-bytes 10", "doc get", "show nowhere", "init"]
    {
        for columns in [80, 60, 40] {
            let Some(shown) = on_terminal(&machine, columns, words) else { return };
            // Text meant for copying is never wrapped: paths, hashes, prompts and truncation markers.
            let copied = |line: &&str| {
                line.starts_with("[foreword: ") || words_of(line).iter().any(|word| word.len() > 30)
            };
            let too_wide =
                shown.lines().filter(|line| !copied(line)).find(|line| line.chars().count() > columns);
            assert_eq!(too_wide, None, "{words} at {columns}:\n{shown}");
        }
    }
    let Some(narrow) = on_terminal(&machine, 40, "prompt sections") else { return };
    let wide = on_terminal(&machine, 100, "prompt sections").unwrap();
    assert!(wide.contains('█') && !narrow.contains('█'), "{wide}\n{narrow}");
    let below = narrow.lines().skip_while(|line| *line != "stable   safety").nth(1).unwrap_or_default();
    assert!(below.starts_with("         ") && below.ends_with(" characters"), "{narrow}");
}

#[test]
fn help_fits_the_terminal() {
    let machine = Machine::new();
    for (columns, words) in [(80, "--help"), (60, "--help"), (40, "--help"), (60, "doc save --help")] {
        let Some(shown) = on_terminal(&machine, columns, words) else { return };
        // An example is copied, so it stays on one line.
        let (text, _) = shown.split_once("Example:").unwrap_or((&shown, ""));
        for line in text.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line:?} in\n{shown}");
        }
    }
}
