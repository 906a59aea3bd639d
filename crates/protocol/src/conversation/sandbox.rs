//! Isolation level of commands, and the side effects of tool calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Isolation of commands from the machine, strongest first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    /// Only the workspace, a temporary directory and system directories are visible; separate network and
    /// process namespaces.
    #[default]
    Isolated,
    /// No access to file contents outside the workspace or to the network; metadata of outside files remains
    /// changeable.
    Confined,
    /// No isolation.
    Off,
}

impl SandboxLevel {
    /// Returns the name used in configurations and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Confined => "confined",
            Self::Off => "off",
        }
    }
}

/// Side effects of a tool call that users need to know about, not only the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallEffects {
    /// Isolation of the command; absent for calls that run none.
    // Absent differs from `off`: a tool that runs no command needs no isolation, whereas `off` means a
    // command without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
    /// Protected files changed by the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_changes: Vec<ProtectedChange>,
    /// True if the watch ran out of time, so that changes to protected files may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwatched: bool,
    /// Memory items contained in the call or its result, so that forgetting them finds it.
    // Recorded at the time of the call: the item's words cannot be searched for later without also matching
    // unrelated texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<crate::MemoryItemId>,
    /// Owner of the personal memory among those items; turns of other users do not receive the call and its
    /// result again. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_owner: Option<String>,
}

/// A protected file that was changed by a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectedChange {
    /// Path relative to the workspace's root.
    pub path: String,
    /// Kind of change.
    pub change: FileChange,
    /// True if the change was reverted.
    pub undone: bool,
}

/// Kind of change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// The file was created.
    New,
    /// Content or mode changed.
    Changed,
    /// The file was deleted.
    Removed,
}

impl FileChange {
    /// Returns the name used on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }

    /// Returns the verb phrase for a reverted change. A created file is removed rather than put back.
    pub fn undoing(self) -> &'static str {
        match self {
            Self::New => "removed again",
            Self::Changed | Self::Removed => "put back",
        }
    }
}
