//! HTML blocks and tags.

use super::{first_line, is_space, unindented};

/// Elements whose tags begin a block wherever they are.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "meta",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];
/// Elements whose content is no Markdown. Their closing tags begin no block.
const RAW: &[&str] = &["script", "pre", "style", "textarea"];

/// Removes all comments.
pub(crate) fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        // An unclosed comment stays in the text, as it does in the agents.
        let Some(length) = rest[start + 4..].find("-->") else { break };
        kept.push_str(&rest[..start]);
        rest = &rest[start + 4 + length + 3..];
    }
    kept.push_str(rest);
    kept
}

/// Returns the length of the HTML block at the beginning of a text.
pub(super) fn block(text: &str) -> Option<usize> {
    let html = unindented(text);
    let before = text.len() - html.len();
    let tag = html.strip_prefix('<')?;
    let length = raw_element(html)
        .or_else(|| comment(html).map(|end| with_line(html, end)))
        .or_else(|| delimited(html, "<?", "?>"))
        .or_else(|| {
            let is_declaration = tag.strip_prefix('!').is_some_and(starts_with_letter);
            is_declaration.then(|| delimited(html, "<!", ">")).flatten()
        })
        .or_else(|| delimited(html, "<![CDATA[", "]]>"))
        .or_else(|| begins_block(tag).then(|| until_blank(html)))
        .or_else(|| stands_alone(tag).then(|| until_blank(html)))?;
    Some(before + length)
}

fn starts_with_letter(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}

/// Returns the length with the newlines after it.
fn with_newlines(text: &str, length: usize) -> usize {
    length + text[length..].bytes().take_while(|byte| *byte == b'\n').count()
}

/// Returns the length with the rest of the line and the newlines after it.
fn with_line(text: &str, length: usize) -> usize {
    with_newlines(text, length + first_line(&text[length..]).len())
}

/// Returns the length of a text between two marks with the newlines after it. Without an end it is all text.
fn delimited(text: &str, start: &str, end: &str) -> Option<usize> {
    let inner = text
        .strip_prefix(start)
        .or_else(|| starts_with_ignoring_case(text, start).then(|| &text[start.len()..]))?;
    let found = inner.find(end);
    Some(found.map_or(text.len(), |at| with_newlines(text, start.len() + at + end.len())))
}

/// Returns the length of an element without Markdown. Its closing tag has to be followed by a newline.
fn raw_element(text: &str) -> Option<usize> {
    let name = RAW.iter().find(|name| starts_with_ignoring_case(&text[1..], name))?;
    let after = &text[1 + name.len()..];
    if !after.starts_with(|letter| is_space(letter) || letter == '>') {
        return None;
    }
    let lower = after.to_ascii_lowercase();
    let closing = format!("</{name}>");
    let offset = text.len() - after.len();
    for (at, _) in lower.match_indices(&closing) {
        let end = offset + at + closing.len();
        let line = first_line(&text[end..]);
        if end + line.len() < text.len() {
            return Some(with_line(text, end));
        }
    }
    Some(text.len())
}

/// Returns the length of a comment. Without an end it is all text.
fn comment(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("<!--")?;
    let length = if inner.starts_with('>') {
        1
    } else if inner.starts_with("->") {
        2
    } else {
        inner.find("-->").map_or(inner.len(), |at| at + 3)
    };
    Some(4 + length)
}

/// Returns true if the text after `<` is a tag of a block.
fn begins_block(tag: &str) -> bool {
    let name = tag.strip_prefix('/').unwrap_or(tag);
    let length = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let after = &name[length..];
    BLOCKS.iter().any(|block| block.eq_ignore_ascii_case(&name[..length]))
        && (after.starts_with([' ', '\n', '>']) || after.starts_with("/>"))
}

