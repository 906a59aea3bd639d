//! Audit log: logins, rejected connections, decisions and administrative changes.

use std::collections::BTreeMap;

use instructions::{is_unseen, reorders_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AuditEntryId, ContentHash, HowDecided, MemoryItemId, MemoryRemoved, MemoryScope, Role, SandboxLevel,
    Timestamp, TokenId, TurnId, WorkspaceId,
};

/// Actor of changes made without a token.
pub const GATEWAY_ACTOR: &str = "gateway";
/// Actor on the other end of stdio, the parent process.
pub const STDIO_ACTOR: &str = "stdio";
/// Prefix of the name with which a program introduces itself that acts for an MCP client.
pub const MCP_CLIENT: &str = "mcp:";

/// Most characters kept of an MCP client's name.
const MAX_CLIENT: usize = 100;

/// Returns the name of an MCP client that calls itself `name`, without characters that hide or reorder text.
// The name is chosen by the client, so its length is limited before it is stored with a document.
pub fn mcp_client(name: &str) -> String {
    let is_plain =
        |character: &char| !character.is_control() && !is_unseen(*character) && !reorders_text(*character);
    let name: String = name.trim().chars().filter(is_plain).take(MAX_CLIENT).collect();
    // A client may leave its name out. The save must still be recognizable as one of an MCP client.
    let name = if name.is_empty() { "unknown" } else { &name };
    format!("{MCP_CLIENT}{name}")
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// Id of the entry. Ids sort by time.
    pub id: AuditEntryId,
    /// Time of the event; for counted events, of the first occurrence.
    pub at: Timestamp,
    /// Actor: a token's name, `stdio`, or `gateway`; absent if unknown.
    // The name and not the id of the token, so that entries are readable without looking it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Affected workspace; absent if all are affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// The event.
    pub event: AuditEvent,
}

/// Event in the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AuditEvent {
    /// A gateway started.
    GatewayStarted {
        /// Version of the gateway.
        version: String,
        /// Address it listens on.
        address: String,
        /// Its database, without a password.
        database: String,
        /// Isolation of commands; absent if it runs none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<SandboxLevel>,
        /// Configured settings by key, without secrets. Keys that are missing have their default value.
        // Sorted keys make two entries comparable as text.
        settings: BTreeMap<String, Value>,
    },
    /// A token was used successfully; counted per minute.
    TokenUsed {
        /// Id of the token.
        token_id: TokenId,
        /// Number of authentications.
        authentications: u64,
        /// Number of calls.
        calls: u64,
        /// Number of calls that the token does not allow.
        #[serde(default, skip_serializing_if = "is_zero")]
        forbidden: u64,
        /// Time of the last use.
        until: Timestamp,
    },
    /// An authentication failed; counted per minute.
    AuthenticationFailed {
        /// Source address; `others` if there were too many to list.
        source: String,
        /// Reason for the failure.
        reason: AuthenticationFailure,
        /// Number of failures.
        count: u64,
        /// Time of the last failure.
        until: Timestamp,
    },
    /// A person signed in to the console.
    ConsoleSession {
        /// Token that the session stands for.
        token_id: TokenId,
        /// Proof that was presented.
        method: SignInMethod,
    },
    /// A token was created.
    TokenCreated {
        /// Id of the token.
        token_id: TokenId,
        /// Name of the token.
        name: String,
        /// Role of the token.
        role: Role,
        /// Expiry time; absent if it does not expire.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Id of the token.
        token_id: TokenId,
        /// Name of the token.
        name: String,
    },
    /// A workspace's directory was set or changed.
    WorkspaceRootChanged {
        /// Previous directory; absent if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// New directory; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// A workspace was archived.
    WorkspaceArchived {
        /// Name of the workspace.
        name: String,
    },
    /// An archived workspace was restored.
    WorkspaceRestored {
        /// Name of the workspace.
        name: String,
    },
    /// A memory item was forgotten.
    MemoryForgotten {
        /// Id of the item.
        item_id: MemoryItemId,
        /// Scope of the item.
        scope: MemoryScope,
        /// Stored texts removed with it.
        removed: MemoryRemoved,
    },
    /// An approval was decided.
    ApprovalDecided {
        /// Turn of the call.
        turn_id: TurnId,
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
        /// Digest of exactly what was decided about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<ContentHash>,
        /// True if the call may run.
        allowed: bool,
        /// Origin of the decision.
        // Entries are kept for a year, so those written before `how` replaced the boolean `standing` must
        // stay readable.
        #[serde(default, alias = "standing", deserialize_with = "crate::tool::how_or_standing")]
        how: HowDecided,
        /// True if the call changes the model's identity.
        identity: bool,
    },
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AuditEvent {
    /// Returns the name of the kind, as used on the wire and in the database.
    pub fn kind(&self) -> &'static str {
        match self {
            AuditEvent::GatewayStarted { .. } => "gateway_started",
            AuditEvent::TokenUsed { .. } => "token_used",
            AuditEvent::AuthenticationFailed { .. } => "authentication_failed",
            AuditEvent::ConsoleSession { .. } => "console_session",
            AuditEvent::TokenCreated { .. } => "token_created",
            AuditEvent::TokenRevoked { .. } => "token_revoked",
            AuditEvent::WorkspaceRootChanged { .. } => "workspace_root_changed",
            AuditEvent::WorkspaceArchived { .. } => "workspace_archived",
            AuditEvent::WorkspaceRestored { .. } => "workspace_restored",
            AuditEvent::MemoryForgotten { .. } => "memory_forgotten",
            AuditEvent::ApprovalDecided { .. } => "approval_decided",
        }
    }
}

/// Proof of identity at the console's sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// A one-time code.
    Code,
    /// The token itself.
    Token,
}

impl SignInMethod {
    /// Returns the name used on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Token => "token",
        }
    }
}

/// Reason for a failed authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthenticationFailure {
    /// No token was sent.
    Missing,
    /// The token does not exist.
    Unknown,
    /// The token was revoked.
    Revoked,
    /// The token expired.
    Expired,
}

impl AuthenticationFailure {
    /// Returns the name used on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unknown => "unknown",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_contain_their_kind() {
        let event = AuditEvent::TokenRevoked { token_id: "t".parse().unwrap(), name: "ci".to_owned() };
        let entry = AuditEntry {
            id: "a".parse().unwrap(),
            at: Timestamp::from_milliseconds(0),
            actor: Some("owner".to_owned()),
            workspace_id: None,
            event: event.clone(),
        };
        let json = serde_json::to_value(&entry).unwrap();
        assert_eq!(json["event"]["kind"], event.kind());
        assert_eq!(serde_json::from_value::<AuditEntry>(json).unwrap(), entry);
    }

    #[test]
    fn decisions_of_earlier_versions_are_readable() {
        let kept = |how: &str| {
            let text = format!(
                r#"{{"kind":"approval_decided","turn_id":"t","call_id":"c","tool":"f","allowed":true,{how}"identity":false}}"#
            );
            match serde_json::from_str(&text).unwrap() {
                AuditEvent::ApprovalDecided { how, .. } => how,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(kept(r#""standing":true,"#), HowDecided::Standing);
        assert_eq!(kept(r#""standing":false,"#), HowDecided::Asked);
        assert_eq!(kept(r#""how":"flag","#), HowDecided::Flag);
    }
}
