//! Definitions of links.

use super::{first_line, is_space, trim, unindented};

/// Returns the length of the definition at the beginning of a text, with the newlines after it, and its label.
pub(super) fn find(text: &str) -> Option<(usize, String)> {
    let inner = unindented(text).strip_prefix('[')?;
    let end = label_end(inner)?;
    let label = &inner[..end];
    let after = inner[end..].strip_prefix("]:")?;
    let target = skip_line_break(after.trim_start_matches(' '));
    let lengths = target_lengths(target);
    let length = lengths.into_iter().find_map(|length| {
        let rest = &target[length..];
        Some(text.len() - rest.len() + with_title(rest).or_else(|| end_of_line(rest))?)
    })?;
    Some((length, name(label)))
}

/// Returns the name under which a label is known.
pub(super) fn name(label: &str) -> String {
    let mut name = String::with_capacity(label.len());
    let mut was_blank = false;
    for letter in label.to_lowercase().chars() {
        let is_blank = is_space(letter);
        if !is_blank {
            name.push(letter);
        } else if !was_blank {
            name.push(' ');
        }
        was_blank = is_blank;
    }
    name
}

/// Returns the length of a label, which holds no unescaped bracket and is not blank.
pub(super) fn label_end(text: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '[' => return None,
            ']' => return (!trim(&text[..at]).is_empty()).then_some(at),
            '\\' => {
                letters.next().filter(|(_, next)| *next != '\n')?;
            }
            _ => {}
        }
    }
    None
}

fn skip_line_break(text: &str) -> &str {
    text.strip_prefix('\n').map_or(text, |rest| rest.trim_start_matches([' ', '\t']))
}

/// Returns the possible lengths of a target.
fn target_lengths(text: &str) -> Vec<usize> {
    match text.chars().next() {
        None => Vec::new(),
        // The target may hold the closing bracket, so every one in the line is tried.
        Some('<') => {
            let line = first_line(text).split(['\u{2028}', '\u{2029}']).next().unwrap_or_default();
            line.match_indices('>').map(|(at, _)| at + 1).collect()
        }
        Some(first) if is_space(first) => Vec::new(),
        Some(_) => vec![text.find(is_space).unwrap_or(text.len())],
    }
}

/// Returns the length of blanks and newlines at the end of a definition. `None` if something else follows.
fn end_of_line(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches(' ');
    let end = rest.trim_start_matches('\n');
    (rest.is_empty() || end.len() < rest.len()).then(|| text.len() - end.len())
}

/// Returns the length of a title, with the blanks and newlines around it.
fn with_title(text: &str) -> Option<usize> {
    let blanks = text.trim_start_matches(' ');
    let title = skip_line_break(blanks);
    if title.len() == text.len() {
        return None;
    }
    let before = text.len() - title.len();
    title_ends(title).into_iter().find_map(|end| Some(before + end + end_of_line(&title[end..])?))
}

/// Returns the possible lengths of a title, the most likely first.
fn title_ends(text: &str) -> Vec<usize> {
    match text.chars().next() {
        Some('"') => quoted_ends(text, '"'),
        Some('\'') => {
            let end = text[1..].find('\'').map(|end| end + 2);
            // An empty line ends it.
            end.filter(|end| !text[1..*end].contains("\n\n")).into_iter().collect()
        }
        Some('(') => {
            let end = text[1..].find(['(', ')']).map(|end| end + 1);
            end.filter(|end| text[*end..].starts_with(')')).map(|end| end + 1).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the possible lengths of a text in quotes: up to the first unescaped mark, or else up to an escaped one before.
pub(super) fn quoted_ends(text: &str, mark: char) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == mark {
            ends.push(at + letter.len_utf8());
            if !is_escaped {
                break;
            }
        }
        is_escaped = letter == '\\' && !is_escaped;
        // Only the last few escaped marks are tried.
        if ends.len() > 64 {
            ends.remove(0);
        }
    }
    ends.reverse();
    ends
}
