//! What goes wrong, and whether asking again could help.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use protocol::Hint;
use serde::{Deserialize, Serialize};

use crate::PartialResponse;

/// Why there is no answer, or only a part of one.
///
/// It has no source: the HTTP client's errors can quote an address or a header, and so a key. What they say is in the
/// message, without secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderError {
    pub kind: ErrorKind,
    /// The provider's configured name.
    pub provider: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// Whether the same request could succeed later.
    pub retryable: bool,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
    /// What happened, lowercase, without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    pub partial: Option<Box<PartialResponse>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration cannot be used; nothing was sent.
    Configuration,
    /// The key is wrong, missing, or not allowed to.
    Authentication,
    /// The account has nothing left to spend.
    Quota,
    /// There is no such model, or no such address.
    NotFound,
    /// The provider does not take the request as it is.
    InvalidRequest,
    /// The request is longer than the model's context: compress it and ask again.
    ContextTooLong,
    RateLimited,
    /// The provider has too much to do.
    Overloaded,
    Server,
    /// No connection, or it broke before an answer.
    Connection,
    /// The provider took too long.
    Timeout,
    /// The answer broke off in the middle.
    Interrupted,
    /// The answer is not what the provider's API says.
    Malformed,
}

/// What a kind of error means: whether the caller may ask again, and whether we already did.
struct Meaning {
    kind: ErrorKind,
    retryable: bool,
    /// Whether we ask again ourselves, as long as nothing of an answer was delivered.
    repeated: bool,
}

#[rustfmt::skip]
const MEANINGS: &[Meaning] = &[
    Meaning { kind: ErrorKind::Configuration,  retryable: false, repeated: false },
    Meaning { kind: ErrorKind::Authentication, retryable: false, repeated: false },
    Meaning { kind: ErrorKind::Quota,          retryable: false, repeated: false },
    Meaning { kind: ErrorKind::NotFound,       retryable: false, repeated: false },
    Meaning { kind: ErrorKind::InvalidRequest, retryable: false, repeated: false },
    // Not as it is: the caller compresses first.
    Meaning { kind: ErrorKind::ContextTooLong, retryable: false, repeated: false },
    Meaning { kind: ErrorKind::RateLimited,    retryable: true,  repeated: true },
    Meaning { kind: ErrorKind::Overloaded,     retryable: true,  repeated: true },
    Meaning { kind: ErrorKind::Server,         retryable: true,  repeated: true },
    Meaning { kind: ErrorKind::Connection,     retryable: true,  repeated: true },
    // Somebody has waited long enough already to be asked whether to wait as long again.
    Meaning { kind: ErrorKind::Timeout,        retryable: true,  repeated: false },
    Meaning { kind: ErrorKind::Interrupted,    retryable: true,  repeated: true },
    Meaning { kind: ErrorKind::Malformed,      retryable: true,  repeated: false },
];

impl ErrorKind {
    /// Whether the same request could succeed later.
    pub fn is_retryable(self) -> bool {
        MEANINGS.iter().any(|meaning| meaning.kind == self && meaning.retryable)
    }

    pub(crate) fn is_repeated(self) -> bool {
        MEANINGS.iter().any(|meaning| meaning.kind == self && meaning.repeated)
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "provider `{}`: ", self.provider)?;
        if let Some(status) = self.status {
            write!(formatter, "HTTP {status}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ProviderError {}

impl Hint for ProviderError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint.as_deref().map(Cow::Borrowed)
    }
}

/// What went wrong, before it is known at whose provider and with what already delivered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, retry_after: None, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_retryable() {
        assert!(MEANINGS.iter().all(|meaning| meaning.retryable || !meaning.repeated));
    }

    #[test]
    fn every_kind_has_one_meaning() {
        for (index, meaning) in MEANINGS.iter().enumerate() {
            assert!(MEANINGS[..index].iter().all(|other| other.kind != meaning.kind), "{:?}", meaning.kind);
        }
        // Interrupted is declared before only one other; a new kind without a row would never be retried.
        assert_eq!(MEANINGS.len(), ErrorKind::Malformed as usize + 1);
    }
}
