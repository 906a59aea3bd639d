//! Fingerprints: one hash for each part of a prompt, made from the hashes of its sections.

use instructions::hex;
use protocol::prompt::{PromptFingerprints, PromptManifestSection, Stability};
use sha2::{Digest as _, Sha256};

use crate::join;

/// SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The fingerprints of a prompt with these sections.
///
/// The fingerprint of a part is the SHA-256 of its sections' hashes as the manifest has them: 64 hexadecimal digits and
/// a line feed each, in the order of the text. So every byte of a prompt is hashed once, and a fingerprint can be
/// checked without the texts: `jq -r '.sections[].sha256' | sha256sum` prints `full`.
pub(crate) fn fingerprints(sections: &[PromptManifestSection]) -> PromptFingerprints {
    use Stability::{Session, Stable, Turn};
    let of = |parts: &[Stability]| {
        let mut hasher = Sha256::new();
        for section in sections.iter().filter(|section| parts.contains(&section.stability)) {
            hasher.update(section.sha256.as_bytes());
            hasher.update(b"\n");
        }
        hex(&hasher.finalize())
    };
    PromptFingerprints {
        stable: of(&[Stable]),
        session: of(&[Session]),
        turn: of(&[Turn]),
        dynamic: of(&[Session, Turn]),
        full: of(&[Stable, Session, Turn]),
    }
}

/// The fingerprints that version 1 of the compiler would have made: each the SHA-256 of its part's text.
pub(crate) fn fingerprints_of_texts(stable: &str, session: &str, turn: &str) -> PromptFingerprints {
    PromptFingerprints {
        stable: sha256(stable),
        session: sha256(session),
        turn: sha256(turn),
        dynamic: sha256(&join([session, turn])),
        full: sha256(&join([stable, session, turn])),
    }
}
