//! How much of a prompt is made.

use serde::{Deserialize, Serialize};

/// Which sections there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptProfile {
    /// None at all.
    None,
    /// Who it is, what is safe, and the instructions.
    Minimal,
    /// Everything.
    #[default]
    Full,
}

impl PromptProfile {
    /// All of them by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("full", Self::Full), ("minimal", Self::Minimal), ("none", Self::None)];

    /// The profile of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, profile)| *profile)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Full => "full",
        }
    }
}
