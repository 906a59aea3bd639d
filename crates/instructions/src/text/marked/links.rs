//! Links, images, addresses, and the text that they hide from emphasis.

use super::definition::{label_end, name, quoted_ends};
use super::inline::Line;
use super::{Kind, Lexer, Token, is_space};

impl Lexer {
    /// Returns the link or image at a character, and its length. A bracket that begins neither is text.
    pub(super) fn link(&mut self, line: &Line<'_>, at: usize) -> Option<(Token, usize)> {
        let rest = line.from(at);
        let bracket = rest.strip_prefix('!').unwrap_or(rest);
        let inner = bracket.strip_prefix('[')?;
        if let Some(label) = label(inner).map(|end| &inner[..end]) {
            let after = &inner[label.len() + 1..];
            // A target may extend to the end of the text, and be none.
            if let Some(length) =
                after.strip_prefix('(').filter(|after| self.has_work(after.len() / 8)).and_then(target)
            {
                let length = rest.len() - after.len() + 1 + length;
                return Some(self.linked(&rest[..length], label));
            }
        }
        self.reference(rest, inner)
    }

    fn linked(&mut self, raw: &str, label: &str) -> (Token, usize) {
        let length = raw.chars().count();
        if raw.starts_with('!') {
            return (Token::with_text(Kind::Image, raw, label), length);
        }
        let text = label.replace("\\[", "[").replace("\\]", "]");
        self.is_in_link = true;
        let tokens = self.inline(&text);
        self.is_in_link = false;
        (Token { tokens: Some(tokens), ..Token::with_text(Kind::Link, raw, &text) }, length)
    }

    /// Returns a link to a definition, or the first character as text.
    fn reference(&mut self, rest: &str, inner: &str) -> Option<(Token, usize)> {
        let before = rest.len() - inner.len();
        let full = label(inner).and_then(|end| {
            let second = inner[end + 1..].strip_prefix('[')?;
            let length = label_end(second)?;
            Some((&inner[..end], &second[..length], before + end + 2 + length + 1))
        });
        let (text, target, length) = full.or_else(|| {
            let end = label_end(inner)?;
            let empty = if inner[end + 1..].starts_with("[]") { 2 } else { 0 };
            Some((&inner[..end], &inner[..end], before + end + 1 + empty))
        })?;
        if !self.links.contains(&name(target)) {
            let first = &rest[..1];
            return Some((Token::with_text(Kind::Text, first, first), 1));
        }
        Some(self.linked(&rest[..length], text))
    }
}

/// Returns the token of an address, whose text is searched like any other.
pub(super) fn address(raw: &str, text: &str) -> Token {
    let inner = Token::with_text(Kind::Text, text, text);
    Token { tokens: Some(vec![inner]), ..Token::with_text(Kind::Link, raw, text) }
}

/// Returns the end of the text of a link, which may hold one level of brackets, and code.
fn label(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b']' => return Some(at),
            b'\\' => {
                let next = text[at + 1..].chars().next().filter(|next| *next != '\n')?;
                at += 1 + next.len_utf8();
            }
            b'`' => at += 2 + text[at + 1..].find('`')?,
            b'[' => {
                let mut inner = at + 1;
                while bytes.get(inner).is_some_and(|byte| *byte != b']') {
                    match bytes[inner] {
                        b'[' => return None,
                        b'\\' => inner += 1 + text[inner + 1..].chars().next().map_or(0, char::len_utf8),
                        _ => inner += 1,
                    }
                }
                bytes.get(inner)?;
                at = inner + 1;
            }
            _ => at += 1,
        }
    }
    None
}

/// Returns the length of a target and title up to the closing bracket.
fn target(text: &str) -> Option<usize> {
    let start = text.trim_start_matches(is_space);
    let before = text.len() - start.len();
    if let Some(inner) = start.strip_prefix('<') {
        let end = pointed_end(inner).filter(|end| *end > 0);
        if let Some(rest) = end.map(|end| &inner[end + 1..])
            && let Some(length) = after_target(rest)
        {
            return Some(text.len() - rest.len() + length);
        }
    }
    let run = start.find(|letter| is_space(letter) || letter <= '\u{1f}').unwrap_or(start.len());
    let end = match after_target(&start[run..]) {
        Some(length) => (run, run + length),
        None => start[..run].rfind(')').map(|at| (at, at + 1))?,
    };
    let href = &start[..end.0];
    if href.starts_with('<') && !href.ends_with('>') {
        return None;
    }
    if href.starts_with('<') {
        return Some(before + end.1);
    }
    // A closing bracket without an opening one ends the target earlier.
    let mut depth = 0_i32;
    let mut is_escaped = false;
    for (at, letter) in href.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth < 0 {
                    return Some(before + at + 1);
                }
            }
            _ => {}
        }
    }
    Some(before + end.1)
}

