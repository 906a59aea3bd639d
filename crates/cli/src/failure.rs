//! Why a command did not do what it was asked, and the exit code that says so.

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

/// HTTP's status for a token that opens nothing.
const UNAUTHENTICATED: u16 = 401;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The answer is "no": findings, a failed check, nothing there.
    CheckFailed,
    /// Wrong usage or bad input.
    Usage,
    /// Could not be done: I/O, network, denied.
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

/// What went wrong, and what to do: the one shape in which every part of the command says so.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// What the message is about, for the log.
    source: Option<Box<dyn Error + Send + Sync>>,
    /// What the gateway said, for scripts.
    pub(crate) data: Option<Box<ErrorData>>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hints: Vec::new(), source: None, data: None }
    }

    /// What could not be done, and why.
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

    /// Each line of another room's hint.
    pub(crate) fn hints(mut self, hint: Option<&str>) -> Self {
        self.hints.extend(hint.unwrap_or_default().lines().map(str::to_owned));
        self
    }

    /// Something the file system refused.
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
            None if matches!(error, ClientError::Connect(ConnectError::Address { .. })) => Exit::Usage,
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
            "ask an owner for one made with `foreword token create`; a gateway that starts without the file \
             owner.token in its data directory makes a new owner's token"
        }
        ClientError::Connect(ConnectError::Unreachable { .. }) => {
            "start a gateway there with `foreword serve`, or mend client.url (FOREWORD_CLIENT_URL)"
        }
        ClientError::File { path, source }
            if path.ends_with(OWNER_TOKEN_FILE) && source.kind() == io::ErrorKind::NotFound =>
        {
            "stop the gateway and start it again: it then makes a new token"
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
            Some(0) | None => "leave out --expected-version, or give 0, to save a new one",
            Some(actual) => {
                return Some(format!(
                    "see what changed with `foreword doc diff`, then try again with --expected-version {actual}"
                ));
            }
        },
        ErrorKind::Forbidden if data.needed_role.is_none() => return None,
        ErrorKind::Forbidden => "use a token with a stronger role, or ask an owner for one",
        ErrorKind::AlreadyExists => "choose another name",
        ErrorKind::NotFound => match data.what? {
            ErrorSubject::Workspace => "`foreword workspace list` shows those there are",
            ErrorSubject::Folder => "`foreword folder list` shows those there are",
            ErrorSubject::Thread => "`foreword thread tree` shows those there are",
            ErrorSubject::Revision => "`foreword doc history` shows those there are",
            ErrorSubject::Token => "`foreword token list` shows those there are",
            ErrorSubject::MemoryItem => "`foreword memory list` shows those there are",
            ErrorSubject::Turn => "`foreword turn list THREAD` shows those there are",
            ErrorSubject::PromptText => {
                "prompt.keep_texts and retention.prompt_texts of the gateway decide what is kept"
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(hint.to_owned())
}
