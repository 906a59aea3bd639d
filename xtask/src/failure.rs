//! Failures and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// A check ran and failed: a test, a file that differs, a broken rule. Every other error means that it could not run.
#[derive(Debug)]
pub(crate) struct CheckFailed(pub(crate) String);

impl fmt::Display for CheckFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for CheckFailed {}

pub(crate) fn check_failed(message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(CheckFailed(message.into()))
}

pub(crate) fn is_check_failure(error: &anyhow::Error) -> bool {
    error.is::<CheckFailed>()
}

/// 1 for a check that failed, 3 for one that could not run.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(if is_check_failure(error) { 1 } else { 3 })
}
