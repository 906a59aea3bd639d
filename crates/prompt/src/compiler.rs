//! Renders sections, joins them and records them in a manifest.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::ContentHash;
use protocol::prompt::{
    PromptManifest, PromptManifestSection, PromptRole, PromptSource, PromptSourceKind, Stability,
};
use sha2::{Digest as _, Sha256};
use tokens::{Counter, Encoding};

use crate::collect::{Collected, DraftSection, collect_sections};
use crate::fingerprint::Fingerprinter;
use crate::input::PromptCompileInput;
use crate::parts::Parts;
use crate::section::{FilledBy, SECTIONS, SectionKind};
use crate::texts::TEXTS_VERSION;

/// Version of the compiler's rules; the version of the texts follows it in manifests.
pub const COMPILER_VERSION: &str = "2";

/// A compiled prompt and its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledPrompt {
    /// The part that is the same in every session.
    pub stable_text: String,
    /// The part that is the same throughout this session.
    pub session_text: String,
    /// The part that is the same throughout this session but sent as the first user message; empty in most profiles.
    pub user_text: String,
    /// The part that belongs to this turn.
    pub turn_text: String,
    /// The parts joined by a blank line.
    pub full_text: String,
    /// The sections one by one, in the order of the manifest, as they must be kept to rebuild the prompt.
    pub sections: Vec<SectionText>,
    /// Record of the prompt, without its content.
    pub manifest: PromptManifest,
}

impl CompiledPrompt {
    /// Removes from the texts the sections that the manifest marks as sent by an earlier turn. The fingerprints cover all
    /// sections, so they do not change.
    pub fn leave_out_said(&mut self) {
        // Only the turn's part can contain sections that were sent earlier, so the stable and the session text stay as
        // they were compiled.
        let own = self.manifest.sections.iter().zip(&self.sections);
        let parts = Parts::of(own.map(|(section, text)| (section, &*text.text)));
        self.turn_text = parts.turn_text;
        self.full_text = parts.full_text;
    }

    /// Adds [notes](crate::notes) to the prompt of a round, each with its id and text, in the order of the table of sections.
    /// Their text is sent at the end of the message that caused them, but the manifest records them like any other section.
    pub fn add_notes<'a>(&mut self, counter: &Counter, notes: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let place = |id: &str| SECTIONS.iter().position(|kind| kind.id == id);
        let mut is_changed = false;
        for (id, text) in notes {
            let is_note = SectionKind::find(id).is_some_and(|kind| kind.filled_by == FilledBy::Note);
            if !is_note || self.manifest.sections.iter().any(|section| section.id == id) {
                continue;
            }
            is_changed = true;
            let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
            let sha256 = ContentHash::from_digest(&digest);
            let source = PromptSource {
                id: Some(id.to_owned()),
                version: Some(TEXTS_VERSION),
                ..PromptSource::new(PromptSourceKind::BuiltIn, sha256.clone())
            };
            // Sections that only hooks know have no place in the table; they come before all notes.
            let later = self.manifest.sections.iter().position(|other| place(&other.id) > place(id));
            let index = later.unwrap_or(self.manifest.sections.len());
            self.manifest.sections.insert(
                index,
                PromptManifestSection {
                    id: id.to_owned(),
                    stability: Stability::Turn,
                    chars: text.chars().count() as u64,
                    tokens: counter.count_hashed(Encoding::Cl100k, text, digest) as u64,
                    sha256: sha256.clone(),
                    truncated: false,
                    role: PromptRole::System,
                    said_earlier: false,
                    sources: vec![source],
                },
            );
            self.sections.insert(index, SectionText { id: id.to_owned(), sha256, text: text.into() });
        }
        if is_changed {
            self.manifest.fingerprints = Fingerprinter::default().fingerprints(&self.manifest.sections);
            self.leave_out_said();
        }
    }
}

/// Text of one section, heading included, and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionText {
    /// Id of the section.
    pub id: String,
    /// SHA-256 of the text, as in the manifest.
    pub sha256: ContentHash,
    /// Rendered text.
    pub text: Arc<str>,
}

