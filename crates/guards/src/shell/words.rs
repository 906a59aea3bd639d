//! Words of a command without their quotes.

use tree_sitter::Node;

/// A word as the program would receive it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Text without quotes. Expansions stay as they are written.
    pub(super) text: String,
    /// True if the text depends on an expansion.
    pub(super) is_dynamic: bool,
}

impl Word {
    /// Returns the word of a node.
    pub(super) fn of(node: Node<'_>, line: &str) -> Self {
        let mut word = Self { text: String::new(), is_dynamic: false };
        word.add(node, line);
        word
    }

    fn add(&mut self, node: Node<'_>, line: &str) {
        let written = &line[node.byte_range()];
        match node.kind() {
            "command_name" | "concatenation" => {
                for child in node.children(&mut node.walk()) {
                    self.add(child, line);
                }
            }
            "raw_string" => self.text.push_str(written.trim_matches('\'')),
            "string" | "translated_string" => self.add_string(node, line),
            "ansi_c_string" => self.text.push_str(&ansi_c(written)),
            "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression" => {
                self.is_dynamic = true;
                self.text.push_str(written);
            }
            _ => {
                self.is_dynamic |= has_glob(written);
                self.text.push_str(&unescaped(written, |_| true));
            }
        }
    }

    fn add_string(&mut self, node: Node<'_>, line: &str) {
        let mut at = node.start_byte() + if node.kind() == "translated_string" { 2 } else { 1 };
        let end = node.end_byte().saturating_sub(1).max(at);
        // Text between the children is not part of any node.
        for child in node.named_children(&mut node.walk()).filter(|child| child.kind() != "string_content") {
            self.text.push_str(&unescaped(&line[at..child.start_byte().max(at)], is_special));
            self.add(child, line);
            at = child.end_byte();
        }
        self.text.push_str(&unescaped(&line[at..end.max(at)], is_special));
    }
}

/// Returns true if a backslash escapes a letter in double quotes.
fn is_special(letter: char) -> bool {
    matches!(letter, '"' | '\\' | '$' | '`' | '\n')
}

fn unescaped(written: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(written.len());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('\n') => {}
                Some(next) if is_escaped(next) => text.push(next),
                Some(next) => text.extend(['\\', next]),
                None => text.push('\\'),
            },
            letter => text.push(letter),
        }
    }
    text
}

/// Returns true if a word without quotes expands to other words.
fn has_glob(written: &str) -> bool {
    let mut is_escaped = false;
    written.chars().any(|letter| {
        let was_escaped = is_escaped;
        is_escaped = letter == '\\' && !was_escaped;
        !was_escaped && matches!(letter, '*' | '?' | '{')
    })
}

/// Returns the text of `$'…'`.
fn ansi_c(written: &str) -> String {
    let inner = written.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\'')).unwrap_or(written);
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let (letter, length) = escape(after);
        text.extend(letter);
        rest = after.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// Returns the letter that an escape stands for, and the length of the escape.
fn escape(text: &str) -> (Option<char>, usize) {
    let number = |start: usize, most: usize, radix: u32| {
        let digits = text[start..].chars().take(most).take_while(|letter| letter.is_digit(radix)).count();
        let value = u32::from_str_radix(&text[start..start + digits], radix).ok().and_then(char::from_u32);
        (value, start + digits)
    };
    match text.chars().next() {
        Some('n') => (Some('\n'), 1),
        Some('t') => (Some('\t'), 1),
        Some('r') => (Some('\r'), 1),
        Some('x') => number(1, 2, 16),
        Some('u') => number(1, 4, 16),
        Some('U') => number(1, 8, 16),
        Some('0'..='7') => number(0, 3, 8),
        Some(letter) => (Some(letter), letter.len_utf8()),
        None => (None, 0),
    }
}
