//! How files that a text names are read with it.

use crate::profile::{ByteOrderMark, Piece};

/// How files that a text names are read with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imports {
    /// Where their text stands.
    pub place: ImportPlace,
    /// How many of them may lead to a file, one in the other.
    pub max_depth: usize,
    /// What names a file.
    pub syntax: ImportSyntax,
    /// Where they may be.
    pub bounds: ImportBounds,
    /// Which extensions their names may have, besides none; all where this is empty.
    pub extensions: &'static [&'static str],
    /// Where a file stands that is read anyway and that an earlier one names, too.
    pub chain_files: ChainFiles,
    /// What a path with a zero byte in it does.
    pub zero_byte: ZeroByte,
}

/// Where a file stands that is read anyway and that an earlier one names, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainFiles {
    /// At its own place.
    Stay,
    /// Where it is named first, as if it were like the file that names it.
    Move,
}

/// What a path with a zero byte in it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroByte {
    /// It leads nowhere.
    Nowhere,
    /// It costs all files.
    LosesAll,
}

/// Where the text of an imported file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportPlace {
    /// In a block of its own, right after that of the file that names it.
    OwnBlockAfter,
    /// Where it is named.
    InPlace(&'static InPlace),
}

/// What names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportSyntax {
    /// A word that begins with `@`, outside code and comments; punctuation after it may not belong to it.
    Words,
    /// `@` behind white space and all up to the next; its first character a dot, a slash or an ASCII letter. Code is what
    /// is between equal runs of backticks.
    SpacedOutsideBackticks,
    /// The same, but code is what Markdown says; in lists and tables nothing is.
    SpacedOutsideMarkdownCode,
    /// `@` behind anything that cannot end a mail address's name, and all up to white space or a quote, without the
    /// punctuation at its end; a relative path with an extension. Code is lines between fences, and what is between equal runs
    /// of backticks in a line, or behind one without a second.
    Punctuated,
    /// `@` at the beginning of a run of plain Markdown text or behind white space, up to white space or a `#`.
    MarkdownText,
}

/// Where imported files may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportBounds {
    /// In the root; those of the user's own files in the agent's directory.
    Root,
    /// Where they lead, in the working directory; those of the user's own files anywhere.
    WorkingDirectory,
    /// By their path, in the repository of the file that is read, or in its directory where there is none.
    RepositoryByPath,
    /// The same, and where they lead, too.
    Repository,
}

/// How an import that stands where it is named is written.
#[derive(Debug, PartialEq, Eq)]
pub struct InPlace {
    /// What stands before its text.
    pub before: &'static [Piece],
    /// What stands after its text.
    pub after: &'static [Piece],
    /// Whether white space at the end of its text goes.
    pub trimmed_end: bool,
    /// What stands for a file that is there already.
    pub repeated: &'static [Piece],
    /// What stands for a file that is not where it may be; none where the text stays as it is.
    pub outside: Option<&'static [Piece]>,
    /// What stands for a file that does not exist.
    pub missing: Option<&'static [Piece]>,
    /// What stands for what is no file.
    pub unreadable: Option<&'static [Piece]>,
    /// Whether files go by where they lead.
    pub resolves_links: bool,
    /// What counts as being there already.
    pub repeats: ImportRepeats,
    /// What becomes of a byte order mark.
    pub byte_order_mark: ByteOrderMark,
    /// Whether files that are not UTF-8 are left out.
    pub utf8_alone: bool,
}

/// What counts as being there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportRepeats {
    /// Imports that led here.
    OnTheWay,
    /// Imports that led here, and the file that they began in.
    OnTheWayWithFirst,
    /// Everything that was imported into the file that they began in, and that file.
    Anywhere,
}
