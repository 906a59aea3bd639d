//! Access tokens and what their roles allow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Timestamp, TokenId, WorkspaceId};

/// What a token allows; each role includes those before it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May look.
    #[default]
    Reader,
    /// May also change folders, threads and documents.
    Editor,
    /// May also ask models, and decide what their tools may do.
    Operator,
    /// May also change workspaces and tokens.
    Owner,
}

impl Role {
    /// Every role, weakest first.
    pub const ALL: [Role; 4] = [Role::Reader, Role::Editor, Role::Operator, Role::Owner];

    /// The role as the wire and the database spell it.
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
    /// Identifies the token.
    pub id: TokenId,
    /// Its unique name, which becomes the actor of what is done with it.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// The only workspace it may touch; absent when it may touch all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Name of the token that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// When it stops being valid; absent when it does not by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}
