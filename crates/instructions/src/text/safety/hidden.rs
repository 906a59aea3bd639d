//! Tables of characters that cannot be seen or that reorder text, for all crates.

/// Classification of an invisible character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// It can hide or reorder text.
    Dangerous(&'static str),
    /// It has legitimate uses, but not here.
    Misplaced(&'static str),
    /// It is used legitimately, but can still split a word.
    Honest(&'static str),
}

/// Classifies a character between two others; `None` if it is harmless.
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
        // Zero-width spaces mark possible line breaks in scripts without spaces, and joiners select letter forms.
        // Removing them there would change how the text is displayed.
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

/// Returns true if a joiner or an emoji selector is between two pictographs, as in a family emoji.
pub(super) fn joins_pictures(before: &str, after: Option<char>) -> bool {
    let mut before = before.chars().rev();
    let last = before.next().and_then(|last| if last == '\u{fe0f}' { before.next() } else { Some(last) });
    last.is_some_and(is_picture) && after.is_some_and(is_picture)
}

/// Flags written with tag characters: England, Scotland and Wales. Any other such sequence can hide text.
const FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Returns true if the character at a position is part of a flag.
pub(super) fn is_in_flag(text: &str, position: usize) -> bool {
    // All characters of a flag have four bytes.
    let starts = (1..=6).filter_map(|characters| position.checked_sub(4 * characters));
    let mut behind = starts.map(|start| &text.as_bytes()[start..]);
    behind.any(|rest| FLAGS.iter().any(|flag| rest.starts_with(flag.as_bytes())))
}

/// Returns true if readers cannot see a character: Unicode's default ignorables, and controls other than
/// white space.
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

/// Returns true if a character changes the order in which others are displayed: directional marks, embeddings,
/// overrides and isolates.
pub fn reorders_text(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true if a character cannot be seen in a terminal, or changes how others are displayed.
// Wider than `is_ignorable`: where a person approves a command, unusual blanks and private-use characters must be
// visible as well. The emoji selector U+FE0F stays, because it follows a visible character and has no width.
pub fn is_unseen(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => true,
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0e}' | '\u{e0000}'..='\u{e0fff}' => true,
        // The standard library escapes what is not printable. Behind a letter it leaves combining accents alone.
        _ => format!("a{character}").escape_debug().count() > 2,
    }
}

/// Returns true if agents that clean files remove a character.
// This is observed behavior of those agents and must not follow changes to `is_ignorable`.
pub(crate) fn is_removed_by_agents(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// First bytes of all characters that [`hidden`] can classify, and of characters that look like `<`.
pub(super) const FIRST_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = [b'<', 0xc2, 0xcb, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3];
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

/// Returns true for pictographs, keycap digits, ideographs and scripts with registered variations.
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

/// Returns true for letters and marks of scripts in which a joiner affects rendering: Arabic and related
/// scripts, the scripts of India and South East Asia, Mongolian.
fn is_joined(character: char) -> bool {
    let range = matches!(
        u32::from(character),
        0x600..=0xdff | 0xf00..=0x109f | 0x1700..=0x18af | 0x1900..=0x1cff | 0xa800..=0xabff
            | 0xfb50..=0xfdff | 0xfe70..=0xfefc | 0x10a00..=0x11fff | 0x1e900..=0x1e95f
    );
    range && !is_ignorable(character)
}

/// Returns true for Thai, Lao, Tibetan, Burmese, Khmer and East Asian scripts.
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

    /// The scan skips to these bytes, so the table must be complete.
    #[test]
    fn first_bytes_are_complete() {
        for character in ('\0'..=char::MAX).filter(|it| hidden(Some('a'), *it, Some('b')).is_some()) {
            let mut bytes = [0; 4];
            let first = character.encode_utf8(&mut bytes).as_bytes()[0];
            assert!(FIRST_BYTES[usize::from(first)], "{character:?}");
        }
    }
}
