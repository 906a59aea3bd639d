//! Blocks other than lists, quotes, HTML and definitions.

use super::{Dialect, Kind, Lexer, Token, first_line, is_space, trim, unindented};
use super::{definition, html};

impl Lexer {
    /// Reads the blocks of a text. `continues` is true if the text continues the last paragraph of `tokens`.
    pub(super) fn blocks(&mut self, text: &str, tokens: &mut Vec<Token>, mut continues: bool) {
        let mut rest = text;
        // No line before this length of the rest is underlined, so that a long paragraph is searched once.
        let mut plain_until = usize::MAX;
        while !rest.is_empty() {
            let length = self.block(rest, tokens, &mut continues, &mut plain_until);
            rest = &rest[length..];
        }
        self.is_top = true;
    }

    /// Reads the block at the beginning of a text. Returns its length.
    fn block(
        &mut self,
        rest: &str,
        tokens: &mut Vec<Token>,
        continues: &mut bool,
        plain_until: &mut usize,
    ) -> usize {
        if let Some(length) = space(rest) {
            match tokens.last_mut() {
                Some(last) if length == 1 => last.raw.push('\n'),
                _ => tokens.push(Token::new(Kind::Space, &rest[..length])),
            }
            return length;
        }
        if let Some(length) = indented_code(rest) {
            let raw = &rest[..length];
            match tokens.last_mut().filter(|last| matches!(last.kind, Kind::Paragraph | Kind::Text)) {
                Some(last) => append(last, raw, &code_text(raw)),
                None => tokens.push(Token::new(Kind::Code, raw)),
            }
            return length;
        }
        if let Some(length) = fenced_code(rest) {
            tokens.push(Token::new(Kind::Code, &rest[..length]));
            return length;
        }
        if let Some((length, text)) = heading(rest) {
            tokens.push(Token::of_lines(Kind::Heading, &rest[..length], text));
            return length;
        }
        if let Some(length) = rule(rest) {
            tokens.push(Token::new(Kind::Rule, &rest[..length]));
            return length;
        }
        if let Some(token) = self.quote(rest).or_else(|| self.list(rest)) {
            // The text may be longer or shorter in bytes, because tabs were replaced.
            let count = token.raw.chars().count();
            tokens.push(token);
            return rest.char_indices().nth(count).map_or(rest.len(), |(at, _)| at);
        }
        if let Some(length) = html::block(rest) {
            tokens.push(Token::new(Kind::Html, &rest[..length]));
            return length;
        }
        if let Some((length, label)) = definition::find(rest) {
            match tokens.last_mut().filter(|last| matches!(last.kind, Kind::Paragraph | Kind::Text)) {
                Some(last) => append(last, &rest[..length], &rest[..length]),
                // The library keeps no token of a definition, so its text is lost wherever tokens are joined again.
                None => drop(self.links.insert(label)),
            }
            return length;
        }
        let is_table = |length: &usize| {
            rest.split('\n').nth(1).is_some_and(|line| line.contains([':', '|']))
                && has_equal_columns(&rest[..*length])
        };
        if self.dialect == Dialect::GitHub
            && let Some(length) = table(rest).filter(is_table)
        {
            tokens.push(Token::new(Kind::Table, &rest[..length]));
            return length;
        }
        if rest.len() <= *plain_until {
            match underlined(rest, self.dialect) {
                Ok((length, text)) => {
                    tokens.push(Token::of_lines(Kind::Heading, &rest[..length], text));
                    return length;
                }
                Err(length) => *plain_until = rest.len() - length,
            }
        }
        if self.is_top {
            let length = paragraph(rest, self.dialect);
            let raw = &rest[..length];
            match tokens.last_mut().filter(|last| *continues && last.kind == Kind::Paragraph) {
                Some(last) => append(last, raw, raw),
                None => tokens.push(Token::of_lines(Kind::Paragraph, raw, raw)),
            }
            *continues = false;
            return length;
        }
        let raw = first_line(rest);
        match tokens.last_mut().filter(|last| last.kind == Kind::Text) {
            Some(last) => append(last, raw, raw),
            None => tokens.push(Token::of_lines(Kind::Text, raw, raw)),
        }
        raw.len()
    }
}

fn append(token: &mut Token, raw: &str, text: &str) {
    token.raw.push('\n');
    token.raw.push_str(raw);
    token.text.push('\n');
    token.text.push_str(text);
}

