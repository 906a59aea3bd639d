//! Restores a past prompt byte for byte from its manifest and the kept texts.

use protocol::ContentHash;
use protocol::prompt::PromptManifest;

use crate::fingerprint::{Fingerprinter, fingerprints_of_texts};
use crate::parts::Parts;

/// A past prompt whose hashes were verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// The part that was the same in every session.
    pub stable_text: String,
    /// The part that was the same throughout its session.
    pub session_text: String,
    /// The part that was the same throughout its session but sent as a user message; empty in most profiles.
    pub user_text: String,
    /// The part that belonged to its turn.
    pub turn_text: String,
    /// The parts joined by a blank line.
    pub full_text: String,
}

/// Reason why a past prompt cannot be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// A section's text is no longer kept.
    #[error("the text of section `{section_id}` is not kept (any more)")]
    Missing {
        /// Id of the section.
        section_id: String,
        /// SHA-256 of its text.
        sha256: ContentHash,
    },
    /// A section's text was purged with a forgotten memory.
    #[error("the text of section `{section_id}` was purged together with a forgotten memory")]
    Purged {
        /// Id of the section.
        section_id: String,
        /// SHA-256 of its text.
        sha256: ContentHash,
    },
    /// A section's text differs from its hash.
    #[error("the stored text of section `{section_id}` differs from the text that was sent")]
    Altered {
        /// Id of the section.
        section_id: String,
    },
    /// The fingerprint of a part differs although every section matches.
    #[error("the fingerprint of the rebuilt {part} part differs from the manifest")]
    Fingerprint {
        /// Name of the part.
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
        // The store is not trusted here: a rebuilt prompt is evidence of what was sent.
        if ContentHash::of(&text) != section.sha256 {
            return Err(RebuildError::Altered { section_id: section.id.clone() });
        }
        texts.push(text);
    }
    let own = manifest.sections.iter().zip(texts.iter().map(String::as_str));
    let Parts { stable_text, session_text, user_text, turn_text, full_text } = Parts::of(own);
    // Version 1 hashed the text of a part instead of the hashes of its sections. Its manifests must stay verifiable.
    let found = if manifest.compiler_version.starts_with("1.") {
        fingerprints_of_texts(&stable_text, &session_text, &turn_text)
    } else {
        Fingerprinter::default().fingerprints(&manifest.sections)
    };
    let expected = &manifest.fingerprints;
    // The parts come before the whole, so that the error names the part that differs instead of only the prompt.
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
