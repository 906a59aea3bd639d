//! Memory: facts kept for later turns, and their scopes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::{MemoryItemId, ThreadId, Timestamp, TurnId};

/// Source kind of prompt sections made from memory.
pub const MEMORY_SOURCE: &str = "memory";

/// Scope of a memory item.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MemoryScope {
    /// All workspaces, for the token name that created it only.
    User,
    /// One workspace, for everyone with access to it.
    #[default]
    Workspace,
    /// One thread.
    Thread,
}

/// State of a memory item.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MemoryStatus {
    /// Found and recalled.
    #[default]
    Active,
    /// Replaced by a newer item.
    Superseded,
    /// Forgotten; its text is removed.
    Deleted,
    /// Past its expiry.
    Expired,
}

/// A memory item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryItem {
    /// Id of the item.
    pub id: MemoryItemId,
    /// Scope of the item.
    pub scope: MemoryScope,
    /// Thread of an item with scope `thread`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Kind of item, chosen by its author: `preference`, `fact`, `decision`.
    pub category: String,
    /// Text of the item; absent once it was forgotten.
    // The record of a forgotten item remains without its text, so that references to it still resolve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Turn that the item was extracted from; absent if a person added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_turn: Option<TurnId>,
    /// State of the item.
    pub status: MemoryStatus,
    /// Creation time.
    pub created_at: Timestamp,
    /// Name of the token that added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Expiry time; absent if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// An exported memory item. It has no id, because ids mean nothing to another gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryRecord {
    /// Scope of the item.
    // Optional here, so that an export can be written by hand with only a category and a text.
    #[serde(default)]
    pub scope: MemoryScope,
    /// Thread of an item with scope `thread`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Kind of item.
    pub category: String,
    /// Text of the item.
    pub text: String,
    /// Expiry time; absent if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Number of stored texts removed along with a forgotten item. They are found by recorded use of the item,
/// not by their words.
// Searching for the item's words would also remove texts that merely agree with it, and would miss those that
// a model rephrased. Only recorded use is exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRemoved {
    /// Texts of past prompts that included the item.
    pub prompt_texts: u64,
    /// Opening messages of past turns that contained it.
    pub openings: u64,
    /// Tool calls that contained it, with their results and approval requests.
    pub calls: u64,
    /// Summaries of those turns. The threads' next turns create new ones.
    pub summaries: u64,
}

impl std::ops::AddAssign for MemoryRemoved {
    // The removals of all affected turns are added up into one report.
    fn add_assign(&mut self, more: Self) {
        self.prompt_texts += more.prompt_texts;
        self.openings += more.openings;
        self.calls += more.calls;
        self.summaries += more.summaries;
    }
}
