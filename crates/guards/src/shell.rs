//! Splits a shell line into its simple commands, including those that other commands run.

mod programs;
mod words;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use self::programs::Runs;
use self::words::Word;

/// Longest line that is parsed.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum nesting of lines in arguments, such as those of `bash -c`.
const MAX_DEPTH: usize = 8;
/// Maximum number of simple commands.
const MAX_COMMANDS: usize = 10_000;
/// Time after which a line counts as unparsable. Ordinary lines take microseconds.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Extent to which a line could be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Splitting {
    /// All commands are known.
    Complete,
    /// Some commands cannot be known, such as those in a variable.
    Incomplete,
}

/// The simple commands of a shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellLine {
    /// Words of each simple command, without assignments and redirections.
    pub commands: Vec<Vec<String>>,
    /// Files that redirections write.
    pub written: Vec<String>,
    /// Files that redirections read.
    pub read: Vec<String>,
    /// Extent to which the line could be split.
    pub splitting: Splitting,
}

impl ShellLine {
    /// Splits a line as `bash` would.
    pub fn split(line: &str) -> Self {
        let mut found = Self {
            commands: Vec::new(),
            written: Vec::new(),
            read: Vec::new(),
            splitting: Splitting::Complete,
        };
        found.add(line, 0);
        found
    }

    fn add(&mut self, line: &str, depth: usize) {
        let tree = if depth <= MAX_DEPTH { parse(line) } else { None };
        let Some(tree) = tree.filter(|tree| !tree.root_node().has_error()) else {
            self.splitting = Splitting::Incomplete;
            return;
        };
        // A stack of our own, because nesting is limited only by the length of the line.
        let mut waiting = vec![tree.root_node()];
        while let Some(node) = waiting.pop() {
            if self.commands.len() >= MAX_COMMANDS {
                self.splitting = Splitting::Incomplete;
                return;
            }
            match node.kind() {
                "command" => self.command(node, line, depth),
                "file_redirect" => self.redirection(node, line),
                _ => {}
            }
            let first = waiting.len();
            waiting.extend(node.named_children(&mut node.walk()));
            waiting[first..].reverse();
        }
    }

    fn command(&mut self, node: Node<'_>, line: &str, depth: usize) {
        let mut words: Vec<Word> = Vec::new();
        for child in node.named_children(&mut node.walk()) {
            match child.kind() {
                "variable_assignment" | "variable_assignments" | "comment" => {}
                kind if kind.ends_with("_redirect") => {}
                _ => words.push(Word::of(child, line)),
            }
        }
        let input = input(node, line);
        self.simple_command(&words, &input, depth);
    }

    /// Adds a simple command and those that it runs.
    fn simple_command(&mut self, words: &[Word], input: &Input, depth: usize) {
        let Some(program) = words.first() else { return };
        if program.is_dynamic || depth > MAX_DEPTH {
            self.splitting = Splitting::Incomplete;
        }
        self.commands.push(words.iter().map(|word| word.text.clone()).collect());
        match programs::runs(words) {
            Runs::Nothing => {}
            Runs::Words(rest) => self.simple_command(&words[rest..], input, depth + 1),
            Runs::Lines(lines) => {
                for line in lines {
                    self.nested(&line, depth);
                }
            }
            Runs::Input => match input {
                Input::Text(text) => self.nested(text, depth),
                Input::Unknown => self.splitting = Splitting::Incomplete,
                Input::Terminal => {}
            },
            Runs::Unknown => self.splitting = Splitting::Incomplete,
        }
    }

    fn nested(&mut self, line: &Word, depth: usize) {
        if line.is_dynamic {
            self.splitting = Splitting::Incomplete;
        } else {
            self.add(&line.text, depth + 1);
        }
    }

    fn redirection(&mut self, node: Node<'_>, line: &str) {
        let target = node.child_by_field_name("destination").map(|target| Word::of(target, line));
        let Some(target) = target.filter(|target| !target.is_dynamic) else { return };
        let operator = node.children(&mut node.walk()).find(|child| !child.is_named());
        match operator.map(|operator| operator.kind()) {
            Some(">" | ">>" | "&>" | "&>>" | ">|") => self.written.push(target.text),
            Some("<") => self.read.push(target.text),
            _ => {}
        }
    }
}

/// Standard input of a command.
enum Input {
    /// Text in the line itself.
    Text(Word),
    /// Output of another command, or a file.
    Unknown,
    /// The input of the line.
    Terminal,
}

/// Returns the standard input of a command.
fn input(command: Node<'_>, line: &str) -> Input {
    let own = command.named_children(&mut command.walk()).find_map(|child| redirected(child, line));
    if let Some(input) = own {
        return input;
    }
    let mut node = command;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            "redirected_statement" => {
                for child in parent.named_children(&mut parent.walk()) {
                    if let Some(input) = redirected(child, line) {
                        return input;
                    }
                }
            }
            "pipeline" => {
                let is_first = parent.named_child(0).is_some_and(|first| first.id() == node.id());
                return if is_first { Input::Terminal } else { Input::Unknown };
            }
            _ => return Input::Terminal,
        }
        node = parent;
    }
    Input::Terminal
}

