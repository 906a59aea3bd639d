//! Parameters and results about memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory::{MemoryItem, MemoryRecord, MemoryRemoved, MemoryScope, MemoryStatus};
use crate::{MemoryItemId, ThreadId, Timestamp, WorkspaceId};

/// Takes what to remember.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryAddParams {
    /// The workspace; an item of scope `user` holds in all of them.
    pub workspace_id: WorkspaceId,
    /// Where it holds. `user` is the caller's own, and needs a token that is bound to no workspace.
    pub scope: MemoryScope,
    /// What kind of thing it is, in a word or a few: `preference`, `fact`, `decision`.
    pub category: String,
    /// What to remember. A text that is remembered there already is answered with the item that has it.
    pub text: String,
    /// The thread; exactly where the scope is `thread`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// When it stops counting, a time to come; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The item whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<MemoryItemId>,
}

/// Takes which items to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Only items of this scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Only what holds in this thread: its own items, the workspace's and the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Only items of this status; absent: active ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<MemoryStatus>,
    /// Only items before this one: the last of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MemoryItemId>,
    /// Most items to answer with; 1 to 500, absent: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// Takes one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The item.
    pub id: MemoryItemId,
}

/// Takes words to look for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearchParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The words. Items that have all of them are found; where none has, those that have any.
    pub query: String,
    /// Only what holds in this thread: its own items, the workspace's and the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Most items to answer with; 1 to 100, absent: 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<u32>,
}

/// Takes a part of what is to be exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryExportParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Only what comes after this one: `next` of the part before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MemoryItemId>,
}

/// Takes what was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryImportParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The items; at most 500 at once.
    pub items: Vec<MemoryRecord>,
}

/// Answers with one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryResult {
    /// The item.
    pub item: MemoryItem,
    /// Of an item that was to be added, whether it was there already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_there: bool,
}

/// Answers with items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryListResult {
    /// The items: newest first in a list, best first in a search.
    pub items: Vec<MemoryItem>,
}

/// Answers with what is left of an item, and what went with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryForgetResult {
    /// The item, without its text.
    pub item: MemoryItem,
    /// What else carried the text, and no longer does.
    pub removed: MemoryRemoved,
    /// Whether it was forgotten before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_forgotten: bool,
}

/// Answers with a part of what is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryExportResult {
    /// Active items, oldest first.
    pub items: Vec<MemoryRecord>,
    /// Where the next part begins; absent in the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<MemoryItemId>,
}

/// Answers with what became of each imported item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryImportResult {
    /// How many were added.
    pub added: u64,
    /// How many were remembered already.
    pub unchanged: u64,
    /// Those that were not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedMemory>,
}

/// An item that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedMemory {
    /// Its place among the items of the call, from 0.
    pub index: u64,
    /// Why.
    pub reason: String,
}

super::in_workspace!(
    MemoryAddParams,
    MemoryListParams,
    MemoryGetParams,
    MemorySearchParams,
    MemoryExportParams,
    MemoryImportParams,
);
