//! Markdown as the JavaScript library `marked` 15 reads it, which Claude Code and Qwen Code use.
//!
//! It differs from CommonMark in ways that decide which text an agent gets: definitions leave no trace, closing tags of
//! some elements begin no block, and lines of a list are searched as they are. So this follows the library's rules one by
//! one, including their order, instead of correcting the result of another parser.

mod block;
mod definition;
mod emphasis;
mod html;
mod inline;
mod links;
mod list;
mod quote;

use std::collections::HashSet;

pub(crate) use html::without_comments;

/// Deepest nesting of quotes and lists. Deeper ones are text.
const MAX_DEPTH: usize = 64;
/// Number of characters that searches within lines may look at. Marks beyond are text.
const MAX_WORK: usize = 10_000_000;

/// Syntax that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// CommonMark, as far as the library follows it.
    Plain,
    /// With tables, addresses and struck text.
    GitHub,
}

/// Kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Space,
    Code,
    Heading,
    Rule,
    Quote,
    List,
    Item,
    Html,
    Table,
    Paragraph,
    /// A line of a list, or a run of plain text in a line.
    Text,
    CodeSpan,
    /// Emphasized, strong or struck text.
    Emphasis,
    Link,
    Image,
    /// An escaped character or a line break.
    Other,
}

/// A part of a text.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Source of the token, without the marks of the blocks around it.
    pub(crate) raw: String,
    /// Text without marks.
    pub(crate) text: String,
    /// Tokens in it. `None` if this kind has none.
    pub(crate) tokens: Option<Vec<Token>>,
    /// Items of a list.
    pub(crate) items: Vec<Token>,
}

impl Token {
    fn new(kind: Kind, raw: &str) -> Self {
        Self { kind, raw: raw.to_owned(), text: String::new(), tokens: None, items: Vec::new() }
    }

    fn with_text(kind: Kind, raw: &str, text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::new(kind, raw) }
    }

    /// Returns a token whose text is searched for marks once all definitions are known.
    fn of_lines(kind: Kind, raw: &str, text: &str) -> Self {
        Self { tokens: Some(Vec::new()), ..Self::with_text(kind, raw, text) }
    }
}

/// Returns the tokens of a text. Line ends become newlines first.
pub(crate) fn lex(text: &str, dialect: Dialect) -> Vec<Token> {
    let text = crate::text::decode::plain_line_ends(text);
    let mut lexer =
        Lexer { dialect, is_top: true, links: HashSet::new(), is_in_link: false, depth: 0, work: MAX_WORK };
    let mut tokens = Vec::new();
    lexer.blocks(&text, &mut tokens, false);
    lexer.lines(&mut tokens);
    tokens
}

/// State of reading a text.
struct Lexer {
    dialect: Dialect,
    /// False directly in an item of a list, where lines form no paragraphs.
    is_top: bool,
    /// Labels of definitions.
    links: HashSet<String>,
    /// The text of a link is read.
    is_in_link: bool,
    depth: usize,
    /// Characters that searches may still look at.
    work: usize,
}

impl Lexer {
    /// Reads the marks in the lines of all blocks.
    fn lines(&mut self, tokens: &mut [Token]) {
        for token in tokens {
            match token.kind {
                Kind::Paragraph | Kind::Heading | Kind::Text => {
                    token.tokens = Some(self.inline(&token.text));
                }
                _ => {
                    self.lines(token.tokens.as_deref_mut().unwrap_or_default());
                    self.lines(&mut token.items);
                }
            }
        }
    }

    /// Returns true while searches may look at more characters.
    fn has_work(&mut self, characters: usize) -> bool {
        self.work = self.work.saturating_sub(characters.max(1));
        self.work > 0
    }
}

/// Returns true for white space in JavaScript, which includes the byte order mark and excludes U+0085.
pub(crate) fn is_space(letter: char) -> bool {
    letter == '\u{feff}' || letter.is_whitespace() && letter != '\u{85}'
}

fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Returns the first line, without its end.
fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// Returns the text after at most three spaces.
fn unindented(text: &str) -> &str {
    let spaces = text.bytes().take(3).take_while(|byte| *byte == b' ').count();
    &text[spaces..]
}

#[cfg(test)]
mod tests;
