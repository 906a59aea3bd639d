//! Parameters and results about the audit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AuditEntry, AuditEntryId, Timestamp};

/// Takes which entries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditListParams {
    /// Only what happened at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only entries before this one: the last of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<AuditEntryId>,
    /// Most entries to answer with; 1 to 500, absent: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// Answers with entries of the audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditListResult {
    /// The entries, newest first. An owner bound to a workspace gets those that are about it.
    pub entries: Vec<AuditEntry>,
}

super::outside_workspaces!(AuditListParams);
