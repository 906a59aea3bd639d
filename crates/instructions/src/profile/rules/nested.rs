//! What an agent does after its start, when a tool reads a file; and what an agent leaves where it is used.

use crate::profile::{ChainOrder, Links, NameChoice};

/// What a tool that reads a file brings in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnReading {
    /// Nothing.
    Nothing,
    /// Whatever applies to the file and is not there yet, as our own sessions do it.
    Session,
    /// Files of the directories below the working directory on the way to the file, and rules that match it.
    Nested(NestedFiles),
}

/// Files of directories below the working directory, each passed on once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedFiles {
    /// File names, in the order in which those of one directory stand.
    pub names: &'static [&'static str],
    /// Which of them are read.
    pub choice: NameChoice,
    /// File names that are read, behind all others, in directories without a text of those names, if there was none at the
    /// start either.
    pub instead: &'static [&'static str],
    /// Folders of rules in those directories, by their path from there.
    pub rule_folders: &'static [&'static str],
    /// In which order the directories stand.
    pub order: ChainOrder,
    /// Which links count as files.
    pub links: Links,
    /// Most characters of one file; the rest is left for the model to read.
    pub max_characters: Option<usize>,
}

impl NestedFiles {
    /// Only rules that match what is read.
    pub(crate) const RULES_ALONE: Self = Self {
        names: &[],
        choice: NameChoice::All,
        instead: &[],
        rule_folders: &[],
        order: ChainOrder::RootFirst,
        links: Links::Anywhere,
        max_characters: None,
    };
}

/// What tells that somebody uses an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traces {
    /// Paths below the user's home directory, besides the agent's own directory.
    pub in_user_home: &'static [&'static str],
    /// Paths below a directory of a project, which no other agent makes.
    pub in_project: &'static [&'static str],
}
