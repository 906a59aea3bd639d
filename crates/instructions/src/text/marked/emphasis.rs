//! Emphasis.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

use super::inline::Line;
use super::{Dialect, Kind, Lexer, Token, is_space};

/// Returns true for punctuation and symbols.
pub(super) fn is_punctuation(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_punctuation();
    }
    matches!(
        letter.general_category_group(),
        GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol
    )
}

/// Kind of a character beside a mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Space,
    Punctuation,
    Letter,
}

fn side(letter: char, dialect: Dialect) -> Side {
    if is_space(letter) {
        Side::Space
    } else if is_punctuation(letter) && !(letter == '~' && dialect == Dialect::GitHub) {
        Side::Punctuation
    } else {
        Side::Letter
    }
}

/// Part of a run of marks, as its neighbors decide.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Closes,
    Opens,
    Both,
}

/// A run of marks after the opening one.
struct Run {
    /// Position of the character before it.
    before: usize,
    length: usize,
    part: Part,
    end: usize,
}

impl Lexer {
    /// Returns the emphasized text at a mark, and its length.
    pub(super) fn emphasis(
        &mut self,
        line: &Line<'_>,
        at: usize,
        previous: Option<char>,
    ) -> Option<(Token, usize)> {
        let mark = line.letters[at];
        let opening = line.letters[at..].iter().take_while(|letter| **letter == mark).count();
        let next = *line.letters.get(at + opening)?;
        let next_side = side(next, self.dialect);
        if next_side == Side::Space {
            return None;
        }
        let is_letter = |letter: char| letter.is_alphanumeric();
        if mark == '_' && next_side == Side::Letter && previous.is_some_and(is_letter) {
            return None;
        }
        let is_after_border = previous.is_none_or(|previous| {
            !matches!(previous, '*' | '_') && (is_space(previous) || is_punctuation(previous))
        });
        if next_side == Side::Punctuation && !is_after_border {
            return None;
        }
        let masked = &line.masked[at + opening..];
        let (mut open, mut middle) = (opening, 0);
        let mut from = 0;
        while let Some(run) = self.next_run(masked, from, mark) {
            from = run.end;
            let mut length = run.length;
            match run.part {
                Part::Opens => {
                    open += length;
                    continue;
                }
                Part::Both if opening % 3 != 0 && (opening + length).is_multiple_of(3) => {
                    middle += length;
                    continue;
                }
                Part::Both | Part::Closes => {}
            }
            if open > length {
                open -= length;
                continue;
            }
            // More marks than are open end other emphasis.
            length = length.min(open + middle);
            let end = at + opening + run.before + 1 + length;
            let width = if opening.min(length) % 2 == 1 { 1 } else { 2 };
            let raw = line.between(at, end);
            let text = line.between(at + width, end - width);
            let tokens = self.inline(text);
            let token = Token { tokens: Some(tokens), ..Token::with_text(Kind::Emphasis, raw, text) };
            return Some((token, end - at));
        }
        None
    }

    /// Returns the next run of marks that opens or closes emphasis.
    fn next_run(&mut self, text: &[char], from: usize, mark: char) -> Option<Run> {
        let mut at = from;
        if at == 0 {
            at = other_strong_end(text, mark).unwrap_or(0);
        }
        while at < text.len() {
            let plain = text[at..].iter().take_while(|letter| **letter != mark).count();
            if !self.has_work(plain) {
                return None;
            }
            if plain == 0 {
                at += 1;
                continue;
            }
            // The character before the run decides with the one after it.
            let before = at + plain - 1;
            let length = text[before + 1..].iter().take_while(|letter| **letter == mark).count();
            if length == 0 {
                return None;
            }
            let end = before + 1 + length;
            let left = side(text[before], self.dialect);
            let right = text.get(end).map_or(Side::Space, |letter| side(*letter, self.dialect));
            let part = match (left, right) {
                (Side::Punctuation, Side::Space) | (Side::Letter, Side::Space | Side::Punctuation) => {
                    Some(Part::Closes)
                }
                (Side::Space | Side::Punctuation, Side::Letter) | (Side::Space, Side::Punctuation) => {
                    Some(Part::Opens)
                }
                (Side::Punctuation, Side::Punctuation) => Some(Part::Both),
                (Side::Letter, Side::Letter) if mark == '*' => Some(Part::Both),
                (Side::Letter, Side::Letter) | (Side::Space, Side::Space) => None,
            };
            if let Some(part) = part {
                return Some(Run { before, length, part, end });
            }
            at = end;
        }
        None
    }
}

/// Returns the end of strong text of the other mark around a single one, which is skipped.
fn other_strong_end(text: &[char], mark: char) -> Option<usize> {
    let other = if mark == '*' { '_' } else { '*' };
    let is_plain = |letter: &char| !matches!(*letter, '*' | '_');
    let skip = |from: usize| from + text[from..].iter().take_while(|letter| is_plain(letter)).count();
    let start = skip(0);
    if text.get(start..start + 2)? != [other, other] {
        return None;
    }
    let middle = skip(start + 2);
    if *text.get(middle)? != mark {
        return None;
    }
    let end = skip(middle + 1);
    (text.get(end..end + 2)? == [other, other]).then_some(end)
}
