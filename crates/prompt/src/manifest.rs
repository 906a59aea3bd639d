//! What a compiled prompt consisted of: never the content itself.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::profile::PromptProfile;
use crate::stability::Stability;

/// Where a text came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What it is: `built_in`, `file`, `document`, …
    pub kind: String,
    /// The path of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of something that is kept elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// SHA-256 of its text.
    pub sha256: String,
}

impl Source {
    /// Something that is named by nothing but its kind.
    pub fn new(kind: impl Into<String>, sha256: impl Into<String>) -> Self {
        Self { kind: kind.into(), path: None, id: None, version: None, sha256: sha256.into() }
    }

    /// A file.
    pub fn file(path: impl Into<String>, sha256: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::new("file", sha256) }
    }
}

/// A section that is in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestSection {
    /// Which.
    pub id: String,
    /// How long it stays the same.
    pub stability: Stability,
    /// Its characters, heading included.
    pub chars: usize,
    /// Its tokens, an estimate.
    pub tokens: usize,
    /// SHA-256 of its text, heading included.
    pub sha256: String,
    /// Whether something of it was left out.
    pub truncated: bool,
    /// What it was made from.
    pub sources: Vec<Source>,
}

/// SHA-256 of the parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprints {
    /// Of the stable part.
    pub stable: String,
    /// Of the session's part.
    pub session: String,
    /// Of the turn's part.
    pub turn: String,
    /// Of the session's and the turn's part, as they stand in the whole.
    pub dynamic: String,
    /// Of the whole.
    pub full: String,
}

/// Who cut a section that a hook brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// Nobody.
    None,
    /// The hook, or the runtime that ran it.
    Hook,
    /// The compiler.
    Prompt,
}

/// What a hook brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSource {
    /// The hook.
    pub hook_id: String,
    /// Its subscription.
    pub subscription_id: String,
    /// What it brought.
    pub contribution_id: String,
    /// The section it became.
    pub section_id: String,
    /// The kind of contribution.
    pub contribution_kind: String,
    /// Its priority.
    pub priority: i32,
    /// How many sources it named.
    pub source_count: usize,
    /// Who cut it.
    pub truncation: Truncation,
}

/// The record of one compiled prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Which compiler, and which version of its texts.
    pub compiler_version: String,
    /// How much was made.
    pub profile: PromptProfile,
    /// The sections in the order of their text.
    pub sections: Vec<ManifestSection>,
    /// Of the parts.
    pub fingerprints: Fingerprints,
    /// What went otherwise than asked.
    pub diagnostics: Vec<Diagnostic>,
    /// What hooks brought.
    pub hook_sources: Vec<HookSource>,
}

impl Manifest {
    /// Tokens of the parts that stand before the history.
    pub fn prefix_tokens(&self) -> usize {
        let sections = self.sections.iter();
        sections.filter(|section| section.stability != Stability::Turn).map(|section| section.tokens).sum()
    }
}
