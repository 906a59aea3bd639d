//! The gateways that somebody works with. Where their tokens are kept is for the program to decide.

use std::net::IpAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{ClientError, Target};

/// The gateways that somebody works with, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayList {
    /// Each has its own name.
    gateways: Vec<GatewayEntry>,
}

/// One gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayEntry {
    /// What the user calls it.
    pub name: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: GatewayPlace,
}

/// Where a gateway is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayPlace {
    /// On this machine, with this data directory; its own files say at which address, and hold its token.
    #[serde(rename = "data")]
    Local(PathBuf),
    /// At an address.
    #[serde(rename = "url")]
    Address(String),
}

/// Why a gateway cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGateway {
    /// It has no name.
    #[error("a gateway needs a name")]
    NoName,
    /// Another one has the name.
    #[error("there is a gateway `{0}` already")]
    NameTaken(String),
    /// There is none of the name.
    #[error("there is no gateway `{0}`")]
    Unknown(String),
    /// The address is none.
    #[error("`{address}` is not the address of a gateway: {problem}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl GatewayList {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &GatewayEntry> {
        self.gateways.iter()
    }

    /// One by its name.
    pub fn get(&self, name: &str) -> Option<&GatewayEntry> {
        self.gateways.iter().find(|gateway| gateway.name == name)
    }

    /// Adds one on this machine.
    pub fn add_local(&mut self, name: &str, data: PathBuf) -> Result<&GatewayEntry, InvalidGateway> {
        self.add(name, GatewayPlace::Local(data))
    }

    /// Adds one by its address.
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

    /// Gives one another name.
    pub fn rename(&mut self, name: &str, new: &str) -> Result<(), InvalidGateway> {
        if name == new.trim() {
            return Ok(());
        }
        let new = self.free_name(new)?;
        let found = self.gateways.iter_mut().find(|gateway| gateway.name == name);
        found.ok_or_else(|| InvalidGateway::Unknown(name.to_owned()))?.name = new;
        Ok(())
    }

    /// Takes one from the list, and gives it back so that its token can be removed too.
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
    /// What to connect to; none where an address has no token. A local gateway has its owner's unless another is given.
    pub fn target(&self, token: Option<SecretString>) -> Option<Target> {
        match (self, token) {
            (GatewayPlace::Local(data), None) => Some(Target::Local { data: data.clone() }),
            (GatewayPlace::Local(data), Some(token)) => Some(Target::LocalWith { data: data.clone(), token }),
            (GatewayPlace::Address(url), Some(token)) => Some(Target::Address { url: url.clone(), token }),
            (GatewayPlace::Address(_), None) => None,
        }
    }

    /// Whether a gateway runs here now; none for an address, which only connecting can tell. It reads files, and may wait
    /// for a disk.
    pub fn is_running(&self) -> Option<Result<bool, ClientError>> {
        let GatewayPlace::Local(data) = self else { return None };
        let found = Target::Local { data: data.clone() }.locate();
        Some(match found {
            Ok(_) => Ok(true),
            Err(ClientError::NotRunning { .. }) => Ok(false),
            Err(error) => Err(error),
        })
    }

    /// Whether others on the way can read the token and everything else.
    pub fn is_readable_by_others(&self) -> bool {
        match self {
            GatewayPlace::Local(_) => false,
            GatewayPlace::Address(url) => match url.strip_prefix("http://") {
                Some(authority) => !is_loopback(host(authority)),
                None => false,
            },
        }
    }
}

/// The HTTP base address of what somebody typed.
fn base_url(address: &str) -> Result<String, InvalidGateway> {
    let address = address.trim();
    let invalid = |problem| InvalidGateway::Address { address: address.to_owned(), problem };
    let (scheme, authority) = match address.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_lowercase()), rest),
        None => (None, address),
    };
    let authority = authority.trim_end_matches('/');
    let authority = authority.strip_suffix("/rpc").unwrap_or(authority);
    if authority.is_empty() {
        return Err(invalid("it names no host"));
    }
    if authority.contains('@') {
        return Err(invalid("a token does not belong into an address"));
    }
    if authority.contains(['/', '?', '#']) {
        return Err(invalid("a gateway has no path below its host"));
    }
    if authority.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err(invalid("it has white space in it"));
    }
    let port = authority.strip_prefix(host(authority)).unwrap_or_default();
    if !(port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())) {
        return Err(invalid("its port is not a number up to 65535"));
    }
    let scheme = match scheme.as_deref() {
        Some("http" | "ws") => "http",
        Some("https" | "wss") => "https",
        Some(_) => return Err(invalid("it must begin with https:// or http://")),
        // A token is not sent in the clear unless somebody says so.
        None if is_loopback(host(authority)) => "http",
        None => "https",
    };
    Ok(format!("{scheme}://{authority}"))
}

/// The host of `host:port`, brackets of an IPv6 address included.
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
    fn addresses_as_people_type_them() {
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
    fn a_token_is_not_sent_in_the_clear_unnoticed() {
        let place = |url: &str| GatewayPlace::Address(url.to_owned());
        assert!(place("http://gateway.example").is_readable_by_others());
        assert!(!place("https://gateway.example").is_readable_by_others());
        assert!(!place("http://127.0.0.1:4670").is_readable_by_others());
        assert!(place("http://gateway.example").target(None).is_none());
    }

    #[test]
    fn names_are_unique_and_the_list_is_kept_as_text() {
        let mut list = GatewayList::default();
        list.add_local("this machine", "/data".into()).unwrap();
        list.add_address(" team ", "gateway.example").unwrap();
        let taken = list.add_address("team", "other.example").unwrap_err();
        assert_eq!(taken.to_string(), "there is a gateway `team` already");
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
    fn a_directory_without_a_gateway_has_none_running() {
        let empty = GatewayPlace::Local(std::env::temp_dir().join("foreword-no-such-directory"));
        assert!(!empty.is_running().unwrap().unwrap());
        assert!(GatewayPlace::Address("https://a".to_owned()).is_running().is_none());
    }
}
