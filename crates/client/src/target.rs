//! Location of a gateway, including the one on this machine.

use std::fs::{self, File, TryLockError};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use protocol::local::{GATEWAY_FILE, GatewayFile, LOCK_FILE, OWNER_TOKEN_FILE};
use secrecy::SecretString;

use crate::ClientError;

/// The gateway to connect to.
#[derive(Debug, Clone)]
pub enum Target {
    /// The gateway on a data directory of this machine, with its owner's token.
    Local {
        /// The data directory.
        data: PathBuf,
    },
    /// The gateway on a data directory of this machine, with another token.
    LocalWith {
        /// The data directory.
        data: PathBuf,
        /// Token sent to the gateway.
        token: SecretString,
    },
    /// A gateway at a known address.
    Address {
        /// HTTP base address.
        url: String,
        /// Token sent to the gateway.
        token: SecretString,
    },
}

/// Address and token of a gateway.
#[derive(Debug, Clone)]
pub struct Located {
    /// HTTP base address.
    pub url: String,
    /// Token sent to the gateway.
    pub token: SecretString,
}

impl Target {
    /// Locates the gateway.
    pub fn locate(&self) -> Result<Located, ClientError> {
        match self {
            Target::Address { url, token } => Ok(Located { url: url.clone(), token: token.clone() }),
            Target::Local { data } => Ok(Located { url: announced(data)?, token: owner_token(data)? }),
            Target::LocalWith { data, token } => Ok(Located { url: announced(data)?, token: token.clone() }),
        }
    }
}

impl Located {
    /// Returns the gateway's WebSocket URL.
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

/// Returns the address announced by the gateway on a data directory.
fn announced(data: &Path) -> Result<String, ClientError> {
    let not_running = || ClientError::NotRunning { data: data.to_owned() };
    // Only the lock proves that a gateway is alive: a leftover address file may name a port that now belongs to another
    // program. Check the lock first, because the next gateway removes leftover files only after taking it.
    if !is_locked(&data.join(LOCK_FILE))? {
        return Err(not_running());
    }
    let path = data.join(GATEWAY_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        // The gateway holds the lock but is still starting or already stopping.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(not_running()),
        Err(source) => return Err(ClientError::File { path, source }),
    };
    match serde_json::from_str::<GatewayFile>(&text) {
        Ok(file) => Ok(reachable_url(file.url)),
        Err(source) => Err(ClientError::Announcement { path, source }),
    }
}

/// Returns the address for connecting from this machine. A gateway that listens on all addresses is reached through
/// loopback.
fn reachable_url(url: String) -> String {
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

/// Returns true if a gateway holds the lock. The check takes a shared lock, so concurrent checks do not disturb each other.
fn is_locked(path: &Path) -> Result<bool, ClientError> {
    let failed = |source| ClientError::File { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        // Without a lock file no gateway has ever run on this directory.
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
    fn a_wildcard_address_is_reached_through_loopback() {
        let cases = [
            ("http://0.0.0.0:4670", "http://127.0.0.1:4670"),
            ("http://[::]:4670", "http://[::1]:4670"),
            ("http://127.0.0.1:4670", "http://127.0.0.1:4670"),
            ("http://192.168.1.5:4670", "http://192.168.1.5:4670"),
        ];
        for (announced, reached) in cases {
            assert_eq!(reachable_url(announced.to_owned()), reached);
        }
    }

    #[test]
    fn an_unreadable_address_file_is_an_error() {
        let data = tempfile::tempdir().unwrap();
        let lock = File::create(data.path().join(LOCK_FILE)).unwrap();
        fs::write(data.path().join(GATEWAY_FILE), "{\"url\":").unwrap();
        // The same files must lead to different results, because only the lock proves that a gateway is alive.
        let locate = || announced(data.path());
        assert!(matches!(locate(), Err(ClientError::NotRunning { .. })), "the lock is not held");
        lock.lock().unwrap();
        let error = locate().unwrap_err();
        assert!(matches!(error, ClientError::Announcement { .. }) && error.is_transient(), "{error}");
    }

    #[test]
    fn websocket_urls_follow_the_base_url() {
        assert_eq!(websocket("http://127.0.0.1:4670"), "ws://127.0.0.1:4670/rpc");
        assert_eq!(websocket("https://gateway.example/"), "wss://gateway.example/rpc");
        assert_eq!(websocket("127.0.0.1:1"), "ws://127.0.0.1:1/rpc");
    }
}