/// Returns the end of a target between angle brackets.
fn pointed_end(text: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '>' => return Some(at),
            '\n' | '<' => return None,
            '\\' => {
                letters.next().filter(|(_, next)| *next != '\n')?;
            }
            _ => {}
        }
    }
    None
}

/// Returns the length of an optional title and the closing bracket.
fn after_target(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches(is_space);
    let closed = |rest: &str| {
        let end = rest.trim_start_matches(is_space);
        end.starts_with(')').then(|| rest.len() - end.len() + 1)
    };
    let mark = rest.chars().next()?;
    if rest.len() < text.len() && matches!(mark, '"' | '\'' | '(') {
        let closing = if mark == '(' { ')' } else { mark };
        for end in quoted_ends(rest, closing) {
            if let Some(length) = closed(&rest[end..]) {
                return Some(text.len() - rest.len() + end + length);
            }
        }
    }
    closed(text)
}

/// Returns the length of an address in angle brackets.
pub(super) fn autolink(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('<')?;
    let end = inner.find('>')?;
    let address = &inner[..end];
    let is_uri = address.split_once(':').is_some_and(|(scheme, rest)| {
        (2..=32).contains(&scheme.len())
            && scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+.-".contains(letter))
            && !rest.contains(|letter| is_space(letter) || letter <= '\u{1f}' || letter == '<')
    });
    let is_mail = address.split_once('@').is_some_and(|(local, host)| {
        let is_name =
            |letter: char| letter.is_ascii_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(letter);
        let is_part = |part: &str| {
            (1..=63).contains(&part.len())
                && !part.starts_with('-')
                && !part.ends_with('-')
                && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        };
        !local.is_empty() && local.chars().all(is_name) && host.contains('.') && host.split('.').all(is_part)
    });
    (is_uri || is_mail).then_some(end + 2)
}

/// Returns the length of a bare address of the web or of mail.
pub(super) fn url(text: &str) -> Option<usize> {
    let lower = text
        .get(..8.min(text.len()))
        .map(str::to_ascii_lowercase)
        .unwrap_or_else(|| text.chars().take(8).collect::<String>().to_ascii_lowercase());
    let start = ["http://", "https://", "ftp://", "www."].iter().find(|start| lower.starts_with(**start));
    let Some(start) = start else { return mail(text) };
    let host = &text[start.len()..];
    if !host.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '-') {
        return mail(text);
    }
    let end = host.find(|letter| is_space(letter) || letter == '<').unwrap_or(host.len());
    let mut length = start.len() + end;
    loop {
        let shorter = without_punctuation(&text[..length]);
        if shorter == length {
            return Some(length);
        }
        length = shorter;
    }
}

/// Returns the length of an address without the punctuation at its end and unpaired brackets.
fn without_punctuation(address: &str) -> usize {
    let is_mark = |letter: char| "?!.,:;*_'\"~)".contains(letter);
    let mut at = 0;
    while let Some(letter) = address[at..].chars().next() {
        let rest = &address[at..];
        let length = match letter {
            '(' => rest.find(')').map_or(0, |end| end + 1),
            '&' => {
                let name = rest[1..].strip_suffix(';').unwrap_or_default();
                let is_entity = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric());
                usize::from(!is_entity)
            }
            letter if is_mark(letter) => {
                let run = rest.find(|letter| !is_mark(letter)).unwrap_or(rest.len());
                // The last mark of the address is left out.
                if run == rest.len() { run - 1 } else { run }
            }
            _ => rest.find(|letter| is_mark(letter) || "(&".contains(letter)).unwrap_or(rest.len()),
        };
        if length == 0 {
            break;
        }
        at += length;
    }
    at
}

