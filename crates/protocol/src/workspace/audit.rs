//! Who came in, who was turned away, and who decided what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AuditEntryId, ContentHash, HowDecided, MemoryItemId, MemoryRemoved, MemoryScope, Role, SandboxLevel,
    Timestamp, TokenId, TurnId, WorkspaceId,
};

/// Who does what no token does.
pub const GATEWAY_ACTOR: &str = "gateway";
/// The parent process on the other end of stdio.
pub const STDIO_ACTOR: &str = "stdio";
/// What the name of whoever saves through an MCP client begins with.
pub const MCP_AUTHOR: &str = "mcp:";

/// Characters of an MCP client's name that count.
const MAX_CLIENT: usize = 100;

/// Who saves through an MCP client that calls itself so.
pub fn mcp_author(client: &str) -> String {
    let name: String =
        client.trim().chars().filter(|character| !character.is_control()).take(MAX_CLIENT).collect();
    let name = if name.is_empty() { "unknown" } else { &name };
    format!("{MCP_AUTHOR}{name}")
}

/// Something that matters to whoever is responsible for a gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// Identifies the entry; later ones sort after earlier ones.
    pub id: AuditEntryId,
    /// When it happened; of what is counted, the first time.
    pub at: Timestamp,
    /// Who did it: a token's name, `stdio`, or `gateway`; absent when nobody is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The workspace that it is about; absent when it is about all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// What happened.
    pub event: AuditEvent,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AuditEvent {
    /// A gateway began to serve.
    GatewayStarted {
        /// Its version.
        version: String,
        /// Where it listens.
        address: String,
        /// Its database, without a password.
        database: String,
        /// How far commands are kept apart from the machine; absent when it runs none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<SandboxLevel>,
        /// What was configured, by key and without secrets; what is not here is as it is by default.
        settings: BTreeMap<String, Value>,
    },
    /// A token was shown and was good, or used; counted for a minute.
    TokenUsed {
        /// Which one.
        token_id: TokenId,
        /// How often it was shown.
        authentications: u64,
        /// How many calls were made with it.
        calls: u64,
        /// How many of those it does not allow.
        #[serde(default, skip_serializing_if = "is_zero")]
        forbidden: u64,
        /// The last time.
        until: Timestamp,
    },
    /// Somebody was turned away; counted for a minute.
    AuthenticationFailed {
        /// Address that they came from; `others` where there were too many to tell apart.
        source: String,
        /// What was wrong.
        reason: AuthenticationFailure,
        /// How often.
        count: u64,
        /// The last time.
        until: Timestamp,
    },
    /// A token was made.
    TokenCreated {
        /// Which one.
        token_id: TokenId,
        /// Its name.
        name: String,
        /// What it allows.
        role: Role,
        /// When it stops being valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Which one.
        token_id: TokenId,
        /// Its name.
        name: String,
    },
    /// A workspace was given a directory, or another one.
    WorkspaceRootChanged {
        /// The directory before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// The directory now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// A workspace was archived.
    WorkspaceArchived {
        /// Its name.
        name: String,
    },
    /// An archived workspace was brought back.
    WorkspaceRestored {
        /// Its name.
        name: String,
    },
    /// Something that was remembered was forgotten.
    MemoryForgotten {
        /// Which item.
        item_id: MemoryItemId,
        /// Where it held.
        scope: MemoryScope,
        /// What went with it.
        removed: MemoryRemoved,
    },
    /// Somebody decided whether a call may run.
    ApprovalDecided {
        /// The turn that it is part of.
        turn_id: TurnId,
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Digest of exactly what was decided about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<ContentHash>,
        /// Whether it may run.
        allowed: bool,
        /// How the decision came about.
        #[serde(default, alias = "standing", deserialize_with = "crate::tool::how_or_standing")]
        how: HowDecided,
        /// Whether it changes who the model is.
        identity: bool,
    },
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AuditEvent {
    /// The kind as the wire and the database spell it.
    pub fn kind(&self) -> &'static str {
        match self {
            AuditEvent::GatewayStarted { .. } => "gateway_started",
            AuditEvent::TokenUsed { .. } => "token_used",
            AuditEvent::AuthenticationFailed { .. } => "authentication_failed",
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

/// Why somebody was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthenticationFailure {
    /// No token was shown.
    Missing,
    /// No such token was ever made.
    Unknown,
    /// The token was revoked.
    Revoked,
    /// The token's time is over.
    Expired,
}

impl AuthenticationFailure {
    /// What it is called on the wire.
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
    fn an_entry_says_its_kind() {
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
    fn decisions_kept_by_earlier_versions_can_be_read() {
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