/// Compiles a prompt once.
pub fn compile_prompt(input: &PromptCompileInput) -> CompiledPrompt {
    Compiler::default().compile(input)
}

/// Compiles similar prompts one after another. Sections that did not change are not hashed or counted again.
#[derive(Default)]
pub struct Compiler {
    counter: Arc<Counter>,
    sections: HashMap<String, Rendered>,
    fingerprinter: Fingerprinter,
}

#[derive(Clone)]
struct Rendered {
    text: Arc<str>,
    sha256: ContentHash,
    chars: u64,
    tokens: u64,
}

impl Compiler {
    /// Creates a compiler that shares known token counts with others.
    pub fn new(counter: Arc<Counter>) -> Self {
        Self { counter, ..Self::default() }
    }

    /// Compiles one prompt.
    pub fn compile(&mut self, input: &PromptCompileInput) -> CompiledPrompt {
        let Collected { drafts, mut diagnostics, hook_sources, left_out } = collect_sections(input);
        // Several sources may report the same problem in a row, for example a hook that runs in two phases.
        diagnostics.dedup();
        let mut texts = Vec::with_capacity(drafts.len());
        let mut sections = Vec::with_capacity(drafts.len());
        for draft in drafts {
            // Most sections are equal to those of the last turn, so rendering usually returns the cached text and counts.
            let rendered = self.render(&draft);
            texts.push(SectionText {
                id: draft.id.to_owned(),
                sha256: rendered.sha256.clone(),
                text: rendered.text,
            });
            sections.push(PromptManifestSection {
                id: draft.id.to_owned(),
                stability: draft.stability,
                chars: rendered.chars,
                tokens: rendered.tokens,
                sha256: rendered.sha256,
                truncated: draft.truncated,
                role: draft.role,
                said_earlier: false,
                sources: draft.sources,
            });
        }
        let own = sections.iter().zip(&texts).map(|(section, text)| (section, &*text.text));
        let Parts { stable_text, session_text, user_text, turn_text, full_text } = Parts::of(own);
        let manifest = PromptManifest {
            compiler_version: format!("{COMPILER_VERSION}.{TEXTS_VERSION}"),
            profile: input.profile,
            // Computed from the hashes of the sections and not from the joined texts, so their cost does not grow with
            // the length of the prompt.
            fingerprints: self.fingerprinter.fingerprints(&sections),
            sections,
            diagnostics,
            hook_sources,
            left_out,
            policies: input.policies.clone(),
            request: None,
        };
        CompiledPrompt {
            stable_text,
            session_text,
            user_text,
            turn_text,
            full_text,
            sections: texts,
            manifest,
        }
    }

    fn render(&mut self, draft: &DraftSection<'_>) -> Rendered {
        if let Some(known) = self.sections.get(draft.id)
            && is_rendered(&known.text, draft)
        {
            return known.clone();
        }
        let text: Arc<str> = match draft.role {
            PromptRole::System => ["## ", &draft.title, "\n", &draft.content].concat().into(),
            // A user message needs no heading: the agent that the profile imitates does not send one either.
            PromptRole::User => draft.content.as_ref().into(),
        };
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let rendered = Rendered {
            sha256: ContentHash::from_digest(&digest),
            chars: text.chars().count() as u64,
            tokens: self.counter.count_hashed(Encoding::Cl100k, &text, digest) as u64,
            text,
        };
        self.sections.insert(draft.id.to_owned(), rendered.clone());
        rendered
    }
}

/// Returns true if `text` is the rendering of `draft`. Comparing is far cheaper than rendering and hashing again.
fn is_rendered(text: &str, draft: &DraftSection<'_>) -> bool {
    if draft.role == PromptRole::User {
        return text == draft.content;
    }
    // Compared piece by piece against the cached text, because joining the parts first would cost the allocation that
    // this check avoids.
    let rest = text.strip_prefix("## ").and_then(|rest| rest.strip_prefix(&*draft.title));
    rest.and_then(|rest| rest.strip_prefix('\n')) == Some(&*draft.content)
}