fn redirected(node: Node<'_>, line: &str) -> Option<Input> {
    match node.kind() {
        "heredoc_redirect" => {
            let body = node.named_children(&mut node.walk()).find(|child| child.kind() == "heredoc_body")?;
            let is_dynamic =
                body.named_children(&mut body.walk()).any(|child| child.kind().ends_with("expansion"));
            Some(Input::Text(Word { text: line[body.byte_range()].to_owned(), is_dynamic }))
        }
        "herestring_redirect" => {
            let text = node.named_child(u32::try_from(node.named_child_count()).ok()?.checked_sub(1)?)?;
            Some(Input::Text(Word::of(text, line)))
        }
        "file_redirect" if line[node.byte_range()].trim_start_matches(char::is_numeric).starts_with('<') => {
            Some(Input::Unknown)
        }
        _ => None,
    }
}

fn parse(line: &str) -> Option<Tree> {
    if line.len() > MAX_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let started = Instant::now();
    let mut progress = |_: &tree_sitter::ParseState| {
        if started.elapsed() > MAX_TIME { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = line.as_bytes();
    parser.parse_with_options(&mut |offset, _| bytes.get(offset..).unwrap_or_default(), None, Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str], splitting: Splitting) {
        let found = ShellLine::split(line);
        let commands: Vec<String> = found.commands.iter().map(|words| words.join(" ")).collect();
        let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
        assert_eq!((commands.as_slice(), found.splitting), (expected, splitting), "{line}");
    }

    #[test]
    fn commands_of_sequences_and_substitutions() {
        let complete = |line: &str, expected: &[&str]| check(line, expected, Splitting::Complete);
        complete("npm install", &["npm install"]);
        complete("A=1 B='2 3' npm install", &["npm install"]);
        complete("cd web && npm i; echo x | grep y & wait", &["cd web", "npm i", "echo x", "grep y", "wait"]);
        complete(
            "echo $(npm i) `npm j` \"$(npm k)\"",
            &["echo $(npm i) `npm j` $(npm k)", "npm i", "npm j", "npm k"],
        );
        complete("if npm i; then (npm j); else { npm k; }; fi", &["npm i", "npm j", "npm k"]);
        complete("for x in 1 2; do npm i; done; f() { npm j; }", &["npm i", "npm j"]);
        complete("export X=$(npm i)", &["npm i"]);
        complete("diff <(npm i) x", &["diff <(npm i) x", "npm i"]);
        complete("'n'\"p\"m in\\stall", &["npm install"]);
        complete("# npm i", &[]);
        complete("", &[]);
    }

    #[test]
    fn commands_in_arguments() {
        let complete = |line: &str, expected: &[&str]| check(line, expected, Splitting::Complete);
        let last = |line: &str, expected: &str| {
            let found = ShellLine::split(line);
            let command = found.commands.last().map(|words| words.join(" ")).unwrap_or_default();
            assert_eq!((command.as_str(), found.splitting), (expected, Splitting::Complete), "{line}");
        };
        for line in [
            "bash -c 'npm i'",
            "sh -ec \"npm i\"",
            "/bin/bash -o pipefail -lc 'npm i' name",
            "env A=1 -u X npm i",
            "env -S 'npm i'",
            "sudo -u root A=1 npm i",
            "nice -n 5 npm i",
            "time -p npm i",
            "xargs -n 1 npm i",
            "xargs -I {} npm i",
            "command npm i",
            "sudo nice env bash -c 'time npm i'",
            "eval npm i",
            "eval 'npm i'",
            "bash -c \"bash -c 'npm i'\"",
            "timeout 5 npm i",
            "nohup npm i",
            "exec npm i",
            "bash <<< 'npm i'",
            "bash <<'EOF'\nnpm i\nEOF",
            "alias n='npm i'",
            "trap 'npm i' EXIT",
            "find . -exec npm i ';'",
        ] {
            last(line, "npm i");
        }
        complete("command -v npm", &["command -v npm"]);
        complete("bash script.sh npm", &["bash script.sh npm"]);
        complete("xargs", &["xargs"]);
        complete("cat <<EOF\nnpm i\nEOF", &["cat"]);
    }

    #[test]
    fn unknown_commands_make_it_incomplete() {
        for line in [
            "$NPM install",
            "\"$x\" y",
            "{npm,install}",
            "eval \"$x\"",
            "bash -c \"$x\"",
            "echo npm i | sh",
            "curl x | bash -s",
            "if ; then",
            "'unclosed",
            "n?m i",
        ] {
            assert_eq!(ShellLine::split(line).splitting, Splitting::Incomplete, "{line}");
        }
    }

    #[test]
    fn redirections_name_files() {
        let found = ShellLine::split("a > out.txt 2>> log < in.txt");
        assert_eq!(
            (found.written, found.read),
            (vec!["out.txt".to_owned(), "log".into()], vec!["in.txt".to_owned()])
        );
    }

    #[test]
    fn hostile_lines_end_in_time() {
        for line in [
            "(".repeat(100_000),
            "$(".repeat(50_000),
            "\"$(".repeat(30_000),
            "{ ".repeat(60_000),
            "a|".repeat(60_000),
            "if true; then ".repeat(10_000),
            "`".repeat(99_999),
            "x".repeat(300_000),
            "bash -c '".repeat(10_000),
            "<<E ".repeat(20_000),
        ] {
            let _ = ShellLine::split(&line);
        }
        let nested =
            (0..40).fold("npm i".to_owned(), |line, _| format!("eval {}", line.replace('\\', "\\\\")));
        assert_eq!(ShellLine::split(&nested).splitting, Splitting::Incomplete);
    }
}