/// Returns the length of empty lines.
fn space(text: &str) -> Option<usize> {
    let mut length = 0;
    loop {
        let blank = text[length..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match text.as_bytes().get(length + blank) {
            Some(b'\n') => length += blank + 1,
            Some(_) => break,
            None => {
                length += blank;
                break;
            }
        }
    }
    (length > 0).then_some(length)
}

/// Returns the text after the indentation of code.
fn after_code_indent(line: &str) -> Option<&str> {
    line.strip_prefix("    ").or_else(|| unindented(line).strip_prefix('\t'))
}

fn indented_code(text: &str) -> Option<usize> {
    let mut length = 0;
    while let Some(line) = after_code_indent(&text[length..]) {
        if line.is_empty() || line.starts_with('\n') {
            break;
        }
        let end = text.len() - line.len() + first_line(line).len();
        length = end;
        if text[end..].starts_with('\n') {
            length += 1;
            length += space(&text[length..]).unwrap_or(0);
        }
    }
    (length > 0).then_some(length)
}

fn code_text(raw: &str) -> String {
    let lines = raw.split('\n').map(|line| {
        let spaces = line.bytes().take(4).take_while(|byte| *byte == b' ').count();
        match spaces {
            0 => line.strip_prefix('\t').unwrap_or(line),
            spaces => &line[spaces..],
        }
    });
    lines.collect::<Vec<_>>().join("\n").trim_end_matches('\n').to_owned()
}

/// Returns the mark of a fence at the beginning of a text: its character and their number.
fn fence(text: &str) -> Option<(char, usize)> {
    let text = unindented(text);
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = text.chars().take_while(|letter| *letter == mark).count();
    let is_open = mark == '~' || !first_line(text)[count..].contains('`');
    (count >= 3 && is_open).then_some((mark, count))
}

fn fenced_code(text: &str) -> Option<usize> {
    let (mark, count) = fence(text)?;
    let mut at = first_line(text).len();
    while at < text.len() {
        // Skip the newline.
        at += 1;
        let line = first_line(&text[at..]);
        let closing = unindented(line);
        let run = closing.chars().take_while(|letter| *letter == mark).count();
        let rest = closing.trim_start_matches(['`', '~']);
        if run >= count && rest.bytes().all(|byte| byte == b' ') {
            return Some(at + line.len());
        }
        at += line.len();
    }
    Some(text.len())
}

/// Returns the number of newlines at the beginning of a text. `None` if another character is there.
fn newlines(text: &str) -> Option<usize> {
    let count = text.bytes().take_while(|byte| *byte == b'\n').count();
    (count > 0 || text.is_empty()).then_some(count)
}

fn heading(text: &str) -> Option<(usize, &str)> {
    let after = unindented(text).trim_start_matches('#');
    let marks = unindented(text).len() - after.len();
    if !(1..=6).contains(&marks) || after.chars().next().is_some_and(|next| !is_space(next)) {
        return None;
    }
    let line = first_line(after);
    if line.contains(['\u{2028}', '\u{2029}']) {
        return None;
    }
    let length = text.len() - after.len() + line.len();
    let title = trim(line);
    let bare = title.trim_end_matches('#');
    let title =
        if title.ends_with('#') && (bare.is_empty() || bare.ends_with(' ')) { trim(bare) } else { title };
    Some((length + newlines(&text[length..])?, title))
}

/// Returns the length of a thematic break, without the newline after it.
pub(super) fn rule(text: &str) -> Option<usize> {
    let line = first_line(unindented(text));
    let mark = line.chars().next().filter(|mark| "-_*".contains(*mark))?;
    let is_rule = line.chars().all(|letter| letter == mark || matches!(letter, ' ' | '\t'));
    (is_rule && line.matches(mark).count() >= 3).then(|| first_line(text).len())
}

/// Returns true if a line begins with the mark of a list: any bullet or number, or those that may interrupt a paragraph.
fn is_list_mark(line: &str, interrupts: bool) -> bool {
    let digits = line.bytes().take(10).take_while(u8::is_ascii_digit).count();
    let mark = match digits {
        0 => line.starts_with(['*', '+', '-']).then_some(1),
        1 if interrupts && !line.starts_with('1') => None,
        2.. if interrupts => None,
        1..=9 => line[digits..].starts_with(['.', ')']).then_some(digits + 1),
        _ => None,
    };
    mark.is_some_and(|mark| line[mark..].starts_with(' '))
}

/// Returns true if the line at the beginning of `text` interrupts a paragraph.
fn interrupts(text: &str, dialect: Dialect) -> bool {
    let line = unindented(text);
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=6).contains(&marks) && line[marks..].chars().next().is_none_or(is_space);
    let is_blank = || {
        let spaces = text.bytes().take_while(|byte| *byte == b' ').count();
        spaces > 0 && text[spaces..].starts_with('\n')
    };
    // A fence on the last line is not one until a line follows.
    let is_fence = || fence(text).is_some() && first_line(text).len() < text.len();
    text.is_empty()
        || text.starts_with('\n')
        || rule(text).is_some()
        || is_heading
        || line.starts_with('>')
        || is_fence()
        || is_list_mark(line, true)
        || html::interrupts(text)
        || is_blank()
        || dialect == Dialect::GitHub && table(text).is_some()
}

/// Returns the length of a paragraph, without the newline after it.
pub(super) fn paragraph(text: &str, dialect: Dialect) -> usize {
    let mut length = first_line(text).len();
    while text[length..].starts_with('\n') && !interrupts(&text[length + 1..], dialect) {
        length += 1 + first_line(&text[length + 1..]).len();
    }
    length
}

