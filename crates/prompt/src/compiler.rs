//! Puts sections together.

use std::collections::HashMap;
use std::sync::Arc;

use instructions::hex;
use protocol::prompt::{PromptManifest, PromptManifestSection, Stability};
use sha2::{Digest as _, Sha256};
use tokens::{Counter, Encoding};

use crate::JOINT;
use crate::collect::{Collected, DraftSection, collect_sections};
use crate::fingerprint::Fingerprinter;
use crate::input::PromptCompileInput;
use crate::texts::TEXTS_VERSION;

/// Which compiler made a prompt: the version of its rules; that of its texts stands in the sources.
pub const COMPILER_VERSION: &str = "1";

/// A prompt and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledPrompt {
    /// What is the same in every session.
    pub stable_text: String,
    /// What is the same for this session.
    pub session_text: String,
    /// What is of this turn.
    pub turn_text: String,
    /// All of it.
    pub full_text: String,
    /// The sections by themselves, in the order of the manifest: what has to be kept to rebuild the prompt.
    pub sections: Vec<SectionText>,
    /// What it consists of.
    pub manifest: PromptManifest,
}

/// One section's text, heading included, and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionText {
    /// Which section.
    pub id: String,
    /// SHA-256 of the text, as in the manifest.
    pub sha256: String,
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
    sha256: String,
    chars: usize,
    tokens: usize,
}

impl Compiler {
    /// Shares what is known about tokens with others.
    pub fn new(counter: Arc<Counter>) -> Self {
        Self { counter, ..Self::default() }
    }

    /// Compiles one prompt.
    pub fn compile(&mut self, input: &PromptCompileInput) -> CompiledPrompt {
        let Collected { drafts, mut diagnostics, hook_sources } = collect_sections(input);
        diagnostics.dedup();
        let rendered: Vec<Rendered> = drafts.iter().map(|draft| self.render(draft)).collect();
        let part = |stability: Stability| {
            let texts = drafts.iter().zip(&rendered).filter(|(draft, _)| draft.stability == stability);
            join(texts.map(|(_, rendered)| &*rendered.text))
        };
        let (stable_text, session_text, turn_text) =
            (part(Stability::Stable), part(Stability::Session), part(Stability::Turn));
        let parts = [stable_text.as_str(), session_text.as_str(), turn_text.as_str()];
        let full_text = join(parts.into_iter().filter(|part| !part.is_empty()));
        let fingerprints = self.fingerprinter.fingerprints(
            drafts.iter().zip(&rendered).map(|(draft, text)| (draft.stability, &*text.sha256, &*text.text)),
        );
        let sections: Vec<SectionText> = drafts
            .iter()
            .zip(&rendered)
            .map(|(draft, rendered)| SectionText {
                id: draft.id.to_owned(),
                sha256: rendered.sha256.clone(),
                text: Arc::clone(&rendered.text),
            })
            .collect();
        let manifest = PromptManifest {
            compiler_version: format!("{COMPILER_VERSION}.{TEXTS_VERSION}"),
            profile: input.profile,
            sections: drafts
                .into_iter()
                .zip(rendered)
                .map(|(draft, rendered)| entry(draft, rendered))
                .collect(),
            fingerprints,
            diagnostics,
            hook_sources,
        };
        CompiledPrompt { stable_text, session_text, turn_text, full_text, sections, manifest }
    }

    fn render(&mut self, draft: &DraftSection<'_>) -> Rendered {
        if let Some(known) = self.sections.get(draft.id)
            && is_rendered(&known.text, &draft.title, &draft.content)
        {
            return known.clone();
        }
        let text: Arc<str> = ["## ", &draft.title, "\n", &draft.content].concat().into();
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let rendered = Rendered {
            sha256: hex(&digest),
            chars: text.chars().count(),
            tokens: self.counter.count_hashed(Encoding::Cl100k, &text, digest),
            text,
        };
        self.sections.insert(draft.id.to_owned(), rendered.clone());
        rendered
    }
}

fn entry(draft: DraftSection<'_>, rendered: Rendered) -> PromptManifestSection {
    PromptManifestSection {
        id: draft.id.to_owned(),
        stability: draft.stability,
        chars: rendered.chars as u64,
        tokens: rendered.tokens as u64,
        sha256: rendered.sha256,
        truncated: draft.truncated,
        sources: draft.sources,
    }
}

/// Whether a text is what a section would render as.
fn is_rendered(text: &str, title: &str, content: &str) -> bool {
    let rest = text.strip_prefix("## ").and_then(|rest| rest.strip_prefix(title));
    rest.and_then(|rest| rest.strip_prefix('\n')) == Some(content)
}

fn join<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> String {
    let room: usize = texts.clone().map(|text| text.len() + JOINT.len()).sum();
    let mut joined = String::with_capacity(room);
    for text in texts {
        if !joined.is_empty() {
            joined.push_str(JOINT);
        }
        joined.push_str(text);
    }
    joined
}
