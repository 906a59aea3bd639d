//! Commands in a text.

use crate::document::Document;
use crate::markdown::Within;

/// Languages of code blocks with commands; many blocks have none.
const SHELLS: &[&str] = &["", "sh", "bash", "shell", "console", "zsh", "fish", "shell-session", "terminal"];

/// Words that turn a sentence into a warning against what it names.
const DENIALS: &[&str] = &[
    "not ",
    "n't",
    "never",
    "avoid",
    "instead of",
    "rather than",
    "no longer",
    "deprecated",
    "legacy",
    "cannot",
    "❌",
    "without ",
    "replace",
    "forbid",
    "disallow",
    "prohibit",
    "wrong",
    "bad:",
    "blocked",
    "migrat",
    "formerly",
];

/// Words that mark a sentence as about something that need not exist.
const EXAMPLES: &[&str] = &[
    "e.g.",
    "example",
    "such as",
    "for instance",
    "create",
    "new file",
    "generate",
    "will be",
    "would ",
    "if it exist",
    "if exist",
    "if present",
    "exists",
    "optional",
    "output",
    "writes",
    "written",
    "save",
    "temporary",
    "template",
    "placeholder",
    "renamed",
    "moved",
    "removed",
    "deleted",
    "hypothetical",
    "convention",
    "pattern",
    "format:",
    "named ",
    "naming",
    "add a ",
    "add an ",
    "adding",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// Line, from 1.
    pub(crate) line: usize,
    pub(crate) words: Vec<String>,
    /// True if it runs, or may run, in another directory than the text's.
    pub(crate) is_elsewhere: bool,
    /// True if the text advises against it.
    pub(crate) is_denied: bool,
}

impl Command {
    /// Returns a word by index, or an empty text.
    pub(crate) fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }
}

/// Returns the commands in code spans and shell blocks of a text.
pub(crate) fn commands(document: &Document) -> Vec<Command> {
    let markdown = &document.markdown;
    let mut commands = Vec::new();
    // A heading names its subject. It asks for nothing.
    for span in markdown.spans.iter().filter(|span| span.within != Within::Heading) {
        let sentence = markdown.sentence(span.line, &span.text);
        let is_elsewhere = changes_directory(&sentence);
        split(&span.text, span.line, is_elsewhere, denies(&sentence), &mut commands);
    }
    for block in &markdown.blocks {
        if !SHELLS.contains(&block.language.as_str()) {
            continue;
        }
        // The introduction of a block is directly above its fence, or one line further up.
        let before = [2, 3].map(|up| markdown.around(block.line.saturating_sub(up))).join(" ");
        // In a block, `cd` affects all later lines, as in a shell that runs them in turn, so this is never reset.
        let mut is_elsewhere = changes_directory(&before);
        let mut is_denied = denies(&before);
        for (index, line) in block.text.lines().enumerate() {
            let line_number = block.line + index;
            let line = line.trim().trim_start_matches(['$', '>', '%']).trim();
            if line.is_empty() {
                is_denied = denies(&before);
                continue;
            }
            // A comment such as `# wrong:` applies to the commands below it until a blank line.
            if line.starts_with('#') || line.starts_with("//") {
                is_denied = denies(&before) || denies(line);
                is_elsewhere |= changes_directory(line);
                continue;
            }
            is_elsewhere |= line.starts_with("cd ") || line.contains(" cd ");
            let (command, comment) = line.split_once(" #").unwrap_or((line, ""));
            split(command, line_number, is_elsewhere, is_denied || denies(comment), &mut commands);
        }
    }
    commands
}

fn split(text: &str, line: usize, is_elsewhere: bool, is_denied: bool, commands: &mut Vec<Command>) {
    let mut is_elsewhere = is_elsewhere;
    for part in text.split("&&").flat_map(|part| part.split([';', '|'])) {
        let words: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
        let is_assignment = |word: &&String| word.contains('=') && !word.starts_with('-');
        // Variables before a command, as in `CI=1 npm test`, are not its name.
        let words: Vec<String> = words.iter().skip_while(is_assignment).cloned().collect();
        if words.first().is_some_and(|word| word == "cd") {
            is_elsewhere = true;
        } else if !words.is_empty() {
            commands.push(Command { line, words, is_elsewhere, is_denied });
        }
    }
}

/// Returns true if a sentence advises against what it names.
pub(crate) fn denies(sentence: &str) -> bool {
    has_any(sentence, DENIALS)
}

/// Returns true if a sentence is about something that need not exist.
pub(crate) fn is_example(sentence: &str) -> bool {
    has_any(sentence, EXAMPLES)
}

fn changes_directory(sentence: &str) -> bool {
    let sentence = sentence.to_lowercase();
    // A span after these words is usually a directory, so the command in the sentence runs there. Missing a finding is
    // better than reporting a command that works.
    sentence.contains("cd ")
        || sentence.contains(" in `")
        || sentence.contains("from `")
        || sentence.contains("inside `")
        || sentence.contains("into `")
}

fn has_any(sentence: &str, words: &[&str]) -> bool {
    let sentence = sentence.to_lowercase();
    words.iter().any(|word| sentence.contains(word))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        let document = Document::new(Path::new("/r/AGENTS.md"), Path::new("/r"), text.into(), None);
        let shown = |command: &Command| {
            let marks = [(command.is_elsewhere, "~"), (command.is_denied, "!")];
            let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
            format!("{}{marks} {}", command.line, command.words.join(" "))
        };
        commands(&document).iter().map(shown).collect()
    }

    #[test]
    fn commands_are_in_spans_and_blocks_for_shells() {
        assert_eq!(found("Run `npm test`.\n\nNever run `npm install`."), ["1 npm test", "3! npm install"]);
        assert_eq!(
            found(
                "```sh\n# first\n$ make a && make b\n\nCI=1 npm run x # not here\n```\n\n```js\nnpm run y\n```\n"
            ),
            ["3 make a", "3 make b", "5! npm run x"]
        );
        assert_eq!(found("### `npm install` blocks\n\nText.\n"), Vec::<String>::new());
        assert_eq!(found("```\ncd web\nnpm run x\n```\n"), ["3~ npm run x"]);
        assert_eq!(found("`cd web && npm run x`"), ["1~ npm run x"]);
    }

    proptest::proptest! {
        /// Commands have valid lines, and sentences around pieces are found for any text.
        #[test]
        fn any_text_has_commands(text in "[a-z`@/. \n#é—$&|;:()!?\u{200b}\\[\\]-]{0,300}") {
            let lines = text.lines().count();
            let document = Document::new(Path::new("/r/AGENTS.md"), Path::new("/r"), text.into(), None);
            for command in commands(&document) {
                proptest::prop_assert!(command.line >= 1 && command.line <= lines);
            }
            for piece in document.markdown.spans.iter().chain(&document.markdown.links) {
                document.markdown.sentence(piece.line, &piece.text);
            }
        }
    }
}
