//! Why a call of the gateway has no result.

use std::path::PathBuf;

use protocol::ErrorKind;
use protocol::error::{ErrorObject, InternalReason};

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
    /// The gateway cannot be reached, or does not let us in.
    #[error(transparent)]
    Connect(#[from] rpc::websocket::ConnectError),
    /// The gateway answered with an error.
    #[error("{}", .0.message)]
    Refused(ErrorObject),
    /// The connection ended before the answer came.
    #[error(
        "the connection to the gateway was lost before it answered; whether the change was made is not known"
    )]
    Lost,
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

    /// Whether another try may succeed without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            ClientError::NotRunning { .. } | ClientError::Lost => true,
            ClientError::Refused(error) => error.data.as_ref().is_some_and(|data| {
                data.kind == ErrorKind::RateLimited
                    || data.reason == Some(InternalReason::DatabaseUnavailable)
            }),
            ClientError::Connect(error) => {
                matches!(error, rpc::websocket::ConnectError::Unreachable { .. })
                    || matches!(error, rpc::websocket::ConnectError::Refused { status, .. } if *status >= 500)
            }
            _ => false,
        }
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
        assert!(ClientError::Lost.is_transient());
        assert!(refused(ErrorKind::RateLimited, None).is_transient());
        assert!(refused(ErrorKind::InternalError, Some(InternalReason::DatabaseUnavailable)).is_transient());
        assert!(!refused(ErrorKind::InternalError, Some(InternalReason::DiskFull)).is_transient());
        assert!(!refused(ErrorKind::NotFound, None).is_transient());
    }
}
