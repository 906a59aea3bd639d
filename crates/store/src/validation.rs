//! Validation of names, texts and paths.

use instructions::{is_invisible, skeleton};
use protocol::limits::{MAX_NAME_CHARACTERS, MAX_PATH_BYTES};
use protocol::{GATEWAY_ACTOR, STDIO_ACTOR};

use crate::StoreError;

/// Checks a name or title.
pub(crate) fn check(field: &'static str, name: &str) -> Result<(), StoreError> {
    if name.trim().is_empty() {
        return Err(StoreError::invalid(field, "must not be blank"));
    }
    if name.chars().any(char::is_control) {
        return Err(StoreError::invalid(field, "must not contain control characters or line ends"));
    }
    let characters = name.chars().count();
    if characters > MAX_NAME_CHARACTERS {
        let reason = format!("has {characters} characters, at most {MAX_NAME_CHARACTERS} are allowed");
        return Err(StoreError::invalid(field, reason));
    }
    Ok(())
}

/// Names of actors that are not tokens.
const RESERVED_NAMES: [&str; 2] = [GATEWAY_ACTOR, STDIO_ACTOR];

/// Checks the name of a token.
// The name signs whatever its holder does, so it must not look like another one.
pub(crate) fn check_signature(name: &str) -> Result<(), StoreError> {
    check("name", name)?;
    if name.trim() != name {
        return Err(StoreError::invalid("name", "must not begin or end with a blank"));
    }
    if let Some(character) = name.chars().find(|character| is_invisible(*character)) {
        let reason = format!(
            "must not contain characters that cannot be seen, such as U+{:04X}",
            u32::from(character)
        );
        return Err(StoreError::invalid("name", reason));
    }
    let looks_like = skeleton(name);
    if let Some(reserved) = RESERVED_NAMES.iter().find(|reserved| **reserved == looks_like) {
        let reason = format!("must not be `{reserved}`: what the gateway itself does is signed with it");
        return Err(StoreError::invalid("name", reason));
    }
    Ok(())
}

/// Rejects the zero byte, which PostgreSQL cannot store in text.
pub(crate) fn check_text(field: &'static str, text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::invalid(field, "must not contain a zero byte"));
    }
    Ok(())
}

pub(crate) fn check_path(field: &'static str, path: &str) -> Result<(), StoreError> {
    check_text(field, path)?;
    if path.len() > MAX_PATH_BYTES {
        return Err(StoreError::invalid(field, format!("has more than {MAX_PATH_BYTES} bytes")));
    }
    Ok(())
}

/// Checks a workspace's directory.
pub(crate) fn check_root_path(path: &str) -> Result<(), StoreError> {
    check_path("root_path", path)?;
    if !std::path::Path::new(path).is_absolute() {
        return Err(StoreError::invalid("root_path", format!("must be an absolute path, not `{path}`")));
    }
    Ok(())
}
