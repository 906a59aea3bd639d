//! Conversions between values and columns.

use std::fmt;

use protocol::{
    AgentsConfig, AuditEntryId, ContentHash, DocumentId, FolderId, HookRunId, InstanceId, MemoryItemId,
    Sequence, ThreadId, Timestamp, TokenId, TurnId, TurnItemId, Version, WorkspaceId,
};
use serde::de::{DeserializeOwned, IntoDeserializer as _};

use crate::StoreError;
use crate::connection::Column;

/// A parameter of a statement: TEXT or BIGINT, each of which may be NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Text(Option<&'a str>),
    Number(Option<i64>),
}

impl Value<'_> {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Value::Text(text) => text.map_or(0, str::len),
            Value::Number(_) => size_of::<i64>(),
        }
    }
}

/// Lists the parameters of a statement: `values![workspace_id, now]`.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::column::Value::from($value)),*] };
}
pub(crate) use values;

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Some(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(Some(text))
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Number(Some(number))
    }
}

/// Saturates at the largest number that a column can hold.
impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Value::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Value::Number(Some(number.into()))
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(time: Timestamp) -> Self {
        Value::Number(Some(time.milliseconds()))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(text: &'a Option<String>) -> Self {
        Value::Text(text.as_deref())
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        Value::Number(number)
    }
}

impl From<Option<Timestamp>> for Value<'_> {
    fn from(time: Option<Timestamp>) -> Self {
        Value::Number(time.map(Timestamp::milliseconds))
    }
}

/// A value that is read from a column.
// Values were validated when they were written.
pub(crate) trait FromColumn: Sized {
    type Column: Column;

    fn from_column(column: Self::Column) -> Result<Self, StoreError>;
}

impl<T: FromColumn> FromColumn for Option<T> {
    type Column = Option<T::Column>;

    fn from_column(column: Option<T::Column>) -> Result<Self, StoreError> {
        column.map(T::from_column).transpose()
    }
}

impl FromColumn for String {
    type Column = String;

    fn from_column(column: String) -> Result<Self, StoreError> {
        Ok(column)
    }
}

impl FromColumn for i64 {
    type Column = i64;

    fn from_column(column: i64) -> Result<Self, StoreError> {
        Ok(column)
    }
}

/// Rejects negative numbers.
impl FromColumn for u64 {
    type Column = i64;

    fn from_column(column: i64) -> Result<Self, StoreError> {
        u64::try_from(column).map_err(|_| out_of_range(column))
    }
}

impl FromColumn for u32 {
    type Column = i64;

    fn from_column(column: i64) -> Result<Self, StoreError> {
        u32::try_from(column).map_err(|_| out_of_range(column))
    }
}

/// A replacement such as 0 would look like a valid number, so reading fails instead.
fn out_of_range(column: i64) -> StoreError {
    StoreError::unreadable("number", format!("{column} is out of its range"))
}

/// 0 or 1: the two databases do not share a boolean type.
impl FromColumn for bool {
    type Column = i64;

    fn from_column(column: i64) -> Result<Self, StoreError> {
        Ok(column != 0)
    }
}

impl FromColumn for Timestamp {
    type Column = i64;

    fn from_column(column: i64) -> Result<Self, StoreError> {
        Ok(Timestamp::from_milliseconds(column))
    }
}

impl FromColumn for ContentHash {
    type Column = String;

    fn from_column(column: String) -> Result<Self, StoreError> {
        Ok(ContentHash::from_stored(column))
    }
}

impl FromColumn for AgentsConfig {
    type Column = String;

    fn from_column(column: String) -> Result<Self, StoreError> {
        from_json("settings of a workspace", &column)
    }
}

pub(crate) fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::unreadable(what, error))
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::database)
}

macro_rules! text_columns {
    ($($name:ty),*) => {$(
        impl FromColumn for $name {
            type Column = String;

            fn from_column(column: String) -> Result<Self, StoreError> {
                let unreadable = format!("`{column}` is stored where one belongs");
                Self::try_from(column).map_err(|_| StoreError::unreadable("id", unreadable))
            }
        }

        impl<'a> From<&'a $name> for Value<'a> {
            fn from(id: &'a $name) -> Self {
                Value::Text(Some(id.as_str()))
            }
        }

        impl<'a> From<Option<&'a $name>> for Value<'a> {
            fn from(id: Option<&'a $name>) -> Self {
                Value::Text(id.map(<$name>::as_str))
            }
        }
    )*};
}

text_columns!(
    InstanceId,
    WorkspaceId,
    FolderId,
    ThreadId,
    DocumentId,
    TokenId,
    TurnId,
    TurnItemId,
    HookRunId,
    AuditEntryId,
    MemoryItemId
);

impl<'a> From<&'a ContentHash> for Value<'a> {
    fn from(hash: &'a ContentHash) -> Self {
        Value::Text(Some(hash.as_str()))
    }
}

macro_rules! number_columns {
    ($($name:ty),*) => {$(
        impl FromColumn for $name {
            type Column = i64;

            fn from_column(column: i64) -> Result<Self, StoreError> {
                u64::from_column(column).map(Self)
            }
        }

        impl From<$name> for Value<'_> {
            fn from(number: $name) -> Self {
                Value::Number(Some(number.to_column()))
            }
        }
    )*};
}

number_columns!(Sequence, Version);

macro_rules! enum_columns {
    ($($name:ty),*) => {$(
        impl FromColumn for $name {
            type Column = String;

            fn from_column(column: String) -> Result<Self, StoreError> {
                parse_enum(&column)
            }
        }
    )*};
}

enum_columns!(
    protocol::DocumentStatus,
    protocol::HowDecided,
    protocol::MemoryScope,
    protocol::MemoryStatus,
    protocol::RevisionReason,
    protocol::Role,
    protocol::ThreadMode,
    protocol::TurnStatus,
    protocol::turn::JobStatus
);

fn parse_enum<T: DeserializeOwned>(column: &str) -> Result<T, StoreError> {
    let text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = column.into_deserializer();
    T::deserialize(text)
        .map_err(|_| StoreError::unreadable("word", format!("`{column}` is not known in its column")))
}

/// Returns the word that a value is stored as, which is the one on the wire.
pub(crate) fn enum_str(value: impl serde::Serialize) -> String {
    struct Word<T>(T);

    impl<T: serde::Serialize> fmt::Display for Word<T> {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(formatter)
        }
    }

    Word(value).to_string()
}
