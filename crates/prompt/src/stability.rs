//! How long a part of a prompt stays the same.

use serde::{Deserialize, Serialize};

/// How rarely a section changes. What changes more often stands later, so that a provider can keep what came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// The same in every session.
    Stable,
    /// The same for one session, unless somebody edits what it is made from.
    Session,
    /// Of one turn.
    Turn,
}

impl Stability {
    /// All of them, in the order of their text.
    pub const ALL: [Self; 3] = [Self::Stable, Self::Session, Self::Turn];

    /// The name that manifests use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Session => "session",
            Self::Turn => "turn",
        }
    }
}
