//! Addresses of resources: `foreword://effective/{path}` and `foreword://document/{workspace}[/{folder}]`.

use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::Refusal;

const EFFECTIVE: &str = "foreword://effective/";
const DOCUMENT: &str = "foreword://document/";

/// Address of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Instructions that apply to a directory, by its absolute path.
    Effective(PathBuf),
    Document(DocumentAddress),
}

/// Scope of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentAddress {
    /// Name or id; `None` for the default workspace, if there is one.
    pub workspace: Option<String>,
    /// Path or id; `None` for the workspace's root.
    pub folder: Option<String>,
}

impl Address {
    pub(super) const OF_DIRECTORIES: &str = "foreword://effective/{path}";
    pub(super) const OF_WORKSPACES: &str = "foreword://document/{workspace}";
    pub(super) const OF_FOLDERS: &str = "foreword://document/{workspace}/{folder}";

    pub fn parse(uri: &str) -> Result<Self, Refusal> {
        if let Some(path) = uri.strip_prefix(EFFECTIVE) {
            let path = decoded(path).map(PathBuf::from).filter(|path| path.is_absolute());
            let path = path.ok_or_else(|| {
                Refusal::new(format!(
                    "{uri} names no absolute path; write it percent-encoded, as %2Fhome%2Fme"
                ))
            })?;
            return Ok(Self::Effective(path));
        }
        let Some(place) = uri.strip_prefix(DOCUMENT) else {
            return Err(Refusal::new(format!("there is no resource {uri}")));
        };
        let (workspace, folder) =
            place.split_once('/').map_or((place, None), |(workspace, folder)| (workspace, Some(folder)));
        let text = |part: &str| {
            let text = decoded(part).and_then(|text| text.into_string().ok());
            text.ok_or_else(|| Refusal::new(format!("{uri} is not percent-encoded UTF-8")))
        };
        if workspace.is_empty() {
            return Err(Refusal::new(format!("{uri} names no workspace")));
        }
        let folder = folder.filter(|folder| !folder.is_empty()).map(text).transpose()?;
        Ok(Self::Document(DocumentAddress { workspace: Some(text(workspace)?), folder }))
    }
}

impl Display for Address {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effective(path) => write!(formatter, "{EFFECTIVE}{}", encoded(path.as_os_str().as_bytes())),
            Self::Document(DocumentAddress { workspace, folder }) => {
                let workspace = workspace.as_deref().unwrap_or_default();
                write!(formatter, "{DOCUMENT}{}", encoded(workspace.as_bytes()))?;
                match folder {
                    Some(folder) => write!(formatter, "/{}", encoded(folder.as_bytes())),
                    None => Ok(()),
                }
            }
        }
    }
}

fn encoded(bytes: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in bytes {
        // Everything else is encoded, even the slash: a client that normalizes addresses would turn `//` or `..` into
        // another directory.
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            encoded.push(char::from(*byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decoded(text: &str) -> Option<OsString> {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        // Checked before parsing, because `from_str_radix` also accepts a sign, as in `%+1`.
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for path in ["/a/b", "/with space/ü%20/\n"] {
            let address = Address::Effective(PathBuf::from(path));
            assert_eq!(Address::parse(&address.to_string()).unwrap(), address);
        }
        assert_eq!(
            Address::Effective(PathBuf::from("/a b")).to_string(),
            "foreword://effective/%2Fa%20b",
            "the readable form"
        );
        for folder in [None, Some("a/b c".to_owned())] {
            let address =
                Address::Document(DocumentAddress { workspace: Some("the shop/ü".into()), folder });
            assert_eq!(Address::parse(&address.to_string()).unwrap(), address);
        }
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        for uri in [
            "foreword://effective//a%2",
            "foreword://effective/%+1",
            "foreword://effective/%é1",
            "foreword://effective/relative",
            "foreword://document/",
            "foreword://document/%FF",
            "file:///etc/passwd",
        ] {
            assert!(Address::parse(uri).is_err(), "{uri}");
        }
    }
}
