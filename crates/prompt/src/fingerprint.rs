//! SHA-256 of texts that stand one after another, each byte hashed as rarely as possible.

use sha2::{Digest as _, Sha256};

use crate::JOINT;
use crate::manifest::Fingerprints;

/// Lowercase hexadecimal digits of a digest.
pub fn hex(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(digest.len() * 2);
    for byte in digest {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 0xf)]));
    }
    text
}

/// SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// A hash of texts that are joined by a blank line; empty ones do not count.
#[derive(Clone, Default)]
pub(crate) struct Joined {
    hasher: Sha256,
    begun: bool,
}

impl Joined {
    pub(crate) fn with(&self, text: &str) -> Self {
        let mut joined = self.clone();
        if !text.is_empty() {
            if joined.begun {
                joined.hasher.update(JOINT.as_bytes());
            }
            joined.hasher.update(text.as_bytes());
            joined.begun = true;
        }
        joined
    }

    pub(crate) fn digest(&self) -> String {
        hex(&self.hasher.clone().finalize())
    }
}

/// The fingerprints of three parts, and what of their making can be used again while the first two stay the same.
#[derive(Clone)]
pub(crate) struct Prefix {
    stable: String,
    session: String,
    session_hash: Joined,
    both_hash: Joined,
}

impl Prefix {
    pub(crate) fn new(stable: &str, session: &str) -> Self {
        let stable_hash = Joined::default().with(stable);
        let session_hash = Joined::default().with(session);
        Self {
            stable: stable_hash.digest(),
            session: session_hash.digest(),
            both_hash: stable_hash.with(session),
            session_hash,
        }
    }

    pub(crate) fn with_turn(&self, turn: &str) -> Fingerprints {
        Fingerprints {
            stable: self.stable.clone(),
            session: self.session.clone(),
            turn: sha256(turn),
            dynamic: self.session_hash.with(turn).digest(),
            full: self.both_hash.with(turn).digest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_the_texts() {
        for (stable, session, turn) in
            [("a", "b", "c"), ("a", "", "c"), ("", "", ""), ("", "b", ""), ("", "b", "c"), ("a", "", "")]
        {
            let join = |parts: &[&str]| {
                parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(JOINT)
            };
            let found = Prefix::new(stable, session).with_turn(turn);
            assert_eq!(found.stable, sha256(stable));
            assert_eq!(found.session, sha256(session));
            assert_eq!(found.turn, sha256(turn));
            assert_eq!(found.dynamic, sha256(&join(&[session, turn])));
            assert_eq!(found.full, sha256(&join(&[stable, session, turn])));
        }
    }
}
