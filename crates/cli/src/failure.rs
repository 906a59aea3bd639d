//! Failures of commands and their exit codes.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use client::ClientError;
use protocol::ErrorKind;
use protocol::error::{ErrorData, ErrorSubject};
use protocol::local::OWNER_TOKEN_FILE;
use rpc::websocket::ConnectError;

/// HTTP status of a rejected token.
const UNAUTHENTICATED: u16 = 401;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// Negative result: findings, a failed check, nothing found.
    CheckFailed,
    /// Wrong usage or bad input.
    Usage,
    /// Failure of I/O, the network or authorization.
    Failed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::CheckFailed => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
        })
    }
}

/// Error message of a command with hints.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// Underlying error, for the log.
    source: Option<Box<dyn Error + Send + Sync>>,
    /// Error data of the gateway, for scripts.
    pub(crate) data: Option<Box<ErrorData>>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hints: Vec::new(), source: None, data: None }
    }

    /// Creates a failure with an action and its cause.
    pub(crate) fn caused_by(exit: Exit, what: &str, source: impl Error + Send + Sync + 'static) -> Self {
        let message = format!("{what}: {source}");
        Self { source: Some(Box::new(source)), ..Self::new(exit, message) }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds each line of another crate's hint.
    pub(crate) fn hints(mut self, hint: Option<&str>) -> Self {
        self.hints.extend(hint.unwrap_or_default().lines().map(str::to_owned));
        self
    }

    /// Creates a failure of a file operation.
    pub(crate) fn file(action: &str, path: &Path, error: io::Error) -> Self {
        Self::caused_by(Exit::Failed, &format!("could not {action} {}", path.display()), error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let exit = match error.kind() {
            // A malformed address is a mistake of the user, not a failure of the network.
            None if matches!(error, ClientError::Connect(ConnectError::Address { .. })) => Exit::Usage,
            // The document has changed since. A script can handle that, so it is a negative result and not a
            // malfunction.
            Some(ErrorKind::VersionConflict) => Exit::CheckFailed,
            Some(
                ErrorKind::InvalidParams
                | ErrorKind::NotFound
                | ErrorKind::AlreadyExists
                | ErrorKind::InvalidState
                | ErrorKind::LogPruned
                | ErrorKind::TooLarge,
            ) => Exit::Usage,
            _ => Exit::Failed,
        };
        let mut failure = Failure::new(exit, error.words()).hints(hint(&error).as_deref());
        if let ClientError::Refused(refused) = error {
            failure.data = refused.data;
        }
        failure
    }
}

fn hint(error: &ClientError) -> Option<String> {
    let hint = match error {
        ClientError::NotRunning { .. } => {
            "start one with `foreword serve`, or name the data directory of a running one with --data"
        }
        ClientError::Connect(ConnectError::Refused { status: UNAUTHENTICATED, .. }) => {
            "ask an owner for a new token (`foreword token create`); to recreate the owner's token, delete owner.token \
             in the gateway's data directory and restart it"
        }
        ClientError::Connect(ConnectError::Unreachable { .. }) => {
            "start a gateway there with `foreword serve`, or correct client.url (FOREWORD_CLIENT_URL)"
        }
        ClientError::File { path, source }
            if path.ends_with(OWNER_TOKEN_FILE) && source.kind() == io::ErrorKind::NotFound =>
        {
            "restart the gateway: it creates a new token"
        }
        ClientError::Refused(refused) => {
            let data = refused.data.as_ref()?;
            return data.hint.clone().or_else(|| hint_of_refusal(data));
        }
        _ => error.hint()?,
    };
    Some(hint.to_owned())
}

fn hint_of_refusal(data: &ErrorData) -> Option<String> {
    let hint = match data.kind {
        ErrorKind::VersionConflict => match data.actual {
            Some(0) | None => "omit --expected-version, or pass 0, to save a new document",
            Some(actual) => {
                return Some(format!(
                    "review the changes with `foreword doc diff`, then retry with --expected-version {actual}"
                ));
            }
        },
        // If no role is missing, a stronger token would not help.
        ErrorKind::Forbidden if data.needed_role.is_none() => return None,
        ErrorKind::Forbidden => "use a token with a stronger role, or ask an owner for one",
        ErrorKind::AlreadyExists => "choose another name",
        ErrorKind::NotFound => match data.what? {
            ErrorSubject::Workspace => "list workspaces with `foreword workspace list`",
            ErrorSubject::Folder => "list folders with `foreword folder list`",
            ErrorSubject::Thread => "list threads with `foreword thread tree`",
            ErrorSubject::Revision => "list revisions with `foreword doc history`",
            ErrorSubject::Token => "list tokens with `foreword token list`",
            ErrorSubject::MemoryItem => "list memories with `foreword memory list`",
            ErrorSubject::Turn => "list turns with `foreword turn list THREAD`",
            ErrorSubject::PromptText => {
                "the gateway's settings prompt.keep_texts and retention.prompt_texts decide which texts are kept"
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(hint.to_owned())
}
