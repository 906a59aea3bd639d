//! Case and accent folding, and the role of characters in words.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Role of a character in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharacterKind {
    /// Letter or digit of a script that separates words.
    Spaced,
    /// Letter of a script that does not separate words, or attaches endings to them.
    Unspaced,
    /// Belongs to the preceding character.
    Mark,
    /// Neither part of a word nor a separator: an apostrophe, a soft hyphen, a joiner.
    Ignored,
    /// Separates words.
    Between,
}

/// Marks that people leave out when they type: accents, and the points of Hebrew and Arabic.
// The marks of other scripts are vowels, and removing them would change the word.
const FOLDED_MARKS: &[(char, char)] = &[
    ('\u{300}', '\u{36F}'),
    ('\u{483}', '\u{487}'),
    ('\u{591}', '\u{5BD}'),
    ('\u{5BF}', '\u{5BF}'),
    ('\u{5C1}', '\u{5C2}'),
    ('\u{5C4}', '\u{5C5}'),
    ('\u{5C7}', '\u{5C7}'),
    ('\u{610}', '\u{61A}'),
    ('\u{640}', '\u{640}'),
    ('\u{64B}', '\u{65F}'),
    ('\u{670}', '\u{670}'),
    ('\u{6D6}', '\u{6DC}'),
    ('\u{6DF}', '\u{6E8}'),
    ('\u{6EA}', '\u{6ED}'),
    ('\u{1AB0}', '\u{1AFF}'),
    ('\u{1DC0}', '\u{1DFF}'),
    ('\u{20D0}', '\u{20FF}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FE20}', '\u{FE2F}'),
];

/// Letters with strokes and ligatures, which Unicode does not decompose, and the two small forms of one letter.
const FOLDED_LETTERS: &[(char, &str)] = &[
    ('ß', "ss"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('đ', "d"),
    ('ð', "d"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ł', "l"),
    ('ŧ', "t"),
    ('þ', "th"),
    ('ς', "σ"),
];

/// Scripts that do not separate words, and Hangul, whose particles are attached to words.
const UNSPACED: &[(char, char)] = &[
    // Thai, Lao.
    ('\u{E00}', '\u{EFF}'),
    // Tibetan has a point between syllables and nothing between words.
    ('\u{F00}', '\u{FFF}'),
    // Burmese.
    ('\u{1000}', '\u{109F}'),
    // Hangul.
    ('\u{1100}', '\u{11FF}'),
    // Khmer.
    ('\u{1780}', '\u{17FF}'),
    // New Tai Lue, Tai Le, Tai Tham.
    ('\u{1950}', '\u{19DF}'),
    ('\u{1A20}', '\u{1AAF}'),
    // Balinese, Javanese.
    ('\u{1B00}', '\u{1B7F}'),
    ('\u{A980}', '\u{A9DF}'),
    // Ideographs, kana, bopomofo, Yi.
    ('\u{2E80}', '\u{2FFF}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3021}', '\u{31FF}'),
    ('\u{3400}', '\u{4DBF}'),
    ('\u{4E00}', '\u{9FFF}'),
    ('\u{A000}', '\u{A4CF}'),
    ('\u{A960}', '\u{A97F}'),
    ('\u{A9E0}', '\u{A9FF}'),
    ('\u{AA60}', '\u{AADF}'),
    ('\u{AC00}', '\u{D7FF}'),
    ('\u{F900}', '\u{FAFF}'),
    ('\u{1AFF0}', '\u{1B16F}'),
    ('\u{17000}', '\u{18DFF}'),
    ('\u{20000}', '\u{3FFFF}'),
];

/// Marks and signs inside a word that are not part of it.
const IGNORED: &[char] =
    &['\'', '\u{2019}', '\u{2BC}', '\u{AD}', '\u{200B}', '\u{200C}', '\u{200D}', '\u{2060}', '\u{FEFF}'];

fn is_in(ranges: &[(char, char)], character: char) -> bool {
    // A fast path: none of the tables contains ASCII, and most texts are ASCII.
    !character.is_ascii() && ranges.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// Folds a text for comparison: compatibility forms unified, lower case, without accents.
pub(super) fn fold(text: &str) -> impl Iterator<Item = char> {
    let taken_apart = text.nfkd().filter(|character| !is_in(FOLDED_MARKS, *character));
    // Lower-case letters may decompose again, such as that of `İ`.
    let small = taken_apart.flat_map(char::to_lowercase).filter(|it| !is_in(FOLDED_MARKS, *it));
    let plain = small.flat_map(|character| {
        let letters = FOLDED_LETTERS.iter().find(|(letter, _)| !character.is_ascii() && *letter == character);
        let (own, others) = match letters {
            Some((_, letters)) => (None, *letters),
            None => (Some(character), ""),
        };
        own.into_iter().chain(others.chars())
    });
    plain.nfc()
}

/// Returns the role of a folded character.
pub(super) fn kind(character: char) -> CharacterKind {
    if character.is_ascii_alphanumeric() {
        CharacterKind::Spaced
    } else if IGNORED.contains(&character) {
        CharacterKind::Ignored
    } else if is_combining_mark(character) {
        CharacterKind::Mark
    } else if !character.is_alphanumeric() {
        CharacterKind::Between
    } else if is_in(UNSPACED, character) {
        CharacterKind::Unspaced
    } else {
        CharacterKind::Spaced
    }
}
