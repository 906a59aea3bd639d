//! Parameters and results of the audit log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AuditEntry, AuditEntryId, Timestamp};

/// Filter for entries of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditListParams {
    /// Earliest time of an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Id that entries must precede, such as the last one of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<AuditEntryId>,
    /// Most entries, from 1 to 500; absent for 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// Entries of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditListResult {
    /// Entries, newest first. An owner bound to a workspace receives only the entries of that workspace.
    pub entries: Vec<AuditEntry>,
}

super::outside_workspaces!(AuditListParams);
