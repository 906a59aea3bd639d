//! Quotes.

use super::block::paragraph;
use super::{Dialect, Kind, Lexer, MAX_DEPTH, Token, first_line, unindented};

impl Lexer {
    /// Reads the quote at the beginning of a text.
    pub(super) fn quote(&mut self, text: &str) -> Option<Token> {
        let end = length(text).filter(|_| self.depth < MAX_DEPTH)?;
        let mut lines: Vec<String> =
            text[..end].trim_end_matches('\n').split('\n').map(str::to_owned).collect();
        let (mut raw, mut quoted) = (String::new(), String::new());
        let mut tokens: Vec<Token> = Vec::new();
        self.depth += 1;
        // Lines with a mark and lines that only continue them are read in turns, because a line without a mark cannot
        // continue every block.
        while !lines.is_empty() {
            let mut is_marked = false;
            let count = lines.iter().position(|line| {
                let has_mark = unindented(line).starts_with('>');
                let ends = is_marked && !has_mark;
                is_marked |= has_mark;
                ends
            });
            let current = lines.drain(..count.unwrap_or(lines.len())).collect::<Vec<_>>().join("\n");
            let inner = without_marks(&current);
            join(&mut raw, &current);
            join(&mut quoted, &inner);
            let top = std::mem::replace(&mut self.is_top, true);
            self.blocks(&inner, &mut tokens, true);
            self.is_top = top;
            if lines.is_empty() {
                break;
            }
            let rest = lines.join("\n");
            match tokens.last().map(|last| last.kind) {
                Some(Kind::Code) => break,
                Some(Kind::Quote) => {
                    let Some(last) = tokens.pop() else { break };
                    let Some(again) = self.quote(&format!("{}\n{rest}", last.raw)) else { break };
                    replace_end(&mut raw, &last.raw, &again.raw);
                    tokens.push(again);
                    break;
                }
                Some(Kind::List) => {
                    let Some(last) = tokens.pop() else { break };
                    let whole = format!("{}\n{rest}", last.raw);
                    let Some(again) = self.list(&whole) else { break };
                    replace_end(&mut raw, &last.raw, &again.raw);
                    let left: String = whole.chars().skip(again.raw.chars().count()).collect();
                    lines = left.split('\n').map(str::to_owned).collect();
                    tokens.push(again);
                }
                _ => {}
            }
        }
        self.depth -= 1;
        Some(Token { tokens: Some(tokens), ..Token::with_text(Kind::Quote, &raw, &quoted) })
    }
}

/// Replaces the end of a text, as long as `old`.
fn replace_end(text: &mut String, old: &str, new: &str) {
    let kept = text.chars().count().saturating_sub(old.chars().count());
    *text = text.chars().take(kept).collect();
    text.push_str(new);
}

fn join(text: &mut String, lines: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(lines);
}

/// Removes the marks of a quote. Underlines are indented, so that they form no heading with a line that only continues.
fn without_marks(text: &str) -> String {
    let mut lines = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let bare = unindented(line).trim_end_matches(' ');
        let is_underline = !bare.is_empty()
            && (bare.bytes().all(|byte| byte == b'=') || bare.bytes().all(|byte| byte == b'-'));
        if index > 0 && is_underline {
            lines.push(format!("    {}", unindented(line)));
            continue;
        }
        lines.push(match unindented(line).strip_prefix('>') {
            Some(quoted) => quoted.strip_prefix([' ', '\t']).unwrap_or(quoted).to_owned(),
            None => line.to_owned(),
        });
    }
    lines.join("\n")
}

/// Returns the length of a quote with the newline after it.
fn length(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(rest) = unindented(&text[at..]).strip_prefix('>') {
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let start = text.len() - rest.len();
        // A line with a mark alone is not continued.
        let line = first_line(rest);
        let end = start + if line.is_empty() { 0 } else { paragraph(rest, Dialect::Plain) };
        at = end;
        if text[end..].starts_with('\n') {
            at += 1;
        } else {
            break;
        }
    }
    (at > 0).then_some(at)
}
