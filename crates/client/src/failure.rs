//! An error as the state machines take it: in words, and whether time alone may mend it.

use protocol::error::with_hint;

use crate::ClientError;

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened, with hints below it.
    pub message: String,
    /// Whether another try may succeed without anybody doing anything.
    pub is_transient: bool,
    /// Whether what was asked for may have been done all the same.
    pub is_outcome_unknown: bool,
}

impl From<&ClientError> for Failure {
    fn from(error: &ClientError) -> Self {
        Self {
            message: with_hint(error.words(), error.hint()),
            is_transient: error.is_transient(),
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
