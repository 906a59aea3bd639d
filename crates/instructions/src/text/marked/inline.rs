//! Marks in the lines of a block.

use super::{Dialect, Kind, Lexer, Token, html, is_space, links};

/// A text with what the rules look up about its characters.
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) letters: Vec<char>,
    /// Byte offset of each character, and the length.
    offsets: Vec<usize>,
    /// The text without links, code and escapes, which hold no emphasis.
    pub(super) masked: Vec<char>,
    /// For each character, the number of spaces from it to the end of the line if nothing else is there.
    spaces_at_end: Vec<usize>,
    /// True for each character from which the name of a mail address extends to an `@`.
    mail_names: Vec<bool>,
    /// Start of each run of backticks, with its length.
    backticks: Vec<(usize, usize)>,
}

impl<'a> Line<'a> {
    fn new(text: &'a str, lexer: &mut Lexer) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut spaces_at_end = vec![0; letters.len() + 1];
        let mut mail_names = vec![false; letters.len() + 1];
        let mut ends_line = false;
        for (at, letter) in letters.iter().enumerate().rev() {
            spaces_at_end[at] = match letter {
                ' ' if ends_line => spaces_at_end[at + 1] + 1,
                _ => 0,
            };
            ends_line = *letter == '\n' || *letter == ' ' && ends_line;
            let next = letters.get(at + 1);
            mail_names[at] = is_mail_name(*letter) && (next == Some(&'@') || mail_names[at + 1]);
        }
        let mut backticks: Vec<(usize, usize)> = Vec::new();
        for (at, _) in letters.iter().enumerate().filter(|(_, letter)| **letter == '`') {
            match backticks.last_mut() {
                Some((start, length)) if *start + *length == at => *length += 1,
                _ => backticks.push((at, 1)),
            }
        }
        let masked = links::masked(&letters, lexer);
        Self { text, letters, offsets, masked, spaces_at_end, mail_names, backticks }
    }

    /// Returns the text from a character on.
    pub(super) fn from(&self, at: usize) -> &'a str {
        &self.text[self.offsets[at]..]
    }

    /// Returns the text between two characters.
    pub(super) fn between(&self, start: usize, end: usize) -> &'a str {
        &self.text[self.offsets[start]..self.offsets[end]]
    }

    /// Returns true if at least two spaces end the line.
    fn has_break(&self, at: usize) -> bool {
        self.spaces_at_end[at] >= 2
    }

    fn starts_with(&self, at: usize, start: &str) -> bool {
        self.from(at).starts_with(start)
    }
}

fn is_mail_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || ".!#$%&'*+/=?_`{|}~-".contains(letter)
}

impl Lexer {
    /// Returns the tokens of a text without blocks.
    pub(super) fn inline(&mut self, text: &str) -> Vec<Token> {
        let mut tokens: Vec<Token> = Vec::new();
        if text.is_empty() {
            return tokens;
        }
        let line = Line::new(text, self);
        let mut at = 0;
        // The last character before a mark decides whether emphasis may begin.
        let mut previous: Option<char> = None;
        let mut was_text = false;
        while at < line.letters.len() {
            if !was_text {
                previous = None;
            }
            was_text = false;
            let (token, length) = match self.mark(&line, at, previous) {
                Some(found) => found,
                None => {
                    let end = self.plain_end(&line, at);
                    let raw = line.between(at, end);
                    if line.letters[end - 1] != '_' {
                        previous = Some(line.letters[end - 1]);
                    }
                    was_text = true;
                    (Token::with_text(Kind::Text, raw, raw), end - at)
                }
            };
            at += length.max(1);
            match tokens.last_mut() {
                Some(last) if token.kind == Kind::Text && last.kind == Kind::Text => {
                    last.raw.push_str(&token.raw);
                    last.text.push_str(&token.text);
                }
                _ => tokens.push(token),
            }
        }
        tokens
    }

