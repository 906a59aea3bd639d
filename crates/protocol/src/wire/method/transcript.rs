//! Parameters of questions about ignored rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::transcript::WhyReport;
use crate::{ThreadId, WorkspaceId};

/// A rule, and the thread whose model ignored it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptWhyParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Text of the rule, or `FILE:LINE`.
    pub rule: String,
    /// Words of the violation in a tool call or an answer, or a regular expression between slashes; absent for
    /// the end of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

super::in_workspace!(TranscriptWhyParams);
