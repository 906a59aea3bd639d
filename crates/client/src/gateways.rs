//! List of the gateways that a user works with. The program decides where tokens are stored.

use std::net::IpAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{ClientError, Target};

/// Gateways in the user's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayList {
    /// Entries with unique names.
    gateways: Vec<GatewayEntry>,
}

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayEntry {
    /// Name chosen by the user.
    pub name: String,
    /// Location of the gateway.
    #[serde(flatten)]
    pub place: GatewayPlace,
}

/// Location of a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayPlace {
    /// On this machine, by data directory. Files in it hold the address and the owner's token.
    #[serde(rename = "data")]
    Local(PathBuf),
    /// At an address.
    #[serde(rename = "url")]
    Address(String),
}

/// Reason why a gateway cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGateway {
    /// The name is empty.
    #[error("a gateway needs a name")]
    NoName,
    /// The name is taken.
    #[error("gateway `{0}` already exists")]
    NameTaken(String),
    /// No gateway has this name.
    #[error("gateway `{0}` does not exist")]
    Unknown(String),
    /// The address is invalid.
    #[error("`{address}` is not the address of a gateway: {problem}")]
    Address {
        /// Address as typed.
        address: String,
        /// Description of the error.
        problem: &'static str,
    },
}

impl GatewayList {
    /// Iterates over all gateways.
    pub fn iter(&self) -> impl Iterator<Item = &GatewayEntry> {
        self.gateways.iter()
    }

    /// Returns the gateway with this name.
    pub fn get(&self, name: &str) -> Option<&GatewayEntry> {
        self.gateways.iter().find(|gateway| gateway.name == name)
    }

    /// Adds a gateway on this machine.
    pub fn add_local(&mut self, name: &str, data: PathBuf) -> Result<&GatewayEntry, InvalidGateway> {
        self.add(name, GatewayPlace::Local(data))
    }

    /// Adds a gateway by address.
    pub fn add_address(&mut self, name: &str, address: &str) -> Result<&GatewayEntry, InvalidGateway> {
        let url = base_url(address)?;
        self.add(name, GatewayPlace::Address(url))
    }

    fn add(&mut self, name: &str, place: GatewayPlace) -> Result<&GatewayEntry, InvalidGateway> {
        let name = self.free_name(name)?;
        self.gateways.push(GatewayEntry { name, place });
        let last = self.gateways.len() - 1;
        Ok(&self.gateways[last])
    }

    /// Renames a gateway.
    pub fn rename(&mut self, name: &str, new: &str) -> Result<(), InvalidGateway> {
        // Without this check, renaming a gateway to its own name would fail because the name is taken.
        if name == new.trim() {
            return Ok(());
        }
        let new = self.free_name(new)?;
        let found = self.gateways.iter_mut().find(|gateway| gateway.name == name);
        found.ok_or_else(|| InvalidGateway::Unknown(name.to_owned()))?.name = new;
        Ok(())
    }

    /// Removes a gateway and returns it, so that its token can be deleted too.
    pub fn remove(&mut self, name: &str) -> Result<GatewayEntry, InvalidGateway> {
        let index = self.gateways.iter().position(|gateway| gateway.name == name);
        let index = index.ok_or_else(|| InvalidGateway::Unknown(name.to_owned()))?;
        Ok(self.gateways.remove(index))
    }

    fn free_name(&self, name: &str) -> Result<String, InvalidGateway> {
        let name = name.trim();
        if name.is_empty() {
            return Err(InvalidGateway::NoName);
        }
        if self.get(name).is_some() {
            return Err(InvalidGateway::NameTaken(name.to_owned()));
        }
        Ok(name.to_owned())
    }
}

impl GatewayPlace {
    /// Returns the connection target. `None` if an address has no token. A local gateway uses its owner's token by default.
    pub fn target(&self, token: Option<SecretString>) -> Option<Target> {
        match (self, token) {
            (GatewayPlace::Local(data), None) => Some(Target::Local { data: data.clone() }),
            (GatewayPlace::Local(data), Some(token)) => Some(Target::LocalWith { data: data.clone(), token }),
            (GatewayPlace::Address(url), Some(token)) => Some(Target::Address { url: url.clone(), token }),
            (GatewayPlace::Address(_), None) => None,
        }
    }

    /// Returns true if a local gateway is running. `None` for an address, which is only known to be up after connecting. Reads files and
    /// may block on the disk.
    pub fn is_running(&self) -> Option<Result<bool, ClientError>> {
        let GatewayPlace::Local(data) = self else { return None };
        let found = Target::Local { data: data.clone() }.locate();
        Some(match found {
            Ok(_) => Ok(true),
            Err(ClientError::NotRunning { .. }) => Ok(false),
            Err(error) => Err(error),
        })
    }

