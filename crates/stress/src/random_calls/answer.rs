//! Rules for every answer.

use anyhow::{Context as _, ensure};
use protocol::ErrorKind;
use protocol::error::ErrorObject;
use serde_json::Value;

use crate::random_calls::world::SECRET;

/// Checks that an error has a kind with a matching code and is not internal. Returns true if the answer contains the
/// secret.
pub(crate) fn check(answer: &Result<Value, ErrorObject>) -> anyhow::Result<bool> {
    let error = match answer {
        Ok(result) => return Ok(result.to_string().contains(SECRET)),
        Err(error) => error,
    };
    let kind = kind(error).with_context(|| format!("an error without a kind: {error:?}"))?;
    ensure!(error.code == kind.code(), "a code that does not fit: {error:?}");
    ensure!(kind != ErrorKind::InternalError, "the gateway's own failure: {error:?}");
    ensure!(!error.message.is_empty(), "an error without a message: {error:?}");
    Ok(serde_json::to_string(error)?.contains(SECRET))
}

pub(crate) fn kind(error: &ErrorObject) -> Option<ErrorKind> {
    error.data.as_ref().map(|data| data.kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(code: i32, message: &str, kind: &str) -> Result<Value, ErrorObject> {
        let error = json!({ "code": code, "message": message, "data": { "kind": kind } });
        Err(serde_json::from_value(error).unwrap())
    }

    #[test]
    fn answers_that_must_not_be_are_found() {
        assert!(!check(&Ok(json!({}))).unwrap());
        assert!(check(&Ok(json!({ "content": SECRET }))).unwrap());
        assert!(!check(&refused(-32602, "no", "invalid_params")).unwrap());
        assert!(check(&refused(-32602, SECRET, "invalid_params")).unwrap());
        for wrong in [
            refused(-32603, "it broke", "internal_error"),
            refused(-32602, "no", "forbidden"),
            refused(-32602, "", "invalid_params"),
            refused(-32602, "no", "no kind of ours"),
        ] {
            assert!(check(&wrong).is_err(), "{wrong:?}");
        }
    }
}
