//! The texts that an agent puts around files, as data.

use crate::profile::BlockRole;

/// A block of the text an agent gets.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockForm {
    /// Where the agent puts it.
    pub role: BlockRole,
    /// What it begins with.
    pub start: &'static str,
    /// Its sections; one without files is left out.
    pub sections: &'static [SectionForm],
    /// What stands between sections.
    pub between: &'static str,
    /// What it ends with.
    pub end: &'static str,
}

/// Files that stand one after another.
#[derive(Debug, PartialEq, Eq)]
pub struct SectionForm {
    /// Which files.
    pub of: PartOf,
    /// What stands before each.
    pub before: &'static [Piece],
    /// What stands after each.
    pub after: &'static [Piece],
    /// What stands between two.
    pub between: &'static str,
    /// What stands after the last.
    pub end: &'static str,
    /// How paths are written.
    pub path: PathForm,
    /// What files are called by whose they are.
    pub kinds: Kinds,
    /// How rules are listed that wait for a path that matches; none where they are not.
    pub waiting: Option<WaitingForm>,
}

/// A list of rules that wait for a path that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingForm {
    /// What stands before it.
    pub start: &'static str,
    /// What stands for each.
    pub row: &'static [Piece],
    /// What stands between two.
    pub between: &'static str,
}

/// Which files a section has.
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
    /// Those that are.
    Rules,
}

/// What files are called by whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// The user's own.
    pub home: &'static str,
    /// The project's.
    pub project: &'static str,
    /// The user's own in the project.
    pub private: &'static str,
}

impl Kinds {
    /// Where texts do not say it.
    pub const NONE: Self = Self { home: "", project: "", private: "" };
}

/// A piece of the text around a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// This text.
    Text(&'static str),
    /// The file's path.
    Path,
    /// The file's path as the value of an attribute.
    AttributePath,
    /// What the file is called by whose it is.
    Kind,
    /// How the file was named, without the `@`.
    Reference,
    /// Why it is not there, in the words of the agent's runtime.
    Reason,
    /// The globs of a rule.
    Globs,
    /// What a rule says of itself.
    Description,
}

/// How paths are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathForm {
    /// From the file system's root.
    Absolute,
    /// From the working directory.
    FromCwd,
    /// From the project's root.
    FromRoot,
}
