//! Errors of gateway calls.

use std::path::PathBuf;

use protocol::ErrorKind;
use protocol::error::{ErrorObject, InternalReason};
use rpc::websocket::ConnectError;

/// HTTP status of a rejected token.
const UNAUTHENTICATED: u16 = 401;

/// Failure between this program and the gateway, or an error answered by the gateway.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No gateway is running on the data directory.
    #[error("no gateway is running on {}", data.display())]
    NotRunning {
        /// The data directory.
        data: PathBuf,
    },
    /// A file in the data directory, or the token file, cannot be read.
    #[error("could not read {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The local gateway's address file cannot be parsed.
    #[error("a gateway is running, but its address file {} is invalid: {source}", path.display())]
    Announcement {
        /// Path of the file.
        path: PathBuf,
        /// Parse error.
        source: serde_json::Error,
    },
    /// The gateway cannot be reached or rejected the connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The gateway answered with an error.
    #[error("{}", .0.message)]
    Refused(ErrorObject),
    /// The connection was lost before the answer arrived.
    #[error(
        "the connection to the gateway was lost before it answered; whether the change was made is not known"
    )]
    Lost,
    /// There was no connection, so nothing was sent.
    #[error("not connected to the gateway; the request was not sent")]
    NotConnected,
    /// The gateway uses another database than before, so everything known about it is invalid.
    #[error("the gateway has another database than before; load the workspace again")]
    OtherInstance,
    /// The gateway sent an unexpected message.
    #[error("unexpected answer from the gateway: {0}")]
    Unexpected(#[source] serde_json::Error),
}

impl ClientError {
    /// Returns the gateway's error kind, if the gateway answered with an error.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            ClientError::Refused(error) => error.kind(),
            _ => None,
        }
    }

    /// Returns the message for people, also if something other than a gateway answered.
    pub fn words(&self) -> String {
        match self {
            ClientError::Connect(ConnectError::Refused { status: UNAUTHENTICATED, .. }) => {
                "the gateway rejected the token: it is unknown or revoked".to_owned()
            }
            ClientError::Connect(ConnectError::Refused { status, body }) => {
                format!("the gateway rejected the connection: {}", refusal(*status, body))
            }
            _ => self.to_string(),
        }
    }

    /// Returns advice that applies to every program, if there is any.
    pub fn hint(&self) -> Option<&str> {
        match self {
            ClientError::Announcement { .. } => Some("restart the gateway to rewrite the file"),
            ClientError::Refused(error) => error.data.as_ref()?.hint.as_deref(),
            _ => None,
        }
    }

    /// Returns true if a retry may succeed without a user action.
    pub fn is_transient(&self) -> bool {
        match self {
            // The next gateway on the directory removes what a dead one left behind.
            ClientError::NotRunning { .. } | ClientError::Announcement { .. } => true,
            ClientError::Lost | ClientError::NotConnected => true,
            // Only failures that pass without any action are retried. A full disk, for example, needs the operator.
            ClientError::Refused(error) => error.data.as_ref().is_some_and(|data| {
                data.kind == ErrorKind::RateLimited
                    || data.reason == Some(InternalReason::DatabaseUnavailable)
            }),
            ClientError::Connect(error) => {
                // A status of 500 or above may come from a proxy in front of a gateway that is restarting.
                matches!(error, ConnectError::Unreachable { .. })
                    || matches!(error, ConnectError::Refused { status, .. } if *status >= 500)
            }
            _ => false,
        }
    }
}

/// Returns the reason of a rejected connection. Something other than a gateway may have answered.
fn refusal(status: u16, body: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Refusal {
        error: ErrorObject,
    }
    // A proxy or an unrelated server may answer with HTML, which would only clutter the message.
    match serde_json::from_str::<Refusal>(body) {
        Ok(refusal) => refusal.error.message,
        Err(_) => format!("status {status}, which is not a gateway's answer"),
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
    fn transient_errors_are_distinguished() {
        assert!(ClientError::Lost.is_transient() && ClientError::NotConnected.is_transient());
        assert!(refused(ErrorKind::RateLimited, None).is_transient());
        assert!(refused(ErrorKind::InternalError, Some(InternalReason::DatabaseUnavailable)).is_transient());
        assert!(!refused(ErrorKind::InternalError, Some(InternalReason::DiskFull)).is_transient());
        assert!(!refused(ErrorKind::NotFound, None).is_transient());
    }

    #[test]
    fn rejected_connections_have_readable_messages() {
        let refused = |status, body: &str| {
            ClientError::Connect(ConnectError::Refused { status, body: body.to_owned() }).words()
        };
        assert_eq!(refused(401, "{}"), "the gateway rejected the token: it is unknown or revoked");
        let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32030,"message":"too many connections"}}"#;
        assert_eq!(refused(503, body), "the gateway rejected the connection: too many connections");
        let strange = refused(404, "<html>");
        assert!(strange.ends_with("status 404, which is not a gateway's answer"), "{strange}");
    }
}
