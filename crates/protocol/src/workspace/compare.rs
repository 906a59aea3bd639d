//! Comparison of agents in one directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlockRole, Outcome};

/// Instruction files read by several agents in one directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Directory in which the agents are started.
    pub path: String,
    /// The agents, in the requested order.
    pub agents: Vec<ComparedAgent>,
    /// Relevant differences between the agents, one sentence each.
    pub differences: Vec<String>,
}

/// Instruction files read by one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedAgent {
    /// Name of the agent's profile.
    pub agent: String,
    /// Version against which the profile was verified; absent if it was never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Role of the message with the project's files; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<BlockRole>,
    /// Files that it reads, in the order of its text, followed by files that it does not read.
    pub files: Vec<ComparedFile>,
    /// Bytes of the files that reach the model.
    pub bytes: u64,
    /// Estimated tokens of those bytes, without text that the agent adds.
    pub tokens: u64,
    /// Bytes that the agent should read but loses: cut off, or dropped with their file.
    pub lost_bytes: u64,
}

/// A file and its outcome for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFile {
    /// Path of the file.
    pub path: String,
    /// Outcome for the agent.
    pub outcome: Outcome,
    /// Role of the message with the file's text; absent if it is not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<BlockRole>,
    /// Time of the decision.
    pub when: ReadingTime,
    /// Size in bytes; 0 if unknown.
    pub bytes: u64,
    /// Bytes of the file that reach the model.
    pub kept_bytes: u64,
    /// Estimated tokens of those bytes; 0 if the text is counted with the file that imports it.
    // Counted once, since an imported text would otherwise add to the total twice.
    pub tokens: u64,
}

/// Time at which an agent reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadingTime {
    /// At startup.
    Start,
    /// After a tool reads a file to which it applies.
    Reading,
}
