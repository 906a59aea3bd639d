//! The tables as SeaORM sees them, and how rows become the protocol's values.

pub(crate) mod access_token;
pub(crate) mod change_log;
pub(crate) mod document;
pub(crate) mod folder;
pub(crate) mod hook_run;
pub(crate) mod placement;
pub(crate) mod prompt_manifest;
pub(crate) mod prompt_text;
pub(crate) mod revision;
pub(crate) mod session;
pub(crate) mod thread;
pub(crate) mod thread_context;
pub(crate) mod turn;
pub(crate) mod turn_approval;
pub(crate) mod turn_item;
pub(crate) mod workspace;

use crate::StoreError;

/// Reads an id column; the database holds only ids that were checked on their way in.
pub(crate) fn id<T: TryFrom<String>>(column: String) -> Result<T, StoreError> {
    let shown = column.clone();
    T::try_from(column).map_err(|_| StoreError::Database(format!("`{shown}` is stored where an id belongs")))
}

/// Reads a column that holds one of a few words.
pub(crate) fn word<T: serde::de::DeserializeOwned>(column: &str) -> Result<T, StoreError> {
    serde_json::from_value(serde_json::Value::from(column))
        .map_err(|_| StoreError::Database(format!("`{column}` is not a known word of its column")))
}

/// The word that a value is stored as.
pub(crate) fn to_word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Reads a column that holds JSON.
pub(crate) fn json(column: &'static str, text: &str) -> Result<serde_json::Value, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Database(format!("{column}: {error}")))
}

/// Reads a number that is never negative.
pub(crate) fn count(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// A number as a column holds it; numbers no column can hold become the greatest it can.
pub(crate) fn to_column(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
