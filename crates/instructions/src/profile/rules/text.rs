//! Rules that transform a file's text before it is passed on.

/// Changes to the text of every file.
#[derive(Debug, Clone, Copy)]
pub struct TextRules {
    /// Treatment of a byte order mark.
    pub byte_order_mark: ByteOrderMark,
    /// Treatment of a YAML block at the beginning.
    pub front_matter: FrontMatterRule,
    /// Other parts that are removed.
    pub removed: &'static [RemovedPart],
    /// Treatment of white space around the text.
    pub white_space: WhiteSpace,
    /// Treatment of wrapper tags and hidden characters.
    pub unsafe_text: UnsafeText,
    /// Treatment of bytes that are not UTF-8.
    pub encoding: Encoding,
    /// Unicode form of the text and of the paths in it.
    pub normal_form: NormalForm,
}

impl TextRules {
    pub(crate) fn removes(&self, part: RemovedPart) -> bool {
        self.removed.contains(&part)
    }
}

/// Treatment of a byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// Removed.
    Stripped,
    /// Part of the text.
    Kept,
}

/// Treatment of a YAML block at the beginning of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontMatterRule {
    /// Part of the text.
    Text,
    /// The conditions under which the file applies if it has `applies_to` or `audience`, else part of the text.
    Conditions,
    /// Removed.
    Stripped,
    /// Removed if it ends with a line of dashes.
    StrippedLines,
}

/// Parts of a text that are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedPart {
    /// HTML comments that are Markdown blocks of their own.
    CommentBlocks,
    /// Characters that hide text: zero-width spaces, direction marks, tags, soft hyphens. Joiners stay.
    HiddenCharacters,
}

/// Treatment of bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// They are shown as U+FFFD.
    Replaced,
    /// They are left out.
    Dropped,
    /// A file with such bytes is not read.
    Required,
}

/// Unicode form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormalForm {
    /// Unchanged.
    AsWritten,
    /// Composed characters (NFC).
    Composed,
}

/// Treatment of white space around a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhiteSpace {
    /// Part of the text.
    Kept,
    /// Removed, with the byte order mark among it, as in JavaScript.
    Trimmed,
    /// Removed, as Unicode has it.
    TrimmedAsUnicode,
    /// Removed at the end.
    TrimmedAtEnd,
}

/// Treatment of wrapper tags and hidden characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnsafeText {
    /// Tags are neutralized, hidden characters are made visible, and both are reported.
    MadeHarmless,
    /// Both are reported.
    Reported,
}
