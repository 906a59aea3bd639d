//! Parameters and results about access tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AccessToken, Role, Timestamp, WorkspaceId};

/// Takes a token's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenCreateParams {
    /// Its name, unique among tokens that are not revoked.
    pub name: String,
    /// What it allows; absent: looking only.
    #[serde(default)]
    pub role: Role,
    /// The only workspace it may touch; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// When it stops being valid, a time to come; absent: when it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Takes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenListParams {}

/// Takes the token to revoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRevokeParams {
    /// Its name.
    pub name: String,
}

/// Answers with a new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCreateResult {
    /// The token.
    pub token: AccessToken,
    /// What to send as `Authorization: Bearer …`; shown this once and never again.
    pub secret: String,
}

/// Answers with tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenListResult {
    /// The tokens, oldest first, revoked ones too.
    pub tokens: Vec<AccessToken>,
}

/// Answers with a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenResult {
    /// The token.
    pub token: AccessToken,
}

super::outside_workspaces!(TokenListParams, TokenRevokeParams);

impl crate::Params for TokenCreateParams {
    fn workspace_id(&self) -> Option<&WorkspaceId> {
        self.workspace_id.as_ref()
    }
}
