//! Puts sections together.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::ContentHash;
use protocol::prompt::{PromptManifest, PromptManifestSection, PromptRole};
use sha2::{Digest as _, Sha256};
use tokens::{Counter, Encoding};

use crate::collect::{Collected, DraftSection, collect_sections};
use crate::fingerprint::Fingerprinter;
use crate::input::PromptCompileInput;
use crate::parts::Parts;
use crate::texts::TEXTS_VERSION;

/// Which compiler made a prompt: the version of its rules; that of its texts comes after it.
pub const COMPILER_VERSION: &str = "2";

/// A prompt and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledPrompt {
    /// What is the same in every session.
    pub stable_text: String,
    /// What is the same for this session.
    pub session_text: String,
    /// What is the same for this session and said as a user's message, before all others; empty in most profiles.
    pub user_text: String,
    /// What is of this turn.
    pub turn_text: String,
    /// The parts joined by a blank line.
    pub full_text: String,
    /// The sections by themselves, in the order of the manifest: what has to be kept to rebuild the prompt.
    pub sections: Vec<SectionText>,
    /// What it consists of.
    pub manifest: PromptManifest,
}

impl CompiledPrompt {
    /// Takes out of the texts what the manifest says an earlier turn has said. The fingerprints are those of the sections,
    /// and stay.
    pub fn leave_out_said(&mut self) {
        let own = self.manifest.sections.iter().zip(&self.sections);
        let parts = Parts::of(own.map(|(section, text)| (section, &*text.text)));
        self.turn_text = parts.turn_text;
        self.full_text = parts.full_text;
    }
}

/// One section's text, heading included, and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionText {
    /// Which section.
    pub id: String,
    /// SHA-256 of the text, as in the manifest.
    pub sha256: ContentHash,
    /// The text.
    pub text: Arc<str>,
}

/// Compiles a prompt once.
pub fn compile_prompt(input: &PromptCompileInput) -> CompiledPrompt {
    Compiler::default().compile(input)
}

/// Compiles prompts that are like one another: what did not change since the last one is not hashed or counted again.
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
    /// Shares what is known about tokens with others.
    pub fn new(counter: Arc<Counter>) -> Self {
        Self { counter, ..Self::default() }
    }

    /// Compiles one prompt.
    pub fn compile(&mut self, input: &PromptCompileInput) -> CompiledPrompt {
        let Collected { drafts, mut diagnostics, hook_sources, left_out } = collect_sections(input);
        diagnostics.dedup();
        let mut texts = Vec::with_capacity(drafts.len());
        let mut sections = Vec::with_capacity(drafts.len());
        for draft in drafts {
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
            fingerprints: self.fingerprinter.fingerprints(&sections),
            sections,
            diagnostics,
            hook_sources,
            left_out,
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
            // A message of its own needs no heading: the agent whose profile it is sends none either.
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

/// Whether a text is what a section would render as.
fn is_rendered(text: &str, draft: &DraftSection<'_>) -> bool {
    if draft.role == PromptRole::User {
        return text == draft.content;
    }
    let rest = text.strip_prefix("## ").and_then(|rest| rest.strip_prefix(&*draft.title));
    rest.and_then(|rest| rest.strip_prefix('\n')) == Some(&*draft.content)
}
