//! SHA-256 of texts that stand one after another, hashed again only from where they changed.

use instructions::hex;
use protocol::prompt::{PromptFingerprints, Stability};
use sha2::{Digest as _, Sha256};

use crate::JOINT;

/// SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// A hash of texts that are joined by a blank line.
#[derive(Clone, Default)]
struct Joined {
    hasher: Sha256,
    begun: bool,
}

impl Joined {
    fn add(&mut self, text: &str) {
        if self.begun {
            self.hasher.update(JOINT.as_bytes());
        }
        self.hasher.update(text.as_bytes());
        self.begun = true;
    }

    fn digest(&self) -> String {
        hex(&self.hasher.clone().finalize())
    }
}

/// The hashes of the parts of a prompt, up to some section. What begins alike is hashed once.
#[derive(Clone, Default)]
struct Hashes {
    stable: Joined,
    session: Joined,
    turn: Joined,
    /// None for as long as it is that of the session's part.
    dynamic: Option<Joined>,
    /// None for as long as it is that of the stable part.
    full: Option<Joined>,
}

impl Hashes {
    fn add(&mut self, stability: Stability, text: &str) {
        match (stability, &mut self.full) {
            (Stability::Stable, None) => {}
            (_, full) => full.get_or_insert_with(|| self.stable.clone()).add(text),
        }
        match (stability, &mut self.dynamic) {
            (Stability::Stable, _) | (Stability::Session, None) => {}
            (_, dynamic) => dynamic.get_or_insert_with(|| self.session.clone()).add(text),
        }
        match stability {
            Stability::Stable => self.stable.add(text),
            Stability::Session => self.session.add(text),
            Stability::Turn => self.turn.add(text),
        }
    }
}

/// PromptFingerprints of prompts that begin alike: what stands before the first section that changed is not hashed again.
#[derive(Default)]
pub(crate) struct Fingerprinter {
    /// After each section of the last prompt: which it was, and the hashes up to it.
    known: Vec<(Stability, String, Hashes)>,
}

impl Fingerprinter {
    /// The fingerprints of sections in the order of their text; each comes with the SHA-256 of its text.
    pub(crate) fn fingerprints<'a>(
        &mut self,
        sections: impl Iterator<Item = (Stability, &'a str, &'a str)>,
    ) -> PromptFingerprints {
        let mut place = 0;
        for (stability, sha256, text) in sections {
            let same =
                self.known.get(place).is_some_and(|(one, other, _)| *one == stability && other == sha256);
            if !same {
                self.known.truncate(place);
                let mut hashes = self.known.last().map(|(.., hashes)| hashes.clone()).unwrap_or_default();
                hashes.add(stability, text);
                self.known.push((stability, sha256.to_owned(), hashes));
            }
            place += 1;
        }
        self.known.truncate(place);
        let nothing = Hashes::default();
        let hashes = self.known.last().map_or(&nothing, |(.., hashes)| hashes);
        PromptFingerprints {
            stable: hashes.stable.digest(),
            session: hashes.session.digest(),
            turn: hashes.turn.digest(),
            dynamic: hashes.dynamic.as_ref().unwrap_or(&hashes.session).digest(),
            full: hashes.full.as_ref().unwrap_or(&hashes.stable).digest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::*;

    fn expected(sections: &[(Stability, String)]) -> PromptFingerprints {
        let joined = |wanted: &[Stability]| {
            let texts = sections.iter().filter(|(stability, _)| wanted.contains(stability));
            sha256(&texts.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(JOINT))
        };
        use Stability::{Session, Stable, Turn};
        PromptFingerprints {
            stable: joined(&[Stable]),
            session: joined(&[Session]),
            turn: joined(&[Turn]),
            dynamic: joined(&[Session, Turn]),
            full: joined(&[Stable, Session, Turn]),
        }
    }

    fn prompt() -> impl Strategy<Value = Vec<(Stability, String)>> {
        let section = (prop::sample::select(Stability::VARIANTS.to_vec()), "[ab]{1,2}");
        proptest::collection::vec(section, 0..8).prop_map(|mut sections| {
            sections.sort_by_key(|(stability, _)| *stability);
            sections
        })
    }

    proptest! {
        /// Prompts of few different sections, so that most begin like the one before.
        #[test]
        fn fingerprints_are_those_of_the_texts(prompts in proptest::collection::vec(prompt(), 1..12)) {
            let mut fingerprinter = Fingerprinter::default();
            for sections in prompts {
                let hashed: Vec<(Stability, String, &str)> =
                    sections.iter().map(|(stability, text)| (*stability, sha256(text), text.as_str())).collect();
                let found = fingerprinter
                    .fingerprints(hashed.iter().map(|(stability, sha256, text)| (*stability, sha256.as_str(), *text)));
                prop_assert_eq!(found, expected(&sections));
            }
        }
    }
}