/// Returns the length and the text of a heading that is underlined, or the length of the lines that are not.
fn underlined(text: &str, dialect: Dialect) -> Result<(usize, &str), usize> {
    let mut at = 0;
    loop {
        if ends_heading(&text[at..], at > 0, dialect) {
            return Err(at);
        }
        let line = first_line(&text[at..]);
        if line.contains(['\u{2028}', '\u{2029}']) || line.is_empty() {
            return Err(at);
        }
        at += line.len();
        if at == text.len() {
            return Err(at);
        }
        if let Some(length) = underline(&text[at + 1..]) {
            return Ok((at + 1 + length, &text[..at]));
        }
        at += 1;
    }
}

/// Returns the length of an underline with the newlines after it.
fn underline(text: &str) -> Option<usize> {
    let line = first_line(text);
    let bare = unindented(line).trim_end_matches(' ');
    let mark = bare.chars().next().filter(|mark| matches!(mark, '=' | '-'))?;
    let is_underline = bare.chars().all(|letter| letter == mark);
    is_underline.then(|| line.len() + newlines(&text[line.len()..]).unwrap_or(0))
}

/// Returns true if a line cannot be part of an underlined heading.
fn ends_heading(text: &str, is_later: bool, dialect: Dialect) -> bool {
    let line = first_line(text);
    let bare = unindented(line);
    let is_blank = is_later && line.chars().all(is_space) && text.len() > line.len();
    let is_tag = || {
        let end =
            bare.strip_prefix('<').and_then(|tag| tag.find('>').filter(|end| *end > 0).map(|end| end + 2));
        end.is_some_and(|end| bare.len() == end && text.len() > line.len())
    };
    is_blank
        || is_list_mark(line, false)
        || after_code_indent(line).is_some()
        || bare.starts_with("```")
        || bare.starts_with("~~~")
        || bare.starts_with('>')
        || bare.starts_with('#')
        || is_tag()
        || dialect == Dialect::GitHub && is_delimiter_row(bare) && text.len() > line.len()
}

/// Returns true for a row like `|---|:-:|`, which cannot be part of an underlined heading.
fn is_delimiter_row(line: &str) -> bool {
    line.contains('|') && line.chars().all(|letter| matches!(letter, ':' | '-' | ' ' | '|'))
}

/// Returns the length of a table with the newlines after it.
fn table(text: &str) -> Option<usize> {
    let header = first_line(text);
    let bare = header.trim_start_matches(' ');
    if bare.is_empty() || bare.contains(['\u{2028}', '\u{2029}']) || header.len() == text.len() {
        return None;
    }
    let mut at = header.len() + 1;
    let delimiters = first_line(&text[at..]);
    if !are_delimiters(unindented(delimiters)) {
        return None;
    }
    at += delimiters.len();
    while at < text.len() {
        let row = &text[at + 1..];
        let line = first_line(row);
        let is_blank = line.bytes().all(|byte| byte == b' ') && line.len() < row.len();
        let ends = is_blank
            || row.is_empty()
            || after_code_indent(line).is_some_and(|code| !code.is_empty())
            || interrupts(row, Dialect::Plain);
        if ends {
            return Some(at + newlines(&text[at..]).unwrap_or(0));
        }
        at += 1 + line.len();
    }
    Some(text.len())
}

/// Returns true for the second line of a table.
fn are_delimiters(line: &str) -> bool {
    if line.contains("||") {
        return false;
    }
    let inner = line.trim_end_matches(' ');
    let inner = inner.strip_prefix('|').unwrap_or(inner);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner.split('|').all(|cell| {
        let cell = cell.trim_matches(' ');
        let dashes = cell.strip_prefix(':').unwrap_or(cell);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    })
}

/// Returns true if the first two lines of a table have as many columns.
fn has_equal_columns(table: &str) -> bool {
    let mut lines = table.split('\n');
    let columns = |line: &str| {
        let mut cells = Vec::new();
        let mut cell = String::new();
        let mut is_escaped = false;
        for letter in line.chars() {
            if letter == '|' && !is_escaped {
                cells.push(std::mem::take(&mut cell));
            } else {
                cell.push(letter);
            }
            is_escaped = letter == '\\' && !is_escaped;
        }
        cells.push(cell);
        let is_blank = |cell: Option<&String>| cell.is_some_and(|cell| trim(cell).is_empty());
        let edges =
            usize::from(is_blank(cells.first())) + usize::from(cells.len() > 1 && is_blank(cells.last()));
        cells.len() - edges
    };
    let header = lines.next().map_or(0, columns);
    let delimiters = lines.next().map_or(0, |line| {
        let line = line.trim_matches(' ');
        let line = line.strip_prefix('|').unwrap_or(line);
        line.strip_suffix('|').unwrap_or(line).split('|').count()
    });
    header == delimiters
}