/// Returns true if the text after `<` is a tag that is alone in its line.
fn stands_alone(tag: &str) -> bool {
    let (name, is_closing) = match tag.strip_prefix('/') {
        Some(name) => (name, true),
        None => (tag, false),
    };
    if !starts_with_letter(name) || RAW.iter().any(|raw| starts_with_ignoring_case(name, raw)) {
        return false;
    }
    let rest = name.trim_start_matches(|letter: char| is_word(letter) || letter == '-');
    let rest = if is_closing {
        rest.trim_start_matches(is_space).strip_prefix('>')
    } else {
        after_attributes(rest, |letter| letter == ' ').and_then(|rest| {
            let rest = rest.trim_start_matches(' ');
            rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>'))
        })
    };
    rest.is_some_and(|rest| first_line(rest).bytes().all(|byte| matches!(byte, b' ' | b'\t')))
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns the text after the attributes of a tag. `is_blank` describes the white space between them; in blocks, values in
/// quotes do not span lines.
fn after_attributes(text: &str, is_blank: fn(char) -> bool) -> Option<&str> {
    let is_block = !is_blank('\n');
    let mut rest = text;
    loop {
        let name = rest.trim_start_matches(is_blank);
        if name.len() == rest.len()
            || !name.starts_with(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | ':'))
        {
            return Some(rest);
        }
        rest = name.trim_start_matches(|letter: char| is_word(letter) || matches!(letter, '.' | ':' | '-'));
        let Some(value) = rest.trim_start_matches(is_blank).strip_prefix('=') else { continue };
        let value = value.trim_start_matches(is_blank);
        if let Some(mark) = value.chars().next().filter(|mark| matches!(mark, '"' | '\'')) {
            let inner = &value[1..];
            let end = inner.find(mark)?;
            if is_block && inner[..end].contains('\n') {
                return None;
            }
            rest = &inner[end + 1..];
        } else {
            let after = value.trim_start_matches(|letter| !is_space(letter) && !"\"'=<>`".contains(letter));
            if after.len() == value.len() {
                return None;
            }
            // A slash before the end belongs to the tag if nothing else closes it.
            rest = after;
        }
    }
}

/// Returns the length up to the first empty line, with all empty lines there.
fn until_blank(text: &str) -> usize {
    let mut at = 0;
    while let Some(newline) = text[at..].find('\n').map(|newline| at + newline) {
        let mut end = newline + 1;
        let mut last = None;
        loop {
            let blank = text[end..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            if !text[end + blank..].starts_with('\n') {
                break;
            }
            end += blank + 1;
            last = Some(end);
        }
        if let Some(last) = last {
            return last;
        }
        at = newline + 1;
    }
    text.len()
}

/// Returns true if the HTML at the beginning of a line interrupts a paragraph.
pub(super) fn interrupts(text: &str) -> bool {
    let Some(tag) = text.strip_prefix('<') else { return false };
    let is_raw = tag.starts_with("!--") || RAW.iter().any(|raw| tag.starts_with(raw));
    let name = tag.strip_prefix('/').unwrap_or(tag);
    let length = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    is_raw || BLOCKS.contains(&&name[..length]) && begins_block(tag)
}

/// Returns true if the HTML at the beginning of a line ends an item of a list.
pub(super) fn begins_in_list(line: &str) -> bool {
    let Some(tag) = line.strip_prefix('<') else { return false };
    tag.starts_with("!--") || starts_with_letter(tag) && tag.contains('>')
}

/// Returns the length of the tag, comment or declaration at the beginning of a text.
pub(super) fn tag(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('<')?;
    if let Some(comment) = inner.strip_prefix("!--") {
        let short = ["->", ">"].iter().find(|end| comment.starts_with(**end)).map(|end| end.len());
        return Some(4 + short.or_else(|| comment.find("-->").map(|at| at + 3))?);
    }
    if let Some(data) = inner.strip_prefix("![CDATA[") {
        return Some(9 + data.find("]]>")? + 3);
    }
    if let Some(processing) = inner.strip_prefix('?') {
        return Some(2 + processing.find("?>")? + 2);
    }
    if let Some(declaration) = inner.strip_prefix('!') {
        let rest = declaration.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        if rest.len() == declaration.len() || !rest.starts_with(is_space) {
            return None;
        }
        let blank = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[blank..].find('>')?;
        return Some(text.len() - rest.len() + blank + end + 1);
    }
    let (name, is_closing) = match inner.strip_prefix('/') {
        Some(name) => (name, true),
        None => (inner, false),
    };
    if !starts_with_letter(name) {
        return None;
    }
    let rest = name
        .trim_start_matches(|letter: char| is_word(letter) || letter == '-' || is_closing && letter == ':');
    let rest = if is_closing { rest } else { after_attributes(rest, is_space)? };
    let rest = rest.trim_start_matches(is_space);
    let rest = match (is_closing, rest.strip_prefix('/')) {
        (false, Some(rest)) => rest,
        _ => rest,
    };
    Some(text.len() - rest.strip_prefix('>')?.len())
}
