//! Parameters and results of memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory::{MemoryItem, MemoryRecord, MemoryRemoved, MemoryScope, MemoryStatus};
use crate::{MemoryItemId, ThreadId, Timestamp, WorkspaceId};

/// A new memory item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryAddParams {
    /// The workspace. An item with scope `user` applies in all of them.
    pub workspace_id: WorkspaceId,
    /// Scope of the item. `user` belongs to the caller and requires a token that is not bound to a workspace.
    pub scope: MemoryScope,
    /// Kind of item in a few words: `preference`, `fact`, `decision`.
    pub category: String,
    /// Text of the item. If it exists already in this scope, the existing item is returned.
    pub text: String,
    /// The thread; required for the scope `thread` and not allowed otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Expiry time in the future; absent if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Item that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<MemoryItemId>,
}

/// Filter for memory items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Scope of the items; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Thread whose visible items to list: its own, the workspace's and the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// State of the items; absent for active ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<MemoryStatus>,
    /// Id that items must precede, such as the last one of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MemoryItemId>,
    /// Most items, from 1 to 500; absent for 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// A memory item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Id of the item.
    pub id: MemoryItemId,
}

/// Words to search for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearchParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The words. Items with all of them are returned or, if there are none, items with any of them.
    pub query: String,
    /// Thread whose visible items to search: its own, the workspace's and the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Most items, from 1 to 100; absent for 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<u32>,
}

/// Page of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryExportParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Id to continue after: `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MemoryItemId>,
}

/// Exported items to import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryImportParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The items, at most 500.
    pub items: Vec<MemoryRecord>,
}

/// A memory item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryResult {
    /// The item.
    pub item: MemoryItem,
    /// True if the added item existed already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_there: bool,
}

/// Memory items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryListResult {
    /// Items: newest first in a list, best match first in a search.
    pub items: Vec<MemoryItem>,
}

/// A forgotten item and the removed texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryForgetResult {
    /// The item, without its text.
    pub item: MemoryItem,
    /// Other stored texts that were removed because they contained it.
    pub removed: MemoryRemoved,
    /// True if it was forgotten before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_forgotten: bool,
}

/// Page of exported items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryExportResult {
    /// Active items, oldest first.
    pub items: Vec<MemoryRecord>,
    /// Id to continue after; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<MemoryItemId>,
}

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryImportResult {
    /// Number of added items.
    pub added: u64,
    /// Number of items that existed already.
    pub unchanged: u64,
    /// Rejected items.
    // One bad item does not reject the rest. A caller can correct the items named here and import them
    // again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedMemory>,
}

/// An item rejected by an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedMemory {
    /// Index of the item in the call, from 0.
    pub index: u64,
    /// Reason for the rejection.
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
