//! Cuts text to a number of characters, at a line end if one is near.

/// Part to keep of a text that is too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// The beginning.
    #[default]
    Start,
    /// The beginning and the end, because a command reports its result at the end.
    Ends,
}

/// A text after a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trimmed {
    pub(crate) text: String,
    pub(crate) removed_bytes: u64,
    pub(crate) removed_lines: u64,
}

/// Cuts a text of more than `max_chars` characters. `None` if it fits.
pub(crate) fn trim(text: &str, max_chars: usize, keep: Keep) -> Option<Trimmed> {
    // The number of bytes is known without counting and is never smaller than that of characters, so most texts are
    // decided by it.
    if text.len() <= max_chars || text.chars().count() <= max_chars {
        return None;
    }
    let (start, end) = match keep {
        Keep::Start => (start(text, max_chars), ""),
        Keep::Ends => (start(text, max_chars.div_ceil(2)), end(text, max_chars / 2)),
    };
    let removed = &text[start.len()..text.len() - end.len()];
    let mut kept = start.to_owned();
    if keep == Keep::Ends {
        let line = if start.is_empty() || start.ends_with('\n') { "" } else { "\n" };
        kept.push_str(&format!("{line}[foreword: {} bytes left out here]\n", removed.len()));
        kept.push_str(end);
    }
    Some(Trimmed { text: kept, removed_bytes: removed.len() as u64, removed_lines: lines(removed) })
}

/// Counts the lines that a piece of text touches.
fn lines(text: &str) -> u64 {
    text.lines().count() as u64
}

/// Returns the first `max_chars` characters, up to a line end if one is in their second half.
fn start(text: &str, max_chars: usize) -> &str {
    let fits = &text[..text.char_indices().nth(max_chars).map_or(text.len(), |(position, _)| position)];
    match fits.rfind('\n') {
        Some(position) if position + 1 >= fits.len() / 2 => &fits[..=position],
        _ => fits,
    }
}

/// Returns the last `max_chars` characters, from the start of a line if one is in their first half.
fn end(text: &str, max_chars: usize) -> &str {
    let from = match max_chars {
        0 => text.len(),
        max_chars => text.char_indices().rev().nth(max_chars - 1).map_or(0, |(position, _)| position),
    };
    let fits = &text[from..];
    if text[..from].ends_with('\n') {
        return fits;
    }
    match fits.find('\n') {
        Some(position) if position < fits.len() / 2 => &fits[position + 1..],
        _ => fits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, max_chars: usize, keep: Keep) -> Option<(String, u64, u64)> {
        trim(text, max_chars, keep).map(|cut| (cut.text, cut.removed_bytes, cut.removed_lines))
    }

    #[test]
    fn cut_is_at_a_nearby_line_end() {
        assert_eq!(cut("one\ntwo\n", 8, Keep::Start), None);
        assert_eq!(cut("one\ntwo\nthree\n", 9, Keep::Start), Some(("one\ntwo\n".into(), 6, 1)));
        assert_eq!(cut("a\nbbbbbbbbbbbbbb", 8, Keep::Start), Some(("a\nbbbbbb".into(), 8, 1)));
    }

    #[test]
    fn characters_are_counted_and_never_split() {
        assert_eq!(cut("äöü", 3, Keep::Start), None);
        assert_eq!(cut("äöüß", 3, Keep::Start), Some(("äöü".into(), 2, 1)));
        assert_eq!(cut("äöüß", 0, Keep::Start), Some((String::new(), 8, 1)));
    }

    #[test]
    fn both_ends_can_be_kept() {
        let text: String = (0..10).map(|line| format!("{line}\n")).collect();
        assert_eq!(
            cut(&text, 8, Keep::Ends),
            Some(("0\n1\n[foreword: 12 bytes left out here]\n8\n9\n".into(), 12, 6))
        );
        assert_eq!(cut("äöüß", 2, Keep::Ends).unwrap().0, "ä\n[foreword: 4 bytes left out here]\nß");
        assert_eq!(cut("ab", 0, Keep::Ends).unwrap().0, "[foreword: 2 bytes left out here]\n");
    }
}
