//! Rules that turn files into the text of a prompt.

use serde::{Deserialize, Serialize};

/// Order, form and role of the text.
#[derive(Debug, Clone, Copy)]
pub struct RenderRules {
    /// Order of the directories of a chain.
    pub order: ChainOrder,
    /// Form of the text.
    pub form: Rendering,
    /// Part of the request that holds the text.
    pub role: BlockRole,
}

/// Order of the directories of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainOrder {
    /// The root first, the working directory last.
    RootFirst,
    /// The working directory first, the root last.
    NearestFirst,
    /// The first name of the root and of the working directory, the other names of the root, those of the working directory,
    /// and last the directories between them, nearest first.
    RootThenNearest,
    /// By the bytes of their paths, so that a directory may precede a file beside it.
    ByPath,
    /// All files of one name, then those of the next; within a name the user's own, then the root first.
    ByName,
}

/// Form of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// One `<agents_context>` with a block for each file.
    AgentsContext,
    /// One `<INSTRUCTIONS>` under a heading that names the working directory.
    Instructions,
    /// Blocks as these forms describe them.
    Forms(&'static [BlockForm]),
}

/// Part of a request that holds a block of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BlockRole {
    /// The system prompt.
    System,
    /// A developer message.
    Developer,
    /// A user message.
    User,
}

/// Form of one block.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockForm {
    /// Part of the request that holds it.
    pub role: BlockRole,
    /// Text at its beginning.
    pub start: &'static str,
    /// Its sections. A section without files is left out.
    pub sections: &'static [SectionForm],
    /// Text between two sections.
    pub between: &'static str,
    /// Text at its end.
    pub end: &'static str,
    /// Treatment of empty lines in the whole block.
    pub newlines: NewlineRuns,
}

/// Treatment of empty lines in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewlineRuns {
    /// Unchanged.
    Kept,
    /// Three and more newlines become two.
    AtMostTwo,
}

/// Form of a list of files.
#[derive(Debug, PartialEq, Eq)]
pub struct SectionForm {
    /// Files in it.
    pub of: PartOf,
    /// Text before the first file.
    pub start: &'static str,
    /// Text before each file.
    pub before: &'static [Piece],
    /// Text after each file.
    pub after: &'static [Piece],
    /// Text between two files.
    pub between: &'static str,
    /// Text after the last file, if another section precedes it.
    pub end: &'static str,
    /// Form of paths.
    pub path: PathForm,
    /// Words for the owners of files.
    pub kinds: OwnerWords,
    /// List of the rules that wait for a path that matches. `None` if they are not listed.
    pub waiting: Option<WaitingForm>,
}

/// Form of a list of rules that wait for a path that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingForm {
    /// Text before the list.
    pub start: &'static str,
    /// Text of each rule.
    pub row: &'static [Piece],
    /// Text between two rules.
    pub between: &'static str,
}

/// Files of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartOf {
    /// All.
    Everything,
    /// The user's own.
    Home,
    /// The project's.
    Project,
    /// Those that are not from a folder of rules.
    Files,
    /// Those from folders of rules.
    Rules,
}

/// Words for the owners of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerWords {
    /// The user, for files outside the project.
    pub home: &'static str,
    /// The project.
    pub project: &'static str,
    /// The user, for files in the project.
    pub private: &'static str,
}

impl OwnerWords {
    /// For texts that do not mention owners.
    pub const NONE: Self = Self { home: "", project: "", private: "" };
}

/// A piece of the text around a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Fixed text.
    Text(&'static str),
    /// The file's path.
    Path,
    /// The file's path as the value of an attribute.
    AttributePath,
    /// The word for the file's owner.
    Kind,
    /// The file's title.
    Title,
    /// The path as the import spells it, without the `@`.
    Reference,
    /// The reason for a missing file, in the words of the agent's runtime.
    Reason,
    /// The globs of a rule.
    Globs,
    /// The description in a rule's front matter.
    Description,
}

/// Form of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathForm {
    /// Absolute.
    Absolute,
    /// Relative to the working directory.
    FromCwd,
    /// Relative to the project's root.
    FromRoot,
    /// Relative to the user's home directory, with `~/` before it.
    FromUserHome,
}
