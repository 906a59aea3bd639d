//! Memory: what is to be known in later turns, and where it holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::{MemoryItemId, ThreadId, Timestamp, TurnId};

/// What a section of a prompt that was made from memory calls its sources.
pub const MEMORY_SOURCE: &str = "memory";

/// Where something that is remembered holds.
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
    /// In every workspace, for whoever has this token's name and nobody else.
    User,
    /// In one workspace, for everybody.
    #[default]
    Workspace,
    /// In one thread.
    Thread,
}

/// Whether an item still counts.
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
    /// It is found and recalled.
    #[default]
    Active,
    /// A newer item took its place.
    Superseded,
    /// It was forgotten: its text is gone.
    Deleted,
    /// Its time is over.
    Expired,
}

/// Something that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryItem {
    /// Which.
    pub id: MemoryItemId,
    /// Where it holds.
    pub scope: MemoryScope,
    /// The thread that it holds in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// What kind of thing it is, in its author's word: `preference`, `fact`, `decision`.
    pub category: String,
    /// What is remembered; absent once it was forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The turn that it comes from, where a model remembered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_turn: Option<TurnId>,
    /// Whether it counts.
    pub status: MemoryStatus,
    /// Since when it is remembered.
    pub created_at: Timestamp,
    /// Who had it remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// When it stops counting; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// An item as it is exported, and imported elsewhere, where its id would mean nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryRecord {
    /// Where it holds.
    #[serde(default)]
    pub scope: MemoryScope,
    /// The thread that it holds in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// What kind of thing it is.
    pub category: String,
    /// What is remembered.
    pub text: String,
    /// When it stops counting; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// What forgetting an item has removed besides its own text. Each was found by what is recorded of the item's use, and none
/// by its words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRemoved {
    /// Texts of past prompts that it was recalled into.
    pub prompt_texts: u64,
    /// Openings of past turns that carried it.
    pub openings: u64,
    /// Tool calls that carried it, with their results and what was asked about them.
    pub calls: u64,
    /// Summaries that were made from those turns; the threads' next turns make them anew.
    pub summaries: u64,
}

impl std::ops::AddAssign for MemoryRemoved {
    fn add_assign(&mut self, more: Self) {
        self.prompt_texts += more.prompt_texts;
        self.openings += more.openings;
        self.calls += more.calls;
        self.summaries += more.summaries;
    }
}
