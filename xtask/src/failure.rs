//! Kinds of failures and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// A check ran and failed: a test, a differing file, a violated rule. Any other error means that the check could not
/// run.
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

/// Returns 1 for a failed check and 3 for one that could not run.
// A build machine must be able to distinguish a broken tree from a broken machine.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(if is_check_failure(error) { 1 } else { 3 })
}
