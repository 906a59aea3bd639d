//! Which gateway to talk to, and how the one on this machine is found.

use std::fs::{self, File, TryLockError};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
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
    /// The same, with another token than the owner's.
    LocalWith {
        /// The data directory.
        data: PathBuf,
        /// The token to show it.
        token: SecretString,
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
            Target::Local { data } => Ok(Located { url: announced(data)?, token: owner_token(data)? }),
            Target::LocalWith { data, token } => Ok(Located { url: announced(data)?, token: token.clone() }),
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

/// Where the gateway on a data directory says that it listens.
fn announced(data: &Path) -> Result<String, ClientError> {
    let not_running = || ClientError::NotRunning { data: data.to_owned() };
    // Only the lock says that a gateway lives: a file left behind may name a port that is now a stranger's. It is
    // looked at first, because whoever takes the lock removes what the last one left.
    if !is_locked(&data.join(LOCK_FILE))? {
        return Err(not_running());
    }
    let path = data.join(GATEWAY_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        // It holds the lock, but does not answer yet, or no longer.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(not_running()),
        Err(source) => return Err(ClientError::File { path, source }),
    };
    match serde_json::from_str::<GatewayFile>(&text) {
        Ok(file) => Ok(from_here(file.url)),
        Err(source) => Err(ClientError::Announcement { path, source }),
    }
}

/// The address by which this machine reaches its own gateway: one that listens on every address of the machine
/// listens on the loopback address, too, and is called by that name.
fn from_here(url: String) -> String {
    let address = url.strip_prefix("http://").and_then(|authority| authority.parse::<SocketAddr>().ok());
    match address {
        Some(SocketAddr::V4(address)) if address.ip().is_unspecified() => {
            format!("http://{}:{}", Ipv4Addr::LOCALHOST, address.port())
        }
        Some(SocketAddr::V6(address)) if address.ip().is_unspecified() => {
            format!("http://[{}]:{}", Ipv6Addr::LOCALHOST, address.port())
        }
        _ => url,
    }
}

fn owner_token(data: &Path) -> Result<SecretString, ClientError> {
    let path = data.join(OWNER_TOKEN_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(SecretString::from(text.trim().to_owned())),
        Err(source) => Err(ClientError::File { path, source }),
    }
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
    fn a_gateway_on_every_address_is_reached_on_the_loopback_one() {
        let cases = [
            ("http://0.0.0.0:4670", "http://127.0.0.1:4670"),
            ("http://[::]:4670", "http://[::1]:4670"),
            ("http://127.0.0.1:4670", "http://127.0.0.1:4670"),
            ("http://192.168.1.5:4670", "http://192.168.1.5:4670"),
        ];
        for (announced, reached) in cases {
            assert_eq!(from_here(announced.to_owned()), reached);
        }
    }

    #[test]
    fn what_cannot_be_understood_is_not_taken_for_nothing() {
        let data = tempfile::tempdir().unwrap();
        let lock = File::create(data.path().join(LOCK_FILE)).unwrap();
        fs::write(data.path().join(GATEWAY_FILE), "{\"url\":").unwrap();
        let locate = || announced(data.path());
        assert!(matches!(locate(), Err(ClientError::NotRunning { .. })), "nobody holds the lock");
        lock.lock().unwrap();
        let error = locate().unwrap_err();
        assert!(matches!(error, ClientError::Announcement { .. }) && error.is_transient(), "{error}");
    }

    #[test]
    fn addresses() {
        assert_eq!(websocket("http://127.0.0.1:4670"), "ws://127.0.0.1:4670/rpc");
        assert_eq!(websocket("https://gateway.example/"), "wss://gateway.example/rpc");
        assert_eq!(websocket("127.0.0.1:1"), "ws://127.0.0.1:1/rpc");
    }
}
