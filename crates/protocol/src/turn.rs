//! Turns: what a thread was asked, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// A gateway works on it.
    Running,
    /// It has its answer.
    Completed,
    /// It ended without an answer.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}
