//! Errors for the state machines: a message, and a flag for errors that a retry may resolve.

use protocol::error::with_hint;

use crate::ClientError;

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Error message with its hints.
    pub message: String,
    /// True if a retry may succeed without a user action.
    pub is_transient: bool,
    /// True if the request may have been executed all the same.
    pub is_outcome_unknown: bool,
}

impl From<&ClientError> for Failure {
    fn from(error: &ClientError) -> Self {
        Self {
            message: with_hint(error.words(), error.hint()),
            is_transient: error.is_transient(),
            // All other errors either are the gateway's answer or mean that nothing was sent.
            is_outcome_unknown: matches!(error, ClientError::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::ErrorKind;
    use protocol::error::ErrorObject;

    use super::*;

    #[test]
    fn an_error_keeps_its_hint() {
        let error = ErrorObject::with(ErrorKind::Forbidden, "no", |data| data.hint = Some("ask".to_owned()));
        let failure = Failure::from(&ClientError::Refused(error));
        assert_eq!((failure.message.as_str(), failure.is_transient), ("no\nhint: ask", false));
        let lost = Failure::from(&ClientError::Lost);
        assert!(lost.is_transient && lost.is_outcome_unknown);
    }
}
