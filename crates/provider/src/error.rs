//! Errors of providers, and the ones worth a retry.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use protocol::Hint;
use serde::{Deserialize, Serialize};

use crate::PartialResponse;

/// Error of a request, with the part of the answer that arrived.
///
/// It has no source, because the HTTP client's errors can quote an address or a header and thus a key. Their text is in the
/// message, without secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderError {
    pub kind: ErrorKind,
    /// Configured name of the provider.
    pub provider: String,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// True if the same request could succeed later.
    pub retryable: bool,
    /// Delay that the provider requested.
    pub retry_after: Option<Duration>,
    /// Description in lower case without a full stop.
    pub message: String,
    /// Advice for the user.
    pub hint: Option<String>,
    pub partial: Option<Box<PartialResponse>>,
    /// Sizes that the provider named, if the request was too long.
    pub overrun: Option<Box<ContextOverrun>>,
}

/// Sizes of a request that exceeds a model's context, as its provider counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextOverrun {
    /// Tokens that the model accepts.
    pub limit: u64,
    /// Tokens of the request, if they were named.
    pub request: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration is unusable; nothing was sent.
    Configuration,
    /// The key is wrong, missing, or lacks permission.
    Authentication,
    /// The account has no quota left.
    Quota,
    /// The model or the address does not exist.
    NotFound,
    /// The provider rejected the request.
    InvalidRequest,
    /// The request exceeds the model's context and must be compressed first.
    ContextTooLong,
    RateLimited,
    /// The provider is overloaded.
    Overloaded,
    Server,
    /// The connection failed or broke before an answer.
    Connection,
    /// The provider took too long.
    Timeout,
    /// The answer was interrupted.
    Interrupted,
    /// The answer does not conform to the provider's API.
    Malformed,
}

/// Consequences of a kind of error for the caller and for our own retries.
struct ErrorMeaning {
    kind: ErrorKind,
    retryable: bool,
    /// True if we retry on our own, as long as nothing of an answer was delivered.
    repeated: bool,
}

#[rustfmt::skip]
const ERROR_MEANINGS: &[ErrorMeaning] = &[
    ErrorMeaning { kind: ErrorKind::Configuration,  retryable: false, repeated: false },
    ErrorMeaning { kind: ErrorKind::Authentication, retryable: false, repeated: false },
    ErrorMeaning { kind: ErrorKind::Quota,          retryable: false, repeated: false },
    ErrorMeaning { kind: ErrorKind::NotFound,       retryable: false, repeated: false },
    ErrorMeaning { kind: ErrorKind::InvalidRequest, retryable: false, repeated: false },
    // Not worth a retry unchanged: the caller compresses the request first.
    ErrorMeaning { kind: ErrorKind::ContextTooLong, retryable: false, repeated: false },
    ErrorMeaning { kind: ErrorKind::RateLimited,    retryable: true,  repeated: true },
    ErrorMeaning { kind: ErrorKind::Overloaded,     retryable: true,  repeated: true },
    ErrorMeaning { kind: ErrorKind::Server,         retryable: true,  repeated: true },
    ErrorMeaning { kind: ErrorKind::Connection,     retryable: true,  repeated: true },
    // The user has already waited for the full time limit and should decide about waiting again.
    ErrorMeaning { kind: ErrorKind::Timeout,        retryable: true,  repeated: false },
    ErrorMeaning { kind: ErrorKind::Interrupted,    retryable: true,  repeated: true },
    ErrorMeaning { kind: ErrorKind::Malformed,      retryable: true,  repeated: false },
];

impl ErrorKind {
    /// Returns true if the same request could succeed later.
    pub fn is_retryable(self) -> bool {
        ERROR_MEANINGS.iter().any(|meaning| meaning.kind == self && meaning.retryable)
    }

    pub(crate) fn is_repeated(self) -> bool {
        ERROR_MEANINGS.iter().any(|meaning| meaning.kind == self && meaning.repeated)
    }
}

impl fmt::Display for ErrorKind {
    /// Writes the kind as it is serialized.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
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

/// An error before its provider and the delivered part are known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
    pub(crate) overrun: Option<ContextOverrun>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, retry_after: None, message: message.into(), hint: None, overrun: None }
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
    fn repeated_kinds_are_retryable() {
        assert!(ERROR_MEANINGS.iter().all(|meaning| meaning.retryable || !meaning.repeated));
    }

    #[test]
    fn every_kind_has_one_meaning() {
        for (index, meaning) in ERROR_MEANINGS.iter().enumerate() {
            assert!(
                ERROR_MEANINGS[..index].iter().all(|other| other.kind != meaning.kind),
                "{:?}",
                meaning.kind
            );
        }
        // `Malformed` is the last variant. A new kind without a row would never be retried.
        assert_eq!(ERROR_MEANINGS.len(), ErrorKind::Malformed as usize + 1);
    }
}
