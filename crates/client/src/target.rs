//! Which gateway to talk to, and how the one on this machine is found.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use protocol::local::{GATEWAY_FILE, GatewayFile, LOCK_FILE, OWNER_TOKEN_FILE};
use secrecy::SecretString;

use crate::ClientError;

/// A gateway to talk to.
#[derive(Debug, Clone)]
pub enum Target {
    /// The one that runs on a data directory of this machine.
    Local {
        /// The data directory.
        data: PathBuf,
    },
    /// One at a known address.
    Address {
        /// HTTP base address.
        url: String,
        /// The token to show it.
        token: SecretString,
    },
}

/// A gateway's address and the token it takes.
#[derive(Debug, Clone)]
pub struct Located {
    /// HTTP base address.
    pub url: String,
    /// The token to show it.
    pub token: SecretString,
}

impl Target {
    /// Where the gateway is now.
    pub fn locate(&self) -> Result<Located, ClientError> {
        match self {
            Target::Address { url, token } => Ok(Located { url: url.clone(), token: token.clone() }),
            Target::Local { data } => locate(data),
        }
    }
}

impl Located {
    /// The WebSocket address of the gateway.
    pub fn websocket_url(&self) -> String {
        let base = self.url.trim_end_matches('/');
        let base = match base.split_once("://") {
            Some(("https", rest)) => format!("wss://{rest}"),
            Some(("http", rest)) => format!("ws://{rest}"),
            Some(_) => base.to_owned(),
            None => format!("ws://{base}"),
        };
        format!("{base}/rpc")
    }
}

fn locate(data: &Path) -> Result<Located, ClientError> {
    let not_running = || ClientError::NotRunning { data: data.to_owned() };
    let read = |name: &str| {
        let path = data.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_running()),
            Err(source) => Err(ClientError::File { path, source }),
        }
    };
    let announced = read(GATEWAY_FILE)?;
    // Only the lock says that the gateway lives: a file it left behind may name a port that is now a stranger's.
    if !is_locked(&data.join(LOCK_FILE))? {
        return Err(not_running());
    }
    let file: GatewayFile = serde_json::from_str(&announced).map_err(|_| not_running())?;
    let token = read(OWNER_TOKEN_FILE)?;
    Ok(Located { url: file.url, token: SecretString::from(token.trim().to_owned()) })
}

/// Whether a gateway holds the lock. Looking takes a shared lock for a moment, so lookers do not see each other.
fn is_locked(path: &Path) -> Result<bool, ClientError> {
    let failed = |source| ClientError::File { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(failed(source)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn websocket(url: &str) -> String {
        Located { url: url.to_owned(), token: SecretString::from("t") }.websocket_url()
    }

    #[test]
    fn addresses() {
        assert_eq!(websocket("http://127.0.0.1:4670"), "ws://127.0.0.1:4670/rpc");
        assert_eq!(websocket("https://gateway.example/"), "wss://gateway.example/rpc");
        assert_eq!(websocket("127.0.0.1:1"), "ws://127.0.0.1:1/rpc");
    }
}
