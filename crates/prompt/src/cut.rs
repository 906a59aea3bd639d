//! Cuts a text to a number of characters, at the end of a line, and marks the cut.

use std::borrow::Cow;

/// The result of cutting a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cut<'a> {
    /// The whole text fits.
    Whole(&'a str),
    /// The beginning, with a mark as its last line; never longer than allowed.
    Part(String),
    /// Not even the mark fits.
    Nothing,
}

impl<'a> Cut<'a> {
    /// Returns the remaining text. `None` if nothing fits.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Cut::Whole(text) => Some(Cow::Borrowed(text)),
            Cut::Part(text) => Some(Cow::Owned(text)),
            Cut::Nothing => None,
        }
    }
}

/// The unread rest of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The text is complete.
    None,
    /// The source is longer than the text, so even a text that fits ends with a mark.
    Unread,
}

/// Returns the line that marks a cut.
fn mark(kept: usize, total: usize, rest: Rest) -> String {
    let more = match rest {
        Rest::None => "",
        Rest::Unread => "more than ",
    };
    format!("[foreword: {kept} of {more}{total} characters shown]")
}

/// Cuts a text to at most `limit` characters, including the mark.
///
/// The cut is at the end of a line if one ends in the second half of the part that fits, else between two characters.
pub(crate) fn cut(text: &str, limit: usize, rest: Rest) -> Cut<'_> {
    // A character has at least one byte, so a text with few bytes need not be counted.
    if rest == Rest::None && text.len() <= limit {
        return Cut::Whole(text);
    }
    let total = text.chars().count();
    if rest == Rest::None && total <= limit {
        return Cut::Whole(text);
    }
    // Reserve space for the longest mark: the final number of kept characters is not known yet.
    let room = mark(total, total, rest).chars().count() + 1;
    let Some(fits) = limit.checked_sub(room).filter(|fits| *fits > 0) else {
        let mark = mark(0, total, rest);
        return if mark.chars().count() <= limit { Cut::Part(mark) } else { Cut::Nothing };
    };
    // The second half is the limit for moving back to a line end: a text of one very long line would otherwise lose
    // almost everything.
    let end = text.char_indices().nth(fits).map_or(text.len(), |(index, _)| index);
    let half = text.char_indices().nth(fits / 2).map_or(0, |(index, _)| index);
    let line = text[..end].rfind('\n').filter(|line| *line >= half);
    let kept = text[..line.unwrap_or(end)].trim_end_matches('\n');
    let mark = mark(kept.chars().count(), total, rest);
    Cut::Part(if kept.is_empty() { mark } else { format!("{kept}\n{mark}") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, limit: usize) -> Option<String> {
        cut(text, limit, Rest::None).text().map(Cow::into_owned)
    }

    #[test]
    fn cuts_fall_on_lines_and_leave_a_mark() {
        assert_eq!(shown("short", 5).as_deref(), Some("short"));
        assert_eq!(shown("ééééé", 5).as_deref(), Some("ééééé"), "characters are counted, not bytes");
        let lines = "0123456789\n".repeat(10);
        assert_eq!(
            shown(&lines, 80).as_deref(),
            Some("0123456789\n0123456789\n0123456789\n[foreword: 32 of 110 characters shown]")
        );
        let long = "é".repeat(100);
        assert_eq!(
            shown(&long, 60).as_deref(),
            Some(format!("{}\n[foreword: 20 of 100 characters shown]", "é".repeat(20)).as_str())
        );
        assert_eq!(shown(&long, 40).as_deref(), Some("[foreword: 0 of 100 characters shown]"));
        assert_eq!(shown(&long, 10), None);
        assert_eq!(shown("x", 0), None);
        assert_eq!(shown("", 0).as_deref(), Some(""));
    }

    proptest! {
        #[test]
        fn never_more_than_allowed(text in "(\\PC|\\n){0,300}", limit in 0_usize..200) {
            // A text whose source is longer must always show that, even if the part that was read would fit.
            prop_assert!(!matches!(cut(&text, limit, Rest::Unread), Cut::Whole(_)));
            match cut(&text, limit, Rest::None) {
                Cut::Whole(whole) => prop_assert!(whole == text && text.chars().count() <= limit),
                Cut::Part(part) => {
                    prop_assert!(part.chars().count() <= limit);
                    prop_assert!(part.ends_with("characters shown]"));
                    let kept = part.rsplit_once('\n').map_or("", |(kept, _)| kept);
                    prop_assert!(text.starts_with(kept));
                }
                Cut::Nothing => prop_assert!(limit < 60),
            }
        }
    }
}
