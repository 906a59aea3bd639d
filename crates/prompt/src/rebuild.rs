//! A past prompt, byte for byte, from its manifest and the texts that were kept.

use protocol::ContentHash;
use protocol::prompt::PromptManifest;

use crate::fingerprint::{Fingerprinter, fingerprints_of_texts};
use crate::parts::Parts;

/// A prompt that was rebuilt and is proven to be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// What was the same in every session.
    pub stable_text: String,
    /// What was the same for its session.
    pub session_text: String,
    /// What was the same for its session and said as a user's message; empty in most profiles.
    pub user_text: String,
    /// What was of its turn.
    pub turn_text: String,
    /// The parts joined by a blank line.
    pub full_text: String,
}

/// A past prompt cannot be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// A text is no longer kept.
    #[error("the text of section `{section_id}` is not kept (any more)")]
    Missing {
        /// The section.
        section_id: String,
        /// SHA-256 of its text.
        sha256: ContentHash,
    },
    /// A text was removed because something in it was forgotten.
    #[error("the text of section `{section_id}` is purged: something remembered in it was forgotten")]
    Purged {
        /// The section.
        section_id: String,
        /// SHA-256 of its text.
        sha256: ContentHash,
    },
    /// A text is not what it was.
    #[error("the text that is kept for section `{section_id}` is not the one that was sent")]
    Altered {
        /// The section.
        section_id: String,
    },
    /// The whole is not what it was, although its sections are.
    #[error("the rebuilt {part} part has another fingerprint than the manifest says")]
    Fingerprint {
        /// Which part.
        part: &'static str,
    },
}

/// Rebuilds a prompt; `text_of` finds a section's text by its SHA-256.
pub fn rebuild(
    manifest: &PromptManifest,
    mut text_of: impl FnMut(&ContentHash) -> Option<String>,
) -> Result<Rebuilt, RebuildError> {
    let mut texts = Vec::with_capacity(manifest.sections.len());
    for section in &manifest.sections {
        let missing =
            || RebuildError::Missing { section_id: section.id.clone(), sha256: section.sha256.clone() };
        let text = text_of(&section.sha256).ok_or_else(missing)?;
        if ContentHash::of(&text) != section.sha256 {
            return Err(RebuildError::Altered { section_id: section.id.clone() });
        }
        texts.push(text);
    }
    let own = manifest.sections.iter().zip(texts.iter().map(String::as_str));
    let Parts { stable_text, session_text, user_text, turn_text, full_text } = Parts::of(own);
    let found = if manifest.compiler_version.starts_with("1.") {
        fingerprints_of_texts(&stable_text, &session_text, &turn_text)
    } else {
        Fingerprinter::default().fingerprints(&manifest.sections)
    };
    let expected = &manifest.fingerprints;
    for (part, found, expected) in [
        ("stable", &found.stable, &expected.stable),
        ("session", &found.session, &expected.session),
        ("turn", &found.turn, &expected.turn),
        ("dynamic", &found.dynamic, &expected.dynamic),
        ("full", &found.full, &expected.full),
    ] {
        if found != expected {
            return Err(RebuildError::Fingerprint { part });
        }
    }
    Ok(Rebuilt { stable_text, session_text, user_text, turn_text, full_text })
}
