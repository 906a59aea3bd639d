//! What becomes of a file's text before it is passed on.

/// What happens to a byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// It goes.
    Stripped,
    /// It stays in the text.
    Kept,
}

/// What a YAML block at the beginning of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontMatterRule {
    /// Text.
    Text,
    /// With `applies_to` or `audience` in it, the conditions under which the file applies; else text.
    Conditions,
    /// Nothing: it goes.
    Stripped,
}

/// What becomes of comments in Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    /// They stay.
    Kept,
    /// Those that are blocks of their own go.
    BlocksStripped,
}

/// What becomes of white space around a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhiteSpace {
    /// It stays.
    Kept,
    /// It goes.
    Trimmed,
}

/// What becomes of characters that nobody sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invisible {
    /// They stay.
    Kept,
    /// Those go that hide text: zero-width spaces, directions, tags, soft hyphens. Joiners stay.
    Removed,
}
