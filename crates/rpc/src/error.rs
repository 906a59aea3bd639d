//! Errors for malformed messages and for calls that reach no method.

use protocol::ErrorKind;
use protocol::error::{ErrorObject, ErrorSubject, InternalReason};

use crate::BatchLimits;

pub(crate) fn not_json(message: impl Into<String>) -> ErrorObject {
    ErrorObject::new(ErrorKind::ParseError, message)
}

pub(crate) fn no_request(message: impl Into<String>) -> ErrorObject {
    ErrorObject::new(ErrorKind::InvalidRequest, message)
}

pub fn no_method(method: &str) -> ErrorObject {
    let shown: String = method.chars().take(100).collect();
    ErrorObject::new(ErrorKind::MethodNotFound, format!("there is no method `{shown}`"))
}

pub fn too_large(limit: usize, actual: usize) -> ErrorObject {
    let message = format!("the message has {actual} bytes, the limit is {limit}");
    ErrorObject::with(ErrorKind::TooLarge, message, |data| {
        data.limit = Some(limit as u64);
        data.actual = Some(actual as u64);
    })
}

/// Error for a batch with too many calls, none of which was made.
pub(crate) fn batch_too_long(limit: usize, actual: usize) -> ErrorObject {
    let message = format!("a batch has at most {limit} calls, this one has {actual}; none of them was made");
    ErrorObject::with(ErrorKind::LimitReached, message, |data| {
        data.what = Some(ErrorSubject::Batch);
        data.limit = Some(limit as u64);
        data.actual = Some(actual as u64);
    })
}

/// Error for a call in a batch whose answer does not fit next to the others. The call itself was made.
pub(crate) fn answer_too_large(limits: BatchLimits, actual: usize, left: usize) -> ErrorObject {
    let limit = limits.answer_bytes;
    let message = format!(
        "the call was made, but its answer has {actual} bytes and {left} are left of the {limit} that the answers \
         of a batch may have"
    );
    ErrorObject::with(ErrorKind::TooLarge, message, |data| {
        data.limit = Some(limit as u64);
        data.actual = Some(actual as u64);
        data.hint = Some("make the call alone".to_owned());
    })
}

/// Error for a method that panicked. The details are only in the log.
pub fn panicked(method: &str) -> ErrorObject {
    let message = format!("`{method}` failed unexpectedly; the gateway's log has the details");
    ErrorObject::with(ErrorKind::InternalError, message, |data| data.reason = Some(InternalReason::Panic))
}
