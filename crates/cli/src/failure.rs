//! Why a command did not do what it was asked, and the exit code that says so.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use client::ClientError;
use protocol::ErrorKind;
use protocol::error::{ErrorData, ErrorObject};
use protocol::local::OWNER_TOKEN_FILE;
use rpc::websocket::ConnectError;

/// HTTP's status for a token that opens nothing.
const UNAUTHENTICATED: u16 = 401;

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
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

    /// A message of another room, whose `hint:` lines are hints.
    pub(crate) fn with_hints(exit: Exit, text: &str) -> Self {
        let (message, hints) = split_hints(text);
        Self { hints, ..Self::new(exit, message) }
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

/// A message without its `hint:` lines, and those without their beginning.
pub(crate) fn split_hints(text: &str) -> (String, Vec<String>) {
    let hint = |line: &str| line.strip_prefix("hint: ").map(str::to_owned);
    let message: Vec<&str> = text.lines().filter(|line| hint(line).is_none()).collect();
    (message.join("\n"), text.lines().filter_map(hint).collect())
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
        let mut failure = Failure::with_hints(exit, &message(&error));
        failure.hints.extend(hint(&error));
        if let ClientError::Refused(refused) = error {
            failure.data = refused.data.map(Box::new);
        }
        failure
    }
}

fn message(error: &ClientError) -> String {
    match error {
        ClientError::Connect(ConnectError::Refused { status: UNAUTHENTICATED, .. }) => {
            "the gateway does not know the token, or it was revoked".to_owned()
        }
        ClientError::Connect(ConnectError::Refused { status, body }) => {
            format!("the gateway refused the connection: {}", refusal(*status, body))
        }
        _ => error.to_string(),
    }
}

/// What a gateway said instead of opening a connection; something else may have answered in its place.
fn refusal(status: u16, body: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Refusal {
        error: ErrorObject,
    }
    match serde_json::from_str::<Refusal>(body) {
        Ok(refusal) => refusal.error.message,
        Err(_) => format!("it answered with status {status}, which no gateway does"),
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
        ClientError::File { path, source }
            if path.ends_with(OWNER_TOKEN_FILE) && source.kind() == io::ErrorKind::NotFound =>
        {
            "stop the gateway and start it again: it then makes a new token"
        }
        ClientError::Refused(refused) => return refused.data.as_ref().and_then(hint_of_refusal),
        _ => return None,
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
        ErrorKind::NotFound => match data.what.as_deref()? {
            "workspace" => "`foreword workspace list` shows those there are",
            "folder" => "`foreword folder list` shows those there are",
            "thread" => "`foreword thread tree` shows those there are",
            "revision" => "`foreword doc history` shows those there are",
            "token" => "`foreword token list` shows those there are",
            "turn" => "`foreword turn list THREAD` shows those there are",
            "prompt_text" => {
                "prompt.keep_texts and retention.prompt_texts of the gateway decide what is kept"
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(hint.to_owned())
}
