//! Paths in the JSON of a session. Paths are arbitrary bytes, JSON strings are Unicode.
//!
//! A UTF-8 path is written unchanged. Any other path is written as `bytes:` followed by its bytes, where `%`
//! and invalid bytes become `%` and two hexadecimal digits: `/srv/d\xff` is `bytes:/srv/d%ff`. A relative
//! path that begins with `bytes:` is escaped as well, although sessions contain none.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::content_hash::hex;

const ESCAPED: &str = "bytes:";

/// Returns a path as a JSON string.
fn encode(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if !text.starts_with(ESCAPED) => Cow::Borrowed(text),
        _ => {
            let mut text = ESCAPED.to_owned();
            for chunk in path.as_os_str().as_bytes().utf8_chunks() {
                text.push_str(&chunk.valid().replace('%', "%25"));
                for byte in chunk.invalid() {
                    text.push('%');
                    text.push_str(&hex(&[*byte]));
                }
            }
            Cow::Owned(text)
        }
    }
}

/// Returns the path of a JSON string, or `None` if an escape is broken.
fn decode(text: String) -> Option<PathBuf> {
    let Some(escaped) = text.strip_prefix(ESCAPED) else { return Some(text.into()) };
    let mut parts = escaped.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        // `from_str_radix` would accept a sign.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(OsString::from_vec(bytes).into())
}

/// A path for serialization.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Stored<P>(P);

impl<P: AsRef<Path>> Serialize for Stored<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&encode(self.0.as_ref()))
    }
}

impl<'de> Deserialize<'de> for Stored<PathBuf> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match decode(text) {
            Some(path) => Ok(Stored(path)),
            None => Err(D::Error::custom("a path has a `%` without two hexadecimal digits")),
        }
    }
}

/// Serializes a path.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Stored(path).serialize(serializer)
}

/// Deserializes a path.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(Stored::deserialize(deserializer)?.0)
}

/// Serialization of an optional path.
pub(crate) mod option {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_ref().map(Stored).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Stored<PathBuf>>::deserialize(deserializer)?.map(|path| path.0))
    }
}

/// Serialization of several paths.
pub(crate) mod list {
    use super::*;

    pub(crate) fn serialize<'a, S, L>(paths: &'a L, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        &'a L: IntoIterator<Item = &'a PathBuf>,
    {
        serializer.collect_seq(paths.into_iter().map(Stored))
    }

    pub(crate) fn deserialize<'de, D, L>(deserializer: D) -> Result<L, D::Error>
    where
        D: Deserializer<'de>,
        L: FromIterator<PathBuf>,
    {
        Ok(Vec::<Stored<PathBuf>>::deserialize(deserializer)?.into_iter().map(|path| path.0).collect())
    }
}

/// Serialization of a map keyed by paths.
pub(crate) mod map {
    use std::collections::BTreeMap;

    use super::*;

    pub(crate) fn serialize<S, V>(map: &BTreeMap<PathBuf, V>, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        V: Serialize,
    {
        serializer.collect_map(map.iter().map(|(path, value)| (Stored(path), value)))
    }

    pub(crate) fn deserialize<'de, D, V>(deserializer: D) -> Result<BTreeMap<PathBuf, V>, D::Error>
    where
        D: Deserializer<'de>,
        V: Deserialize<'de>,
    {
        let map = BTreeMap::<Stored<PathBuf>, V>::deserialize(deserializer)?;
        Ok(map.into_iter().map(|(path, value)| (path.0, value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn every_path_survives_and_plain_ones_stay_plain() {
        for (bytes, text) in [
            (&b"/srv/100% \xc3\xa9"[..], "/srv/100% \u{e9}"),
            (b"", ""),
            (b"/srv/d\xff\xc3/%", "bytes:/srv/d%ff%c3/%25"),
            (b"bytes:a", "bytes:bytes:a"),
        ] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(encode(path), text);
            assert_eq!(decode(text.to_owned()).as_deref(), Some(path));
        }
    }

    #[test]
    fn broken_escapes_are_no_path() {
        for text in ["bytes:%", "bytes:%f", "bytes:%+1", "bytes:%zz", "bytes:a%é"] {
            assert_eq!(decode(text.to_owned()), None, "{text}");
        }
    }
}