    /// Returns true if the connection is unencrypted and leaves this machine.
    pub fn is_readable_by_others(&self) -> bool {
        match self {
            GatewayPlace::Local(_) => false,
            GatewayPlace::Address(url) => match url.strip_prefix("http://") {
                // Loopback traffic never leaves the machine, so it needs no encryption.
                Some(authority) => !is_loopback(host(authority)),
                None => false,
            },
        }
    }
}

/// Normalizes a typed address to an HTTP base URL.
fn base_url(address: &str) -> Result<String, InvalidGateway> {
    let address = address.trim();
    let invalid = |problem| InvalidGateway::Address { address: address.to_owned(), problem };
    let (scheme, authority) = match address.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_lowercase()), rest),
        None => (None, address),
    };
    let authority = authority.trim_end_matches('/');
    // Users also paste the address of the WebSocket endpoint.
    let authority = authority.strip_suffix("/rpc").unwrap_or(authority);
    if authority.is_empty() {
        return Err(invalid("it names no host"));
    }
    // Addresses are stored and shown in plain text, so a token in one of them would leak.
    if authority.contains('@') {
        return Err(invalid("a token must not be part of the address"));
    }
    if authority.contains(['/', '?', '#']) {
        return Err(invalid("it must not have a path"));
    }
    if authority.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err(invalid("it contains white space"));
    }
    // An IPv6 address contains colons itself, so the host is cut off before the port is parsed.
    let port = authority.strip_prefix(host(authority)).unwrap_or_default();
    if !(port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())) {
        return Err(invalid("its port is not a number up to 65535"));
    }
    let scheme = match scheme.as_deref() {
        Some("http" | "ws") => "http",
        Some("https" | "wss") => "https",
        Some(_) => return Err(invalid("it must begin with https:// or http://")),
        // Default to an encrypted connection, because the token is sent with every request.
        None if is_loopback(host(authority)) => "http",
        None => "https",
    };
    Ok(format!("{scheme}://{authority}"))
}

/// Returns the host of `host:port`, including the brackets of an IPv6 address.
fn host(authority: &str) -> &str {
    match authority.rfind(']') {
        Some(end) if authority.starts_with('[') => &authority[..=end],
        _ => authority.split(':').next().unwrap_or(authority),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_addresses_are_normalized() {
        let cases = [
            ("127.0.0.1:4670", "http://127.0.0.1:4670"),
            ("localhost:1/", "http://localhost:1"),
            ("[::1]:4670", "http://[::1]:4670"),
            ("gateway.example", "https://gateway.example"),
            (" https://gateway.example/ ", "https://gateway.example"),
            ("wss://gateway.example/rpc", "https://gateway.example"),
            ("HTTP://10.0.0.1:80", "http://10.0.0.1:80"),
        ];
        for (typed, url) in cases {
            assert_eq!(base_url(typed).unwrap(), url, "{typed}");
        }
        for typed in ["", "https://", "ftp://a", "a b", "me@host", "host/path", "host:port", "host:70000"] {
            assert!(matches!(base_url(typed), Err(InvalidGateway::Address { .. })), "{typed}");
        }
    }

    #[test]
    fn unencrypted_remote_addresses_are_reported() {
        let place = |url: &str| GatewayPlace::Address(url.to_owned());
        assert!(place("http://gateway.example").is_readable_by_others());
        assert!(!place("https://gateway.example").is_readable_by_others());
        assert!(!place("http://127.0.0.1:4670").is_readable_by_others());
        assert!(place("http://gateway.example").target(None).is_none());
    }

    #[test]
    fn names_are_unique_and_the_list_serializes() {
        let mut list = GatewayList::default();
        list.add_local("this machine", "/data".into()).unwrap();
        list.add_address(" team ", "gateway.example").unwrap();
        let taken = list.add_address("team", "other.example").unwrap_err();
        assert_eq!(taken.to_string(), "gateway `team` already exists");
        assert_eq!(list.add_address(" ", "other.example").unwrap_err(), InvalidGateway::NoName);
        list.rename("team", "work").unwrap();
        assert!(list.rename("team", "again").is_err() && list.rename("work", "this machine").is_err());
        let text = serde_json::to_string(&list).unwrap();
        assert_eq!(
            text,
            r#"{"gateways":[{"name":"this machine","data":"/data"},{"name":"work","url":"https://gateway.example"}]}"#
        );
        assert_eq!(serde_json::from_str::<GatewayList>(&text).unwrap(), list);
        assert_eq!(list.remove("work").unwrap().name, "work");
        assert_eq!(list.iter().count(), 1);
    }

    #[test]
    fn an_empty_directory_has_no_running_gateway() {
        let empty = GatewayPlace::Local(std::env::temp_dir().join("foreword-no-such-directory"));
        assert!(!empty.is_running().unwrap().unwrap());
        assert!(GatewayPlace::Address("https://a".to_owned()).is_running().is_none());
    }
}
