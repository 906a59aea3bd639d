//! What a failure means for the exit code.

use std::fmt;
use std::process::ExitCode;

/// The question was asked and the answer is "no": a test failed, a file differs, a rule is broken.
///
/// Every other error means that the question could not be asked.
#[derive(Debug)]
pub(crate) struct AnswerIsNo(pub(crate) String);

impl fmt::Display for AnswerIsNo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for AnswerIsNo {}

/// An error that says "no".
pub(crate) fn no(message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(AnswerIsNo(message.into()))
}

/// Whether the error says "no".
pub(crate) fn is_no(error: &anyhow::Error) -> bool {
    error.is::<AnswerIsNo>()
}

/// The exit code that tells the two apart.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(if is_no(error) { 1 } else { 3 })
}
