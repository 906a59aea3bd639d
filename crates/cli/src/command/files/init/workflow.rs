//! Commands of a CI workflow: the lines of its `run` keys.
//!
//! Finding them does not need a full YAML parser.

/// Returns self-contained commands: lines that continue, set variables, or use values of the CI host are skipped.
pub(super) fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // Indentation of the key whose block is being read.
    let mut block: Option<usize> = None;
    let mut continues = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if trimmed.is_empty() {
            continue;
        }
        if let Some(outer) = block {
            // The lines of a block are indented deeper than its key. The first other line ends the block.
            if indent > outer {
                let was_continued = std::mem::replace(&mut continues, trimmed.trim_end().ends_with('\\'));
                if !was_continued && !continues {
                    push(&mut found, trimmed);
                }
                continue;
            }
            block = None;
            continues = false;
        }
        let (key, offset) = match trimmed.strip_prefix("- ") {
            Some(rest) => (rest.trim_start(), trimmed.len() - rest.trim_start().len()),
            None => (trimmed, 0),
        };
        let Some(value) = key.strip_prefix("run:").map(str::trim) else { continue };
        match value.chars().next() {
            Some('|' | '>') => block = Some(indent + offset),
            _ => push(&mut found, unquoted(value)),
        }
    }
    found
}

fn push(found: &mut Vec<String>, line: &str) {
    let command = line.trim();
    // Commands with shell syntax or values of the CI host depend on their surroundings and would not work when
    // copied.
    let stands_alone = !command.is_empty()
        && !command.starts_with('#')
        && !command.contains("${{")
        && !command.contains(['$', '|', '>', '<', ';', '&'])
        && !["if ", "for ", "while ", "fi", "done", "else", "then", "do", "echo ", "cd ", "export ", "set "]
            .iter()
            .any(|word| command == word.trim() || command.starts_with(word));
    if stands_alone && !found.iter().any(|known| known == command) {
        found.push(command.to_owned());
    }
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_run_lines_and_blocks_are_found() {
        let text = "\
name: CI
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
        with: { run: no }
      - run: cargo test --locked
      - name: Lint
        run: |
          cargo fmt --check
          # a comment
          cargo clippy \\
            --all-targets

          cargo doc ${{ matrix.flags }}
          echo test | tee log
      - run: \"npm test\"
      - name: run: this is a name
        run: cargo test --locked
";
        assert_eq!(commands(text), ["cargo test --locked", "cargo fmt --check", "npm test"]);
    }
}
