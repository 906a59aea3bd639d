//! Parameters and results of access tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AccessToken, Role, Timestamp, WorkspaceId};

/// Fields of a new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenCreateParams {
    /// Name, unique among tokens that are not revoked.
    pub name: String,
    /// Role of the token; absent for `reader`.
    #[serde(default)]
    pub role: Role,
    /// The only workspace it may access; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// Expiry time in the future; absent if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenListParams {}

/// Token to revoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRevokeParams {
    /// Name of the token.
    pub name: String,
}

/// A new token with its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCreateResult {
    /// The token.
    pub token: AccessToken,
    /// Secret to send as `Authorization: Bearer …`. It is never shown again.
    pub secret: String,
}

/// Access tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenListResult {
    /// Tokens, oldest first, including revoked ones.
    pub tokens: Vec<AccessToken>,
}

/// An access token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenResult {
    /// The token.
    pub token: AccessToken,
}

super::outside_workspaces!(TokenListParams, TokenRevokeParams);

impl crate::Params for TokenCreateParams {
    // The workspace of the new token counts as that of the call, so an owner who is bound to one workspace
    // cannot create a token for another.
    fn workspace_id(&self) -> Option<&WorkspaceId> {
        self.workspace_id.as_ref()
    }
}