fn mail(text: &str) -> Option<usize> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    let local = text.find(|letter| !is_name(letter))?;
    let host = text[local..].strip_prefix('@').filter(|_| local > 0)?;
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let bytes = host.as_bytes();
    let run = |from: usize| from + bytes[from..].iter().take_while(|byte| is_host(**byte)).count();
    let mut end = run(0);
    let mut ends = Vec::new();
    while end > 0 && bytes.get(end) == Some(&b'.') {
        let start = end + 1;
        end = run(start);
        ends.extend((start..end).filter(|at| bytes[*at].is_ascii_alphanumeric()).map(|at| at + 1));
        if end == start || !bytes[end - 1].is_ascii_alphanumeric() {
            break;
        }
    }
    // The longest one that no dash or underscore follows.
    let end = ends.into_iter().rev().find(|end| !matches!(bytes.get(*end), Some(b'-' | b'_')))?;
    Some(local + 1 + end)
}

/// Returns a text in which links, code, tags and escapes are replaced by letters.
pub(super) fn masked(letters: &[char], lexer: &mut Lexer) -> Vec<char> {
    let mut masked = letters.to_vec();
    if !letters.contains(&'*') && !letters.contains(&'_') {
        return masked;
    }
    if !lexer.links.is_empty() {
        mask_references(&mut masked, lexer);
    }
    let mut at = 0;
    while at < masked.len() {
        let end = match masked[at] {
            '[' if lexer.has_work(1) => link_end(&masked, at),
            '`' if lexer.has_work(1) => find(&masked, at + 1, '`', "").map(|end| end + 1),
            '<' if lexer.has_work(1) => find(&masked, at + 1, '>', "<").map(|end| end + 1),
            _ => None,
        };
        match end {
            Some(end) => {
                mask(&mut masked, at, end);
                at = end;
            }
            None => at += 1,
        }
    }
    let mut at = 0;
    while at + 1 < masked.len() {
        if masked[at] == '\\' && super::emphasis::is_punctuation(masked[at + 1]) {
            masked[at] = '+';
            masked[at + 1] = '+';
            at += 1;
        }
        at += 1;
    }
    masked
}

fn mask(letters: &mut [char], start: usize, end: usize) {
    for (index, letter) in letters[start..end].iter_mut().enumerate() {
        *letter = if index == 0 { '[' } else { 'a' };
    }
    letters[end - 1] = ']';
}

/// Returns the position of a character before any of `stops`.
fn find(letters: &[char], from: usize, wanted: char, stops: &str) -> Option<usize> {
    let at = letters[from..].iter().position(|letter| *letter == wanted || stops.contains(*letter))? + from;
    (letters[at] == wanted).then_some(at)
}

/// Returns the end of a link with its target.
fn link_end(letters: &[char], at: usize) -> Option<usize> {
    let label = find(letters, at + 1, ']', "[")?;
    if letters.get(label + 1) != Some(&'(') {
        return None;
    }
    let mut end = label + 2;
    let mut depth = 0;
    while let Some(letter) = letters.get(end) {
        match letter {
            '\\' => end += 1,
            '(' if depth == 1 => return None,
            '(' => depth = 1,
            ')' if depth == 1 => depth = 0,
            ')' => return Some(end + 1),
            _ => {}
        }
        end += 1;
    }
    None
}

/// Replaces the references to definitions.
fn mask_references(masked: &mut [char], lexer: &mut Lexer) {
    let mut at = 0;
    while at < masked.len() {
        if masked[at] != '[' || !lexer.has_work(64) {
            at += 1;
            continue;
        }
        let rest: String = masked[at + 1..].iter().take(2_000).collect();
        let full = label(&rest).and_then(|end| {
            let second = rest[end + 1..].strip_prefix('[')?;
            let length = label_end(second)?;
            Some((&second[..length], end + 2 + length + 1))
        });
        let found = full.or_else(|| {
            let end = label_end(&rest)?;
            let empty = if rest[end + 1..].starts_with("[]") { 2 } else { 0 };
            let length = end + 1 + empty;
            (!rest[length..].starts_with('(')).then_some((&rest[..end], length))
        });
        match found {
            Some((target, length)) => {
                let count = rest[..length].chars().count() + 1;
                // The name is compared as it is written.
                if lexer.links.contains(target) {
                    mask(masked, at, at + count);
                }
                at += count;
            }
            None => at += 1,
        }
    }
}
