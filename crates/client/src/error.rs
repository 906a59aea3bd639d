//! Why a call of the gateway has no result.

use std::path::PathBuf;

use protocol::ErrorKind;
use protocol::error::{ErrorObject, InternalReason};
use rpc::websocket::ConnectError;

/// The status of a refused token.
const UNAUTHENTICATED: u16 = 401;

/// What went wrong between this program and the gateway, or what the gateway said.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No gateway runs on the data directory.
    #[error("no gateway is running on {}", data.display())]
    NotRunning {
        /// The data directory.
        data: PathBuf,
    },
    /// A file in the data directory, or the token's file, cannot be read.
    #[error("could not read {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What the gateway on this machine wrote about where it listens cannot be understood.
    #[error("a gateway runs, but {} does not say where: {source}", path.display())]
    Announcement {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The gateway cannot be reached, or does not let us in.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The gateway answered with an error.
    #[error("{}", .0.message)]
    Refused(ErrorObject),
    /// The connection ended before the answer came.
    #[error(
        "the connection to the gateway was lost before it answered; whether the change was made is not known"
    )]
    Lost,
    /// There was no connection, so the gateway was not asked.
    #[error("there is no connection to the gateway; it was not asked")]
    NotConnected,
    /// The gateway has another database than before, so nothing that this program knows holds any more.
    #[error("the gateway has another database than before; load the workspace again")]
    OtherInstance,
    /// The gateway sent something this program does not understand.
    #[error("the gateway sent something unexpected: {0}")]
    Unexpected(#[source] serde_json::Error),
}

impl ClientError {
    /// The gateway's word for what went wrong, if it was the gateway that said no.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            ClientError::Refused(error) => error.kind(),
            _ => None,
        }
    }

    /// What happened, in words for people: also where something that is no gateway answered in its place.
    pub fn words(&self) -> String {
        match self {
            ClientError::Connect(ConnectError::Refused { status: UNAUTHENTICATED, .. }) => {
                "the gateway does not know the token, or it was revoked".to_owned()
            }
            ClientError::Connect(ConnectError::Refused { status, body }) => {
                format!("the gateway refused the connection: {}", refusal(*status, body))
            }
            _ => self.to_string(),
        }
    }

    /// What to do about it, where there is something that holds for every program.
    pub fn hint(&self) -> Option<&str> {
        match self {
            ClientError::Announcement { .. } => {
                Some("stop the gateway and start it again: it then writes the file anew")
            }
            ClientError::Refused(error) => error.data.as_ref()?.hint.as_deref(),
            _ => None,
        }
    }

    /// Whether another try may succeed without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            // The next gateway on the directory takes away what the last one left there.
            ClientError::NotRunning { .. } | ClientError::Announcement { .. } => true,
            ClientError::Lost | ClientError::NotConnected => true,
            ClientError::Refused(error) => error.data.as_ref().is_some_and(|data| {
                data.kind == ErrorKind::RateLimited
                    || data.reason == Some(InternalReason::DatabaseUnavailable)
            }),
            ClientError::Connect(error) => {
                matches!(error, ConnectError::Unreachable { .. })
                    || matches!(error, ConnectError::Refused { status, .. } if *status >= 500)
            }
            _ => false,
        }
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

impl From<rpc::CallError> for ClientError {
    fn from(error: rpc::CallError) -> Self {
        match error {
            rpc::CallError::ConnectionLost => ClientError::Lost,
            rpc::CallError::Unexpected(error) => ClientError::Unexpected(error),
            rpc::CallError::Answered(error) => ClientError::Refused(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: ErrorKind, reason: Option<InternalReason>) -> ClientError {
        ClientError::Refused(ErrorObject::with(kind, "no", |data| data.reason = reason))
    }

    #[test]
    fn what_passes_by_itself_is_told_from_what_does_not() {
        assert!(ClientError::Lost.is_transient() && ClientError::NotConnected.is_transient());
        assert!(refused(ErrorKind::RateLimited, None).is_transient());
        assert!(refused(ErrorKind::InternalError, Some(InternalReason::DatabaseUnavailable)).is_transient());
        assert!(!refused(ErrorKind::InternalError, Some(InternalReason::DiskFull)).is_transient());
        assert!(!refused(ErrorKind::NotFound, None).is_transient());
    }

    #[test]
    fn a_refused_connection_is_told_in_words() {
        let refused = |status, body: &str| {
            ClientError::Connect(ConnectError::Refused { status, body: body.to_owned() }).words()
        };
        assert_eq!(refused(401, "{}"), "the gateway does not know the token, or it was revoked");
        let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32030,"message":"too many connections"}}"#;
        assert_eq!(refused(503, body), "the gateway refused the connection: too many connections");
        let strange = refused(404, "<html>");
        assert!(strange.ends_with("it answered with status 404, which no gateway does"), "{strange}");
    }
}
