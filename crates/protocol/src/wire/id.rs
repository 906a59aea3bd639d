//! Typed identifiers: UUIDv7 strings that cannot be mistaken for one another.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Longest identifier that is looked at; a UUID has 36 characters.
const MAX_LENGTH: usize = 64;

/// Why a string cannot be an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidId {
    /// Empty, or only white space.
    Blank,
    /// Longer than any identifier this gateway makes.
    TooLong,
    /// Contains control characters.
    ControlCharacter,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            InvalidId::Blank => "an id must not be blank",
            InvalidId::TooLong => "an id has at most 64 characters",
            InvalidId::ControlCharacter => "an id has no control characters",
        })
    }
}

impl std::error::Error for InvalidId {}

fn check(text: &str) -> Result<(), InvalidId> {
    if text.trim().is_empty() {
        Err(InvalidId::Blank)
    } else if text.len() > MAX_LENGTH {
        Err(InvalidId::TooLong)
    } else if text.chars().any(char::is_control) {
        Err(InvalidId::ControlCharacter)
    } else {
        Ok(())
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Makes a new identifier, later in sort order than those made before.
            #[expect(clippy::new_without_default, reason = "a default identifier would be a surprise")]
            pub fn new() -> Self {
                Self(uuid::Uuid::now_v7().to_string())
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                check(&text)?;
                Ok(Self(text))
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_LENGTH })
            }
        }
    )*};
}

ids! {
    /// Identifies a database, from its making or its restoring from a backup on.
    InstanceId,
    /// Identifies a workspace.
    WorkspaceId,
    /// Identifies a folder of a thread tree.
    FolderId,
    /// Identifies a thread.
    ThreadId,
    /// Identifies one document; a scope gets a new one after its document was archived.
    DocumentId,
    /// Identifies an access token (never the secret itself).
    TokenId,
    /// Identifies a turn of a thread.
    TurnId,
    /// Identifies one item of a turn: a message, a tool call or its result.
    TurnItemId,
    /// Identifies the record of one run of a hook.
    HookRunId,
    /// Identifies an entry of the audit.
    AuditEntryId,
    /// Identifies something that is remembered.
    MemoryItemId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_and_odd_ids_are_refused() {
        assert_eq!("".parse::<FolderId>(), Err(InvalidId::Blank));
        assert_eq!(" \t".parse::<FolderId>(), Err(InvalidId::Blank));
        assert_eq!("a\0b".parse::<FolderId>(), Err(InvalidId::ControlCharacter));
        assert_eq!("x".repeat(65).parse::<FolderId>(), Err(InvalidId::TooLong));
        assert!("unknown-but-well-formed".parse::<FolderId>().is_ok());
    }

    #[test]
    fn ids_sort_by_creation() {
        let first = FolderId::new();
        let second = FolderId::new();
        assert!(first < second);
    }
}
