//! Characters that cannot be seen: which of them can hide something, and where they belong.

/// What a character is that cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// It can carry text that people do not see, or reorder what they see.
    Dangerous(&'static str),
    /// It has honest uses, but not here.
    Misplaced(&'static str),
    /// It is where it is meant to be, and can still split a word that people read as one.
    Honest(&'static str),
}

/// What is wrong with a character between two others; none where nothing is.
pub(super) fn hidden(before: Option<char>, character: char, after: Option<char>) -> Option<Hidden> {
    match character {
        '\u{e0000}'..='\u{e007f}' => Some(Hidden::Dangerous("a tag character")),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(Hidden::Dangerous("a bidirectional control"))
        }
        '\u{e0100}'..='\u{e01ef}' => Some(Hidden::Dangerous("a variation selector supplement")),
        '\u{fe00}'..='\u{fe0f}' if before.is_some_and(has_variations) => None,
        '\u{fe00}'..='\u{fe0f}' => Some(Hidden::Misplaced("a variation selector")),
        // A byte order mark.
        '\u{feff}' if before.is_none() => None,
        '\u{200c}' | '\u{200d}' if before.is_some_and(is_joined) => None,
        '\u{200b}' if [before, after].into_iter().flatten().any(is_written_without_spaces) => None,
        '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' => {
            Some(Hidden::Misplaced("a zero-width character"))
        }
        '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            let needed = [before, after].into_iter().flatten().any(is_right_to_left);
            (!needed).then_some(Hidden::Misplaced("a directional mark"))
        }
        '\u{ad}' if [before, after].into_iter().all(|it| it.is_some_and(is_letter)) => {
            Some(Hidden::Honest("an invisible character"))
        }
        '\u{180b}'..='\u{180f}' if before.is_some_and(is_joined) => None,
        _ if is_ignorable(character) && !character.is_control() => {
            Some(Hidden::Misplaced("an invisible character"))
        }
        _ => None,
    }
}

/// Whether a joiner or a selector of an emoji stands between two pictures, as in a family.
pub(super) fn joins_pictures(before: &str, after: Option<char>) -> bool {
    let mut before = before.chars().rev();
    let last = before.next().and_then(|last| if last == '\u{fe0f}' { before.next() } else { Some(last) });
    last.is_some_and(is_picture) && after.is_some_and(is_picture)
}

/// The flags that are written with tag characters: England, Scotland and Wales. Any other such sequence can hide a text.
const FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Whether the character at a position is a part of a flag.
pub(super) fn is_in_flag(text: &str, position: usize) -> bool {
    // All of their characters have four bytes.
    let starts = (1..=6).filter_map(|characters| position.checked_sub(4 * characters));
    let mut behind = starts.map(|start| &text.as_bytes()[start..]);
    behind.any(|rest| FLAGS.iter().any(|flag| rest.starts_with(flag.as_bytes())))
}

/// Whether a character is not there for whoever reads: Unicode's default ignorables, and controls that are no blanks.
pub(super) fn is_ignorable(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => character.is_control() && !character.is_whitespace(),
    }
}

/// The first bytes of everything that [`hidden`] has something to say about, and of what looks like a `<`.
pub(super) const FIRST_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = [b'<', 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3];
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

fn is_picture(character: char) -> bool {
    matches!(u32::from(character), 0x1f000..=0x1faff | 0x2190..=0x2bff | 0x3030 | 0x303d | 0xa9 | 0xae)
}

/// Pictures, digits of key caps, ideographs, and scripts whose letters have registered variations.
fn has_variations(character: char) -> bool {
    let symbol =
        matches!(character, '0'..='9' | '#' | '*' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{218f}');
    let letter = matches!(
        u32::from(character),
        0x1000..=0x109f | 0x3000..=0x9fff | 0xa840..=0xa87f | 0xf900..=0xfaff | 0x20000..=0x3ffff
    );
    (is_picture(character) || symbol || letter) && !is_ignorable(character)
}

fn is_letter(character: char) -> bool {
    character.is_alphabetic() && !is_ignorable(character)
}

/// Letters and marks of scripts in which a joiner decides how they are drawn: Arabic and its relatives, the scripts of
/// India and of South East Asia, Mongolian.
fn is_joined(character: char) -> bool {
    let range = matches!(
        u32::from(character),
        0x600..=0xdff | 0xf00..=0x109f | 0x1700..=0x18af | 0x1900..=0x1cff | 0xa800..=0xabff
            | 0xfb50..=0xfdff | 0xfe70..=0xfefc | 0x10a00..=0x11fff | 0x1e900..=0x1e95f
    );
    range && !is_ignorable(character)
}

/// Thai, Lao, Tibetan, Burmese, Khmer, and the scripts of East Asia.
fn is_written_without_spaces(character: char) -> bool {
    let range =
        matches!(u32::from(character), 0xe00..=0x109f | 0x1780..=0x17ff | 0x1950..=0x1aaf | 0x3040..=0x9fff);
    range && !is_ignorable(character)
}

fn is_right_to_left(character: char) -> bool {
    let range = matches!(u32::from(character), 0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfefc | 0x10800..=0x10fff | 0x1e800..=0x1efff);
    range && !is_ignorable(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scan jumps from first byte to first byte, so none may be missing.
    #[test]
    fn first_bytes_are_complete() {
        for character in ('\0'..=char::MAX).filter(|it| hidden(Some('a'), *it, Some('b')).is_some()) {
            let mut bytes = [0; 4];
            let first = character.encode_utf8(&mut bytes).as_bytes()[0];
            assert!(FIRST_BYTES[usize::from(first)], "{character:?}");
        }
    }
}
