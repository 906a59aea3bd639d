//! Fingerprints: one hash per part of a prompt, computed from the hashes of its sections.

use protocol::ContentHash;
use protocol::prompt::{PromptFingerprints, PromptManifestSection, Stability};
use sha2::{Digest as _, Sha256};

use crate::join;

/// Computes the fingerprints of similar prompts. Hashing resumes at the first section that differs from the last prompt.
#[derive(Default)]
pub(crate) struct Fingerprinter {
    stable: HashChain,
    session: HashChain,
    turn: HashChain,
    dynamic: HashChain,
    full: HashChain,
}

impl Fingerprinter {
    /// Returns the fingerprints of a prompt with these sections.
    ///
    /// The fingerprint of a part is the SHA-256 of its sections' hashes as printed in the manifest: 64 hexadecimal digits
    /// and a line feed each, in the order of the text. Every byte of a prompt is therefore hashed only once, and a
    /// fingerprint can be checked without the texts: `jq -r '.sections[].sha256' | sha256sum` prints `full`.
    pub(crate) fn fingerprints(&mut self, sections: &[PromptManifestSection]) -> PromptFingerprints {
        use Stability::{Session, Stable, Turn};
        PromptFingerprints {
            stable: self.stable.hash(sections, &[Stable]),
            session: self.session.hash(sections, &[Session]),
            turn: self.turn.hash(sections, &[Turn]),
            dynamic: self.dynamic.hash(sections, &[Session, Turn]),
            full: self.full.hash(sections, &[Stable, Session, Turn]),
        }
    }
}

/// The section hashes of a fingerprint, and the hasher's state after each.
#[derive(Default)]
struct HashChain(Vec<(ContentHash, Sha256)>);

impl HashChain {
    fn hash(&mut self, sections: &[PromptManifestSection], parts: &[Stability]) -> ContentHash {
        let hashes =
            sections.iter().filter(|section| parts.contains(&section.stability)).map(|it| &it.sha256);
        // Everything after the first difference is hashed again, because each state contains all sections before it.
        let known = self.0.iter().zip(hashes.clone()).take_while(|((before, _), now)| before == *now).count();
        self.0.truncate(known);
        for sha256 in hashes.skip(known) {
            // The hasher's state is cloned after each section, which is a small copy. Without it, a changed last
            // section would mean hashing all the earlier ones again.
            let mut state = self.state();
            state.update(sha256.as_str());
            state.update(b"\n");
            self.0.push((sha256.clone(), state));
        }
        ContentHash::from_digest(&self.state().finalize().into())
    }

    fn state(&self) -> Sha256 {
        self.0.last().map(|(_, state)| state.clone()).unwrap_or_default()
    }
}

/// Returns fingerprints as version 1 of the compiler computed them: the SHA-256 of each part's text.
pub(crate) fn fingerprints_of_texts(stable: &str, session: &str, turn: &str) -> PromptFingerprints {
    PromptFingerprints {
        stable: ContentHash::of(stable),
        session: ContentHash::of(session),
        turn: ContentHash::of(turn),
        dynamic: ContentHash::of(join([session, turn])),
        full: ContentHash::of(join([stable, session, turn])),
    }
}
