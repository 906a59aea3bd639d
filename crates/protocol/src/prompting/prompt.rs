//! What a compiled prompt consisted of, and why two of them differ. Never content.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::hook::ContributionKind;
use crate::{ContentHash, ThreadMode};

/// How much of a prompt is made. Each profile has what the ones before it have.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PromptProfile {
    /// Nothing.
    None,
    /// Identity, safety and instructions.
    Minimal,
    /// Everything.
    #[default]
    Full,
}

/// How rarely a section changes. What changes more often comes later, so that a provider can reuse what came before.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Stability {
    /// The same in every session.
    Stable,
    /// The same for one session, unless somebody edits what it is made from.
    Session,
    /// Of one turn.
    Turn,
}

impl PromptProfile {
    /// The name used in manifests and settings.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Stability {
    /// The name used in manifests.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a text of a prompt came from. Hooks may name kinds of their own, so the set is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString)]
#[serde(from = "String", into = "String")]
#[strum(serialize_all = "snake_case")]
pub enum PromptSourceKind {
    /// A text of ours.
    BuiltIn,
    /// A file on disk.
    File,
    /// An AGENTS.md document.
    Document,
    /// Whoever asked for the prompt.
    Caller,
    /// Anything else, by its name.
    #[strum(default)]
    Other(String),
}

impl From<String> for PromptSourceKind {
    fn from(name: String) -> Self {
        name.parse().unwrap_or(Self::Other(name))
    }
}

impl From<PromptSourceKind> for String {
    fn from(kind: PromptSourceKind) -> Self {
        kind.to_string()
    }
}

impl JsonSchema for PromptSourceKind {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PromptSourceKind".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Where a text came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptSource {
    /// What it is: `built_in`, `file`, `document`, `caller`, or a kind of a hook's own.
    pub kind: PromptSourceKind,
    /// The path of a file, or of a document's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of something that is kept elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// SHA-256 of its text, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<ContentHash>,
    /// Whose own it is, of what somebody has remembered for themselves: others are not shown the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Why it is there, as its own domain calls that: of a skill `selected`, `path_matched` or `implicit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether all of its text is in the section, where that could be a line about it only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

impl PromptSource {
    /// A source with nothing but a kind.
    pub fn new(kind: PromptSourceKind, sha256: impl Into<Option<ContentHash>>) -> Self {
        let sha256 = sha256.into();
        Self { kind, path: None, id: None, version: None, sha256, owner: None, reason: None, whole: false }
    }

    /// A file.
    pub fn file(path: impl Into<String>, sha256: impl Into<Option<ContentHash>>) -> Self {
        Self { path: Some(path.into()), ..Self::new(PromptSourceKind::File, sha256) }
    }
}

/// Something that could have been in a section and is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptLeftOut {
    /// The section it would be in.
    pub section_id: String,
    /// What it is.
    #[serde(flatten)]
    pub source: PromptSource,
    /// What became of it, as its own domain calls that: of a skill `untrusted`, `shadowed` and so on.
    pub outcome: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same for people, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A section that is in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptManifestSection {
    /// Which.
    pub id: String,
    /// How rarely it changes.
    pub stability: Stability,
    /// Its characters, heading included.
    pub chars: u64,
    /// Its tokens, an estimate.
    pub tokens: u64,
    /// SHA-256 of its text, heading included.
    pub sha256: ContentHash,
    /// Whether something of it was left out.
    pub truncated: bool,
    /// Who says it; absent: the system.
    #[serde(default, skip_serializing_if = "PromptRole::is_system")]
    pub role: PromptRole,
    /// Whether an earlier turn in the request says it already, so that this one does not repeat it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub said_earlier: bool,
    /// What it was made from.
    pub sources: Vec<PromptSource>,
}

/// Who says a section of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptRole {
    /// The system text has it.
    #[default]
    System,
    /// It is the first message, as if the user had said it.
    User,
}

impl PromptRole {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_system(&self) -> bool {
        *self == Self::System
    }
}

/// SHA-256 of the parts of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptFingerprints {
    /// Of the stable part.
    pub stable: ContentHash,
    /// Of the session's part.
    pub session: ContentHash,
    /// Of the turn's part.
    pub turn: ContentHash,
    /// Of the session's and the turn's part together.
    pub dynamic: ContentHash,
    /// Of the whole.
    pub full: ContentHash,
}

/// The stable code of a [`PromptDiagnostic`].
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PromptDiagnosticCode {
    /// A bootstrap file does not exist.
    MissingFile,
    /// A file cannot be read, or not as text.
    FileReadError,
    /// A bootstrap file exceeds its budget.
    FileTruncated,
    /// Several texts together exceed their budget.
    TotalBudgetTruncated,
    /// A section exceeds its budget.
    SectionTruncated,
    /// A section, or something else a hook contributed, is left out.
    SectionOmitted,
    /// A source of tools did not say what it offers, or a tool of it cannot be offered.
    ToolsOmitted,
    /// A hook failed.
    HookFailed,
    /// A hook took too long.
    HookTimedOut,
    /// Hidden characters or tags of ours in a text were made visible.
    UnsafeText,
    /// A code of another version of Foreword.
    #[serde(other)]
    Other,
}

