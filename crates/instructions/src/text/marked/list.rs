//! Lists.

use super::block::rule;
use super::html;
use super::{Dialect, Kind, Lexer, MAX_DEPTH, Token, first_line, trim, trim_end, unindented};

/// Mark of the items of a list.
#[derive(Clone, Copy)]
enum Mark {
    /// This bullet.
    Bullet(char),
    /// Any number before this character.
    Number(char),
}

impl Mark {
    /// Returns the mark at the beginning of a list, and its length.
    fn find(text: &str) -> Option<(Self, usize)> {
        let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
        let end = text[digits..].chars().next()?;
        match digits {
            0 if "*+-".contains(end) => Some((Self::Bullet(end), 1)),
            1..=9 if ".)".contains(end) => Some((Self::Number(end), digits + 1)),
            _ => None,
        }
    }

    /// Returns the length of this mark at the beginning of a text.
    fn length(self, text: &str) -> Option<usize> {
        let (found, length) = Self::find(text)?;
        let is_same = match (self, found) {
            (Self::Bullet(one), Self::Bullet(other)) | (Self::Number(one), Self::Number(other)) => {
                one == other
            }
            _ => false,
        };
        is_same.then_some(length)
    }
}

/// An item of a list, as it is read.
#[derive(Default)]
struct Item {
    raw: String,
    text: String,
}

impl Lexer {
    /// Reads the list at the beginning of a text.
    pub(super) fn list(&mut self, text: &str) -> Option<Token> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let (mark, length) = Mark::find(unindented(text))?;
        // A mark is followed by a blank and a text, or by the end of the line.
        let after = first_line(&unindented(text)[length..]);
        if !after.is_empty() && (!after.starts_with([' ', '\t']) || after.len() < 2) {
            return None;
        }
        let mut items: Vec<Item> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let Some((item, length)) = self.item(rest, mark) else { break };
            items.push(item);
            rest = &rest[length..];
        }
        let last = items.last_mut()?;
        last.raw = trim_end(&last.raw).to_owned();
        last.text = trim_end(&last.text).to_owned();
        let raw: String = items.iter().map(|item| item.raw.as_str()).collect();
        let mut list = Token::new(Kind::List, trim_end(&raw));
        self.depth += 1;
        for item in items {
            // The lines of an item form no paragraphs, except after a list in it.
            self.is_top = false;
            let mut tokens = Vec::new();
            self.blocks(&item.text, &mut tokens, false);
            list.items
                .push(Token { tokens: Some(tokens), ..Token::with_text(Kind::Item, &item.raw, &item.text) });
        }
        self.depth -= 1;
        Some(list)
    }

    /// Returns an item and its length in the text.
    fn item(&self, text: &str, mark: Mark) -> Option<(Item, usize)> {
        let indent = text.len() - unindented(text).len();
        let head = indent + mark.length(unindented(text))?;
        let body = first_line(&text[head..]);
        if !body.is_empty() && !body.starts_with([' ', '\t']) || rule(text).is_some() {
            return None;
        }
        let mut length = (head + body.len() + 1).min(text.len());
        let mut item = Item { raw: text[..length].to_owned(), text: String::new() };
        // Tabs at the beginning count as three blanks.
        let tabs = body.len() - body.trim_start_matches('\t').len();
        let mut line = format!("{}{}", "   ".repeat(tabs), &body[tabs..]);
        let mut is_blank = trim(&line).is_empty();
        let indent = if is_blank {
            head + 1
        } else {
            let blanks = body.len() - body.trim_start_matches(' ').len();
            let blanks = if blanks > 4 { 1 } else { blanks };
            item.text = line.get(blanks..).unwrap_or_default().to_owned();
            blanks + head
        };
        let next = first_line(&text[length..]);
        if is_blank && next.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
            item.raw.push_str(next);
            item.raw.push('\n');
            length = (length + next.len() + 1).min(text.len());
            self.untask(&mut item);
            return Some((item, length));
        }
        while length < text.len() {
            let next = first_line(&text[length..]);
            if begins_block(next, indent) || begins_item(next, indent) || is_rule(next, indent) {
                break;
            }
            let untabbed = next.replace('\t', "    ");
            let is_next_blank = trim(next).is_empty();
            let blanks = blanks(&untabbed);
            if blanks.is_some_and(|blanks| blanks >= indent) || is_next_blank {
                item.text.push('\n');
                item.text.push_str(&skipped(&untabbed, indent));
            } else {
                // A line that is indented less continues a paragraph only.
                let previous = line.replace('\t', "    ");
                if is_blank
                    || self::blanks(&previous).is_some_and(|blanks| blanks >= 4)
                    || begins_fence_or_heading(&line, indent)
                    || is_rule(&line, indent)
                {
                    break;
                }
                item.text.push('\n');
                item.text.push_str(next);
            }
            is_blank |= is_next_blank;
            item.raw.push_str(next);
            item.raw.push('\n');
            length = (length + next.len() + 1).min(text.len());
            line = skipped(&untabbed, indent);
        }
        self.untask(&mut item);
        Some((item, length))
    }

    /// Removes the box of a task.
    fn untask(&self, item: &mut Item) {
        let is_task = ["[ ] ", "[x] ", "[X] "].iter().any(|task| item.text.starts_with(task));
        if self.dialect == Dialect::GitHub && is_task {
            item.text = item.text[3..].trim_start_matches(' ').to_owned();
        }
    }
}

/// Returns the number of blanks before the first other character. `None` if there is no other one.
fn blanks(line: &str) -> Option<usize> {
    line.find(|letter| letter != ' ')
}

/// Returns a line without its first characters.
fn skipped(line: &str, characters: usize) -> String {
    line.chars().skip(characters).collect()
}

/// Returns the text after fewer blanks than an item is indented, at most three.
fn dedented(line: &str, indent: usize) -> &str {
    let most = indent.saturating_sub(1).min(3);
    let blanks = line.bytes().take(most).take_while(|byte| *byte == b' ').count();
    &line[blanks..]
}

fn begins_fence_or_heading(line: &str, indent: usize) -> bool {
    let line = dedented(line, indent);
    line.starts_with("```") || line.starts_with("~~~") || line.starts_with('#')
}

fn begins_block(line: &str, indent: usize) -> bool {
    begins_fence_or_heading(line, indent) || html::begins_in_list(dedented(line, indent))
}

fn begins_item(line: &str, indent: usize) -> bool {
    let line = dedented(line, indent);
    Mark::find(line).is_some_and(|(_, length)| {
        let after = &line[length..];
        after.is_empty() || after.starts_with([' ', '\t'])
    })
}

fn is_rule(line: &str, indent: usize) -> bool {
    let line = dedented(line, indent);
    let Some(mark) = line.chars().next().filter(|mark| "-_*".contains(*mark)) else { return false };
    line.chars().all(|letter| letter == mark || letter == ' ') && line.matches(mark).count() >= 3
}
