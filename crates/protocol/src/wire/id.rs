//! Typed identifiers: UUIDv7 strings that cannot be confused with one another.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Longest accepted identifier. A UUID has 36 characters.
// Ids appear in logs, keys and indexes. Without a limit a client could make all of these arbitrarily long
// before the database finds out that the id does not exist.
const MAX_LENGTH: usize = 64;

/// Reason why a string is not an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidId {
    /// Empty, or only white space.
    Blank,
    /// Longer than the limit.
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
    // Only what could do harm is rejected. Ids of other shapes are accepted, so that their format can
    // change without a new protocol version.
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
        // Checked while reading, so that no handler ever sees an id that is blank or too long.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Creates an identifier that sorts after all earlier ones.
            #[expect(clippy::new_without_default, reason = "a default identifier would be a surprise")]
            pub fn new() -> Self {
                // Version 7 begins with the time. New rows are appended to an index instead of scattered
                // over it, and pages can continue after an id.
                Self(uuid::Uuid::now_v7().to_string())
            }

            /// Returns the identifier as text.
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
            // Not declared as a UUID: ids are opaque to clients, and only their length is part of the
            // contract.
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_LENGTH })
            }
        }
    )*};
}

ids! {
    /// Id of a database. A restored backup gets a new one.
    InstanceId,
    /// Id of a workspace.
    WorkspaceId,
    /// Id of a folder in a thread tree.
    FolderId,
    /// Id of a thread.
    ThreadId,
    /// Id of a document. A scope gets a new one after its document was archived.
    DocumentId,
    /// Id of an access token, never its secret.
    TokenId,
    /// Id of a turn.
    TurnId,
    /// Id of an item of a turn: a message, a tool call or its result.
    TurnItemId,
    /// Id of a hook run's record.
    HookRunId,
    /// Id of an entry of the audit log.
    AuditEntryId,
    /// Id of a memory item.
    MemoryItemId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_and_odd_ids_are_rejected() {
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
