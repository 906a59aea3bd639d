//! What agents read in one directory, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlockRole, Outcome};

/// What agents read in one directory, side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The directory that the agents are started in.
    pub path: String,
    /// The agents, in the order they were asked for.
    pub agents: Vec<ComparedAgent>,
    /// What differs between them and matters, one sentence each.
    pub differences: Vec<String>,
}

/// What one agent reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedAgent {
    /// Its profile.
    pub agent: String,
    /// The version that its rules were checked against; absent where nobody has run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where it puts the project's files; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<BlockRole>,
    /// Files that it reads, in the order of its text, then those that it does not.
    pub files: Vec<ComparedFile>,
    /// Bytes of files that it gets.
    pub bytes: u64,
    /// Tokens of those, estimated, without what the agent writes around them.
    pub tokens: u64,
    /// Bytes that it would read and that are lost: cut off, or dropped with their file.
    pub lost_bytes: u64,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFile {
    /// The file.
    pub path: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Where the agent puts its text; absent where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<BlockRole>,
    /// When that is decided.
    pub when: ReadingTime,
    /// Its size; 0 where it cannot be known.
    pub bytes: u64,
    /// How much of it is there.
    pub kept_bytes: u64,
    /// Tokens of that, estimated; 0 for one whose text is in that of the file that names it, where they count.
    pub tokens: u64,
}

/// When an agent reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadingTime {
    /// When it starts.
    Start,
    /// When a tool reads a file to which it applies.
    Reading,
}