    /// Returns the token of the mark at a character, and its length in characters.
    fn mark(&mut self, line: &Line<'_>, at: usize, previous: Option<char>) -> Option<(Token, usize)> {
        let rest = line.from(at);
        let plain = |kind, length: usize| {
            let raw = line.between(at, at + length);
            Some((Token::with_text(kind, raw, raw), length))
        };
        match line.letters[at] {
            '\\' => match line.letters.get(at + 1) {
                Some(next) if next.is_ascii_punctuation() => return plain(Kind::Other, 2),
                Some('\n') if !line.from(at + 2).chars().all(is_space) => return plain(Kind::Other, 2),
                _ => {}
            },
            '<' => {
                if self.has_work(rest.len() / 16)
                    && let Some(length) = html::tag(rest)
                {
                    let raw = &rest[..length];
                    self.note_link(raw);
                    return plain(Kind::Html, raw.chars().count());
                }
                if let Some(length) = links::autolink(rest) {
                    let raw = &rest[..length];
                    let inner = &raw[1..length - 1];
                    return Some((links::address(raw, inner), raw.chars().count()));
                }
            }
            '!' | '[' => {
                if let Some(found) = self.link(line, at) {
                    return Some(found);
                }
            }
            '*' | '_' => {
                if let Some(found) = self.emphasis(line, at, previous) {
                    return Some(found);
                }
            }
            '`' => {
                if let Some(length) = self.code_span(line, at) {
                    return plain(Kind::CodeSpan, length);
                }
            }
            ' ' if line.has_break(at) => {
                let length = line.spaces_at_end[at] + 1;
                if !line.from(at + length).chars().all(is_space) {
                    return plain(Kind::Other, length);
                }
            }
            '~' if self.dialect == Dialect::GitHub => {
                if let Some(found) = self.struck(line, at) {
                    return Some(found);
                }
            }
            _ => {}
        }
        if self.dialect == Dialect::GitHub && !self.is_in_link {
            let may_begin =
                matches!(line.letters[at], 'h' | 'H' | 'f' | 'F' | 'w' | 'W') || line.mail_names[at];
            if may_begin && let Some(length) = links::url(rest) {
                let raw = &rest[..length];
                return Some((links::address(raw, raw), raw.chars().count()));
            }
        }
        None
    }

    /// Addresses within the text of a link are no links.
    fn note_link(&mut self, tag: &str) {
        let lower = tag.to_ascii_lowercase();
        if lower.starts_with("<a ") {
            self.is_in_link = true;
        } else if lower.starts_with("</a>") {
            self.is_in_link = false;
        }
    }

    /// Returns the length of the code between equal runs of backticks.
    fn code_span(&mut self, line: &Line<'_>, at: usize) -> Option<usize> {
        let index = line.backticks.partition_point(|(start, length)| start + length <= at);
        let (start, length) = *line.backticks.get(index)?;
        // The first half of a run is no mark of its own.
        let length = start + length - at;
        if !self.has_work((line.backticks.len() - index) / 8) {
            return None;
        }
        let end = line.backticks[index + 1..].iter().find(|(_, other)| *other == length)?;
        Some(end.0 + length - at)
    }

    /// Returns struck text.
    fn struck(&mut self, line: &Line<'_>, at: usize) -> Option<(Token, usize)> {
        let run = line.letters[at..].iter().take_while(|letter| **letter == '~').count();
        let start = at + run;
        if run > 2 || line.letters.get(start).is_none_or(|next| is_space(*next)) {
            return None;
        }
        let mut end = start;
        let mut was_escape = false;
        while end < line.letters.len() && self.has_work(1) {
            let letter = line.letters[end];
            if letter == '\\' && end + 1 < line.letters.len() && line.letters[end + 1] != '\n' {
                end += 2;
                was_escape = true;
                continue;
            }
            let closing = line.letters[end..].iter().take_while(|letter| **letter == '~').count();
            let is_after_text = end > start && (was_escape || !is_space(line.letters[end - 1]));
            if closing == run && is_after_text {
                let raw = line.between(at, end + run);
                let text = line.between(start, end);
                let tokens = self.inline(text);
                let token = Token { tokens: Some(tokens), ..Token::with_text(Kind::Emphasis, raw, text) };
                return Some((token, end + run - at));
            }
            end += closing.max(1);
            was_escape = false;
        }
        None
    }

    /// Returns the end of the plain text that begins at a character.
    fn plain_end(&self, line: &Line<'_>, at: usize) -> usize {
        let is_github = self.dialect == Dialect::GitHub;
        let letters = &line.letters;
        let is_run = |letter: char| letter == '`' || is_github && letter == '~';
        let run = letters[at..].iter().take_while(|letter| is_run(**letter)).count();
        let mut end = at + run.max(1);
        if line.has_break(end) || is_github && line.mail_names[end] {
            return end;
        }
        while end < letters.len() {
            let letter = letters[end];
            let is_mark =
                matches!(letter, '\\' | '<' | '!' | '[' | '`' | '*' | '_') || is_github && letter == '~';
            let is_address = is_github
                && matches!(letter, 'h' | 'f' | 'w')
                && ["http://", "https://", "ftp://", "www."].iter().any(|start| line.starts_with(end, start));
            if is_mark || is_address {
                break;
            }
            let next = end + 1;
            if letter != ' ' && line.has_break(next)
                || is_github && !is_mail_name(letter) && line.mail_names[next]
            {
                return next;
            }
            end = next;
        }
        end
    }
}
