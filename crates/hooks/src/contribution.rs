//! What hooks contribute, typed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something a hook adds to a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "contribution", rename_all = "snake_case")]
pub enum Contribution {
    /// A setting of the turn's policy.
    Policy(Policy),
    /// A named text that sections are made from.
    PromptContext(PromptContext),
    /// A section of the prompt.
    PromptSection(PromptSection),
    /// Tools the turn may offer.
    ToolBundle(ToolBundle),
    /// A remark for the manifest.
    ManifestDiagnostic(ManifestDiagnostic),
    /// Something to keep for later questions.
    Audit(Audit),
    /// Work to be done after the turn.
    BackgroundJob(BackgroundJob),
}

/// The kinds of [`Contribution`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContributionKind {
    /// [`Policy`]
    Policy,
    /// [`PromptContext`]
    PromptContext,
    /// [`PromptSection`]
    PromptSection,
    /// [`ToolBundle`]
    ToolBundle,
    /// [`ManifestDiagnostic`]
    ManifestDiagnostic,
    /// [`Audit`]
    Audit,
    /// [`BackgroundJob`]
    BackgroundJob,
}

impl ContributionKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 7] = [
        Self::Policy,
        Self::PromptContext,
        Self::PromptSection,
        Self::ToolBundle,
        Self::ManifestDiagnostic,
        Self::Audit,
        Self::BackgroundJob,
    ];

    /// The name that records and manifests use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::PromptContext => "prompt_context",
            Self::PromptSection => "prompt_section",
            Self::ToolBundle => "tool_bundle",
            Self::ManifestDiagnostic => "manifest_diagnostic",
            Self::Audit => "audit",
            Self::BackgroundJob => "background_job",
        }
    }
}

impl fmt::Display for ContributionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A setting of the turn's policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Which setting; one hook decides it.
    pub key: String,
    /// Its value.
    pub value: Value,
}

/// A named text that sections are made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptContext {
    /// Which text; one hook provides it.
    pub key: String,
    /// The text.
    pub text: String,
}

/// A section of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSection {
    /// The contribution's id, unique within what the hook returns.
    pub id: String,
    /// Which section of the prompt it is; one hook fills it.
    pub section_id: String,
    /// The section's heading: one line of at most 200 characters.
    pub title: String,
    /// The section's text.
    pub content: String,
    /// Sections of higher priority come first.
    #[serde(default)]
    pub priority: i32,
    /// What the text was made from.
    #[serde(default)]
    pub sources: Vec<SourceReference>,
    /// The characters this section asks the prompt for; the prompt applies it, not this crate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
}

impl PromptSection {
    /// A section without sources, of priority 0.
    pub fn new(
        id: impl Into<String>,
        section_id: impl Into<String>,
        title: impl Into<String>,
        content: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            section_id: section_id.into(),
            title: title.into(),
            content: content.into(),
            priority: 0,
            sources: Vec::new(),
            max_chars: None,
        }
    }
}

/// Where a text came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReference {
    /// The kind of source, such as `file`.
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
    /// The SHA-256 of its text, in hexadecimal.
    pub sha256: String,
}

/// Tools the turn may offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolBundle {
    /// The bundle's id; one hook brings it.
    pub id: String,
    /// The tools, in whatever form those who list them understand.
    pub tools: Vec<Value>,
}

/// A remark for the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestDiagnostic {
    /// A stable code.
    pub code: String,
    /// What it means.
    pub message: String,
    /// The section it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Something to keep for later questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// What happened.
    pub event: String,
    /// What belongs to it.
    pub data: Value,
}

/// Work to be done after the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackgroundJob {
    /// The kind of work.
    pub kind: String,
    /// What it needs.
    pub payload: Value,
}

impl Contribution {
    /// Its kind.
    pub fn kind(&self) -> ContributionKind {
        match self {
            Self::Policy(_) => ContributionKind::Policy,
            Self::PromptContext(_) => ContributionKind::PromptContext,
            Self::PromptSection(_) => ContributionKind::PromptSection,
            Self::ToolBundle(_) => ContributionKind::ToolBundle,
            Self::ManifestDiagnostic(_) => ContributionKind::ManifestDiagnostic,
            Self::Audit(_) => ContributionKind::Audit,
            Self::BackgroundJob(_) => ContributionKind::BackgroundJob,
        }
    }

    /// The id that one hook may use only once; remarks, audits and jobs have none and may repeat.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Policy(policy) => Some(&policy.key),
            Self::PromptContext(context) => Some(&context.key),
            Self::PromptSection(section) => Some(&section.id),
            Self::ToolBundle(bundle) => Some(&bundle.id),
            Self::ManifestDiagnostic(_) | Self::Audit(_) | Self::BackgroundJob(_) => None,
        }
    }

    /// The place in the turn that only one contribution of this kind can have, whoever makes it.
    pub fn slot(&self) -> Option<&str> {
        match self {
            Self::PromptSection(section) => Some(&section.section_id),
            _ => self.id(),
        }
    }

    /// The text that may be cut when there is too much of it.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::PromptContext(context) => Some(&context.text),
            Self::PromptSection(section) => Some(&section.content),
            _ => None,
        }
    }

    /// That text, to be cut.
    pub(crate) fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::PromptContext(context) => Some(&mut context.text),
            Self::PromptSection(section) => Some(&mut section.content),
            _ => None,
        }
    }
}

/// A typed contribution becomes the general one.
macro_rules! contributions {
    ($($name:ident),*) => {$(
        impl From<$name> for Contribution {
            fn from(contribution: $name) -> Self {
                Self::$name(contribution)
            }
        }
    )*};
}

contributions!(Policy, PromptContext, PromptSection, ToolBundle, ManifestDiagnostic, Audit, BackgroundJob);
