//! Why a command did not do what it was asked, and the exit code that says so.

use std::process::ExitCode;

use client::ClientError;
use protocol::ErrorKind;
use protocol::error::ErrorData;

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The answer is "no".
    No,
    /// Wrong usage or bad input.
    Usage,
    /// Could not be done: I/O, network, denied.
    Failed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
        })
    }
}

/// What went wrong, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// What the gateway said, for scripts.
    pub(crate) data: Option<Box<ErrorData>>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hints: Vec::new(), data: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Something the file system refused.
    pub(crate) fn file(action: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(Exit::Failed, format!("could not {action} {}: {error}", path.display()))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let exit = match error.kind() {
            Some(ErrorKind::VersionConflict) => Exit::No,
            Some(
                ErrorKind::InvalidParams
                | ErrorKind::NotFound
                | ErrorKind::AlreadyExists
                | ErrorKind::InvalidState
                | ErrorKind::TooLarge,
            ) => Exit::Usage,
            _ => Exit::Failed,
        };
        let failure = Failure::new(exit, error.to_string());
        let mut failure = match hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        };
        if let ClientError::Refused(refused) = error {
            failure.data = refused.data.map(Box::new);
        }
        failure
    }
}

fn hint(error: &ClientError) -> Option<&'static str> {
    match error {
        ClientError::NotRunning { .. } => {
            Some("start one with `foreword serve`, or name the data directory of a running one with --data")
        }
        ClientError::Connect(rpc::websocket::ConnectError::Refused { status: 401, .. }) => {
            Some("the token is unknown or revoked; make a new one with `foreword token create`")
        }
        _ => match error.kind()? {
            ErrorKind::VersionConflict => {
                Some("look at the difference with `foreword doc diff`, then save again")
            }
            ErrorKind::Forbidden => Some("use a token with a stronger role, or ask an owner for one"),
            _ => None,
        },
    }
}

impl From<config::error::ConfigurationError> for Failure {
    fn from(error: config::error::ConfigurationError) -> Self {
        let hint = error.hint();
        let failure = Failure::usage(error.to_string());
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

use crate::config;