impl PromptDiagnosticCode {
    /// The name used in manifests.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Something that did not go as asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDiagnostic {
    /// What it is.
    pub code: PromptDiagnosticCode,
    /// What happened, to what, and what to do.
    pub message: String,
    /// The section it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl PromptDiagnostic {
    /// A diagnostic about nothing in particular.
    pub fn new(code: PromptDiagnosticCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), section_id: None, file: None }
    }

    /// Names the section it is about.
    pub fn in_section(mut self, id: impl Into<String>) -> Self {
        self.section_id = Some(id.into());
        self
    }

    /// Names the file it is about.
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }
}

/// Who cut a section that a hook contributed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptTruncation {
    /// Nobody.
    #[default]
    None,
    /// The hook runtime, to the hook's budget.
    Hook,
    /// The compiler.
    Prompt,
}

/// What a hook brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptHookSource {
    /// The hook.
    pub hook_id: String,
    /// Its subscription.
    pub subscription_id: String,
    /// What it brought.
    pub contribution_id: String,
    /// The section it became.
    pub section_id: String,
    /// The kind of contribution.
    pub contribution_kind: ContributionKind,
    /// Its priority.
    pub priority: i32,
    /// How many sources it named.
    pub source_count: u64,
    /// Who cut it.
    pub truncation: PromptTruncation,
}

/// The record of one compiled prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptManifest {
    /// Which compiler, and which version of its texts.
    pub compiler_version: String,
    /// How much was made.
    pub profile: PromptProfile,
    /// The sections in the order of their text.
    pub sections: Vec<PromptManifestSection>,
    /// Of the parts.
    pub fingerprints: PromptFingerprints,
    /// What went otherwise than asked.
    pub diagnostics: Vec<PromptDiagnostic>,
    /// What hooks brought.
    pub hook_sources: Vec<PromptHookSource>,
    /// What could have been in a section and is not, such as skills that nobody has trusted; of very many only the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PromptLeftOut>,
    /// What the model was asked with besides; absent in a preview, and in records of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RoundRequest>,
}

/// What a round's request has besides its prompt and its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundRequest {
    /// How the thread answers.
    pub mode: ThreadMode,
    /// The tools that the model was shown, in their order.
    pub tools: Vec<RoundTool>,
    /// Whether it could call them.
    pub tool_choice: ToolChoice,
    /// What it was told at the end of the messages because of the round before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<RoundNote>,
    /// The tools that it could have asked for with `request_tools`, by domain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden_tools: Vec<HiddenTools>,
    /// Those of its tools that are there because the thread asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested_tools: Vec<String>,
}

/// Tools of a hidden domain that are not in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HiddenTools {
    /// The domain.
    pub domain: String,
    /// Their names.
    pub tools: Vec<String>,
}

/// A tool that a model was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTool {
    /// What it is called by.
    pub name: String,
    /// SHA-256 of its description and schema, as JSON.
    pub sha256: ContentHash,
}

/// Whether tools may be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called, though they are listed.
    None,
    /// At least one must be called.
    Required,
}

/// A sentence of ours that a round ends with, for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundNote {
    /// The budget is spent: answer now.
    FinalAnswer,
    /// A call failed that could be made better.
    Retry,
    /// The answer was cut off: go on.
    Continuation,
    /// A note of another version of Foreword.
    #[serde(other)]
    Other,
}

/// The record of one round's prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundManifest {
    /// The round.
    pub round: u32,
    /// The record.
    pub manifest: PromptManifest,
}

impl PromptManifest {
    /// Tokens of what is sent: all but what an earlier turn in the request says already.
    pub fn sent_tokens(&self) -> u64 {
        self.sections.iter().filter(|section| !section.said_earlier).map(|section| section.tokens).sum()
    }

    /// Tokens of the stable and the session's part, which come before the history.
    pub fn prefix_tokens(&self) -> u64 {
        let sections = self.sections.iter();
        sections.filter(|section| section.stability != Stability::Turn).map(|section| section.tokens).sum()
    }
}

/// What happened to a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptChange {
    /// Its text is another.
    Edited,
    /// It was not there before.
    Added,
    /// It is no longer there.
    Removed,
}

/// The first place where two prompts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDifference {
    /// In which section.
    pub section_id: String,
    /// How rarely that section should change.
    pub stability: Stability,
    /// What happened to it.
    pub change: PromptChange,
    /// The line of the section's text, its heading being the first; absent when the texts are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The sources that differ, as they were.
    pub sources_before: Vec<PromptSource>,
    /// The sources that differ, as they are.
    pub sources_after: Vec<PromptSource>,
}

/// How much of a prompt a provider can reuse, and what is to blame for the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptBlame {
    /// Where they begin to differ; absent when they are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<PromptDifference>,
    /// Every section that differs, in the order of the text.
    pub changed_sections: Vec<String>,
    /// Tokens of the earlier prompt.
    pub tokens_before: u64,
    /// Tokens of the later prompt.
    pub tokens_after: u64,
    /// Tokens at the beginning that are the same in both.
    pub kept_tokens: u64,
    /// Tokens of the earlier prompt that can no longer be reused.
    pub lost_tokens: u64,
    /// The same for the stable and the session's part alone, which precede the history.
    pub lost_prefix_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_sources_are_written_by_name_and_may_be_a_hooks_own() {
        for (kind, name) in [
            (PromptSourceKind::BuiltIn, r#""built_in""#),
            (PromptSourceKind::Other("memory".to_owned()), r#""memory""#),
        ] {
            assert_eq!(serde_json::to_string(&kind).unwrap(), name);
            assert_eq!(serde_json::from_str::<PromptSourceKind>(name).unwrap(), kind);
        }
    }
}
