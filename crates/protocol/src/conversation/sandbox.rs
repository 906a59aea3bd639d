//! How far a command is kept apart from the machine it runs on, and what it did to files it should not have touched.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far commands are kept apart from the machine, the strongest first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    /// Only the workspace, a temporary directory and the system's directories exist; own network, own processes.
    #[default]
    Isolated,
    /// The content of files outside cannot be reached, nor the network; modes and times of files outside can.
    Confined,
    /// Not at all.
    Off,
}

impl SandboxLevel {
    /// What it is called in a configuration and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Confined => "confined",
            Self::Off => "off",
        }
    }
}

/// What a tool call did besides answering, for whoever must hear of it and not only the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallEffects {
    /// How far the command was kept apart from the machine; absent for calls that run none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
    /// Protected files that the command changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_changes: Vec<ProtectedChange>,
    /// Whether there was more to look at than time, so that changes of protected files may have gone unnoticed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwatched: bool,
    /// What is remembered and was part of the call or its result, so that forgetting it finds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<crate::MemoryItemId>,
    /// Whose own memory some of that is, if anybody's: turns of others are not sent the call and its result again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_owner: Option<String>,
}

/// A protected file that a command changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectedChange {
    /// The file, from the workspace's root.
    pub path: String,
    /// What happened to it.
    pub change: FileChange,
    /// Whether it is again as it was.
    pub undone: bool,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was not there before.
    New,
    /// Its content or mode is another.
    Changed,
    /// It is not there any more.
    Removed,
}

impl FileChange {
    /// What it is called on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }

    /// What was done to a file that is again as it was: one that was not there before is not put back.
    pub fn undoing(self) -> &'static str {
        match self {
            Self::New => "removed again",
            Self::Changed | Self::Removed => "put back",
        }
    }
}
