//! Rules for files that a text imports.

use super::render::Piece;
use super::text::ByteOrderMark;

/// Rules for imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportRules {
    /// Position of an imported text.
    pub place: ImportPlace,
    /// Maximum length of a path of imports.
    pub max_depth: usize,
    /// Syntax that names a file.
    pub syntax: ImportSyntax,
    /// Allowed locations of imported files.
    pub bounds: ImportBounds,
}

impl ImportRules {
    /// Returns true if the conditions in an imported file count, and those of the importing rule do not.
    pub(crate) fn judges_imports_of_rules(&self) -> bool {
        matches!(self.place, ImportPlace::OwnBlockAfter(own) if own.rule_imports == RuleImports::JudgedAlone)
    }
}

/// Position of an imported text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportPlace {
    /// In a block of its own, right after that of the file that imports it.
    OwnBlockAfter(&'static OwnBlock),
    /// In place of the import.
    InPlace(&'static InPlace),
    /// In place of everything in the text that is written like the import, including earlier imported texts.
    Replaced(&'static InPlace),
}

/// Details of imports that get blocks of their own.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnBlock {
    /// Extensions that imported files may have, apart from none. Empty if any is allowed.
    pub extensions: &'static [&'static str],
    /// Position of a file of the chain that an earlier one imports.
    pub chain_files: ChainFiles,
    /// Effect of a zero byte in an imported path.
    pub zero_byte: ZeroByte,
    /// Files that a rule imports.
    pub rule_imports: RuleImports,
}

impl OwnBlock {
    /// Details of Foreword's own imports.
    pub(crate) const PLAIN: Self = Self {
        extensions: &[],
        chain_files: ChainFiles::Stay,
        zero_byte: ZeroByte::NotFound,
        rule_imports: RuleImports::WithRule,
    };
}

/// Files that a rule imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleImports {
    /// They apply whenever the rule does.
    WithRule,
    /// Each applies under the conditions in its own front matter, whether the rule applies or not.
    JudgedAlone,
}

/// Position of a file of the chain that an earlier one imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainFiles {
    /// Its own position in the chain.
    Stay,
    /// After the file that imports it first, labelled like that file.
    Move,
}

/// Effect of a zero byte in an imported path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroByte {
    /// The path is not found.
    NotFound,
    /// All files are lost.
    LosesAll,
}

/// Syntax that names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportSyntax {
    /// A word that begins with `@`, outside code and comments. Punctuation at its end may or may not be part of the path.
    Words,
    /// `@` after white space, up to the next white space. The path begins with a dot, a slash or an ASCII letter. Text between
    /// equal runs of backticks is code.
    SpacedOutsideBackticks,
    /// Like `SpacedOutsideBackticks`, but Markdown decides what is code, except in lists and tables, which have none.
    SpacedOutsideMarkdownCode,
    /// `@` after anything that cannot end the local part of a mail address, up to white space or a quote, without punctuation
    /// at the end. The path is relative and has an extension. Code is lines between fences, and text between equal runs of
    /// backticks in a line, or after an unpaired one.
    Punctuated,
    /// `@` after white space, followed by a name of ASCII letters, digits, `_`, `-`, `.` and `/` that has a dot or a slash,
    /// or that begins with a capital.
    NamesAfterSpace,
    /// `@` at the beginning of a run of plain Markdown text or after white space, up to white space or a `#`.
    MarkdownText,
}

/// Allowed locations of imported files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportBounds {
    /// In the root; for the user's own files, in the agent's directory.
    Root,
    /// In the working directory after resolving symlinks; for the user's own files, anywhere.
    WorkingDirectory,
    /// In the repository of the importing file by path alone, or in its directory if it is in none.
    RepositoryByPath,
    /// Like `RepositoryByPath`, but also after resolving symlinks.
    Repository,
}

/// Form of an import that is expanded in place.
#[derive(Debug, PartialEq, Eq)]
pub struct InPlace {
    /// Text before the imported text.
    pub before: &'static [Piece],
    /// Text after the imported text.
    pub after: &'static [Piece],
    /// White space at the end of the imported text is removed.
    pub trimmed_end: bool,
    /// Replacement for a file that was imported before.
    pub repeated: &'static [Piece],
    /// Replacement for a file outside the bounds. `None` if the import stays as it is written.
    pub outside: Option<&'static [Piece]>,
    /// Replacement for a missing file. `None` if the import stays as it is written.
    pub missing: Option<&'static [Piece]>,
    /// Replacement for something that is not a file. `None` if the import stays as it is written.
    pub unreadable: Option<&'static [Piece]>,
    /// Files are compared by their real paths.
    pub resolves_links: bool,
    /// Earlier imports that count as repeated.
    pub repeats: ImportRepeats,
    /// Treatment of a byte order mark.
    pub byte_order_mark: ByteOrderMark,
    /// Files that are not UTF-8 are left out.
    pub utf8_only: bool,
}

/// Earlier imports that count as repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportRepeats {
    /// The imports that led here.
    OnTheWay,
    /// The imports that led here, and the file in which they began.
    OnTheWayWithFirst,
    /// Everything that was imported into the file in which they began, and that file.
    Anywhere,
}
