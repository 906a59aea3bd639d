//! Access tokens and roles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Timestamp, TokenId, WorkspaceId};

/// Role of a token. Each role includes the ones before it.
// The derived order is the order of permissions: comparisons such as `role >= Role::Editor` rely on it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read access.
    #[default]
    Reader,
    /// Changes to folders, threads and documents.
    Editor,
    /// Turns, and decisions about their tool calls.
    Operator,
    /// Changes to workspaces and tokens.
    Owner,
}

impl Role {
    /// All roles, weakest first.
    pub const ALL: [Role; 4] = [Role::Reader, Role::Editor, Role::Operator, Role::Owner];

    /// Returns the name used on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Editor => "editor",
            Role::Operator => "operator",
            Role::Owner => "owner",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// An access token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessToken {
    /// Id of the token.
    pub id: TokenId,
    /// Unique name, recorded as the actor of its calls.
    pub name: String,
    /// Role of the token.
    pub role: Role,
    /// The only workspace it may access; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Name of the token that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Expiry time; absent if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Time of its revocation; absent if it was not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}
