//! Manifests of compiled prompts and differences between them, never content.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::hook::ContributionKind;
use crate::{ContentHash, ThreadMode};

/// Amount of sections in a prompt. Each profile includes the sections of the ones before it.
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
    /// No sections.
    None,
    /// Identity, safety and instructions.
    Minimal,
    /// All sections.
    #[default]
    Full,
}

/// Lifetime of a section's text. Shorter-lived sections come later, so that providers can reuse the
/// beginning.
// The order of the variants is the order of the text: sorting by stability yields the longest prefix that
// stays the same between turns.
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
    /// The same throughout a session, unless its sources are edited.
    Session,
    /// Specific to one turn.
    Turn,
}

impl PromptProfile {
    /// Returns the name used in manifests and settings.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Stability {
    /// Returns the name used in manifests.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Kind of source of a prompt text. Hooks may define kinds of their own, so the set is open.
// Serialized through strings: a manifest written by a newer version, or by a hook that is no longer
// installed, must stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString)]
#[serde(from = "String", into = "String")]
#[strum(serialize_all = "snake_case")]
pub enum PromptSourceKind {
    /// A built-in text.
    BuiltIn,
    /// A file on disk.
    File,
    /// An AGENTS.md document.
    Document,
    /// The caller that requested the prompt.
    Caller,
    /// Any other kind, by name.
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
    // A plain string in the schema: an enumeration would declare the kinds of hooks invalid.
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

/// Source of a prompt text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptSource {
    /// Kind of source: `built_in`, `file`, `document`, `caller`, or one defined by a hook.
    pub kind: PromptSourceKind,
    /// Path of a file, or of a document's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Id of a stored source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Version of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// SHA-256 of the source's text, if known.
    // Optional, since some sources are known by version alone and their text is not at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<ContentHash>,
    /// Owner of personal memory; other users are not shown the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Reason for including it, in terms of its domain: for a skill `selected`, `path_matched` or `implicit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if the section contains the complete text rather than a line about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

impl PromptSource {
    /// Creates a source with only a kind and a hash.
    pub fn new(kind: PromptSourceKind, sha256: impl Into<Option<ContentHash>>) -> Self {
        let sha256 = sha256.into();
        Self { kind, path: None, id: None, version: None, sha256, owner: None, reason: None, whole: false }
    }

    /// Creates a source for a file.
    pub fn file(path: impl Into<String>, sha256: impl Into<Option<ContentHash>>) -> Self {
        Self { path: Some(path.into()), ..Self::new(PromptSourceKind::File, sha256) }
    }
}

/// A source that was left out of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptLeftOut {
    /// Section that would contain it.
    pub section_id: String,
    /// The source.
    #[serde(flatten)]
    pub source: PromptSource,
    /// Outcome in terms of its domain: for a skill `untrusted`, `shadowed` and so on.
    // A string and not an enum, because every domain has outcomes of its own and hooks add more.
    pub outcome: String,
    /// Reason for the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Explanation for people, with advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A section included in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptManifestSection {
    /// Id of the section.
    pub id: String,
    /// Lifetime of the text.
    pub stability: Stability,
    /// Characters, including the heading.
    pub chars: u64,
    /// Estimated tokens.
    pub tokens: u64,
    /// SHA-256 of the text, including the heading.
    pub sha256: ContentHash,
    /// True if the text was cut.
    pub truncated: bool,
    /// Role of the message that contains it; absent for the system role.
    // Nearly all sections are system text, so the default is left out to keep stored manifests small.
    #[serde(default, skip_serializing_if = "PromptRole::is_system")]
    pub role: PromptRole,
    /// True if the text is omitted because an earlier turn in the request already contains it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub said_earlier: bool,
    /// Sources of the text.
    pub sources: Vec<PromptSource>,
}

/// Role of the message that contains a section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptRole {
    /// The system text.
    #[default]
    System,
    /// The first message, as if written by the user.
    User,
}

impl PromptRole {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_system(&self) -> bool {
        *self == Self::System
    }
}

/// SHA-256 hashes of a prompt's parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptFingerprints {
    /// Hash of the stable part.
    pub stable: ContentHash,
    /// Hash of the session part.
    pub session: ContentHash,
    /// Hash of the turn part.
    pub turn: ContentHash,
    /// Hash of the session and turn parts together.
    // A difference in this hash alone leaves the stable beginning reusable.
    pub dynamic: ContentHash,
    /// Hash of the whole prompt.
    pub full: ContentHash,
}

/// Stable code of a [`PromptDiagnostic`].
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
    /// A file is unreadable or not text.
    FileReadError,
    /// A bootstrap file exceeds its budget.
    FileTruncated,
    /// Several texts together exceed their budget.
    TotalBudgetTruncated,
    /// A section exceeds its budget.
    SectionTruncated,
    /// A section or another contribution of a hook is left out.
    SectionOmitted,
    /// A tool source failed to list its tools, or one of its tools cannot be offered.
    ToolsOmitted,
    /// A hook failed.
    HookFailed,
    /// A hook timed out.
    HookTimedOut,
    /// Hidden characters or wrapper tags in a text were made visible.
    UnsafeText,
    /// A code of another version of Foreword.
    // Manifests are kept for a long time and read by other versions, which may lack a code.
    #[serde(other)]
    Other,
}

impl PromptDiagnosticCode {
    /// Returns the name used in manifests.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A problem met while making a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDiagnostic {
    /// Code of the problem.
    pub code: PromptDiagnosticCode,
    /// Description of the problem, what it affected, and advice.
    pub message: String,
    /// Affected section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// Affected file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl PromptDiagnostic {
    /// Creates a diagnostic without a section or file.
    pub fn new(code: PromptDiagnosticCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), section_id: None, file: None }
    }

    /// Sets the affected section.
    pub fn in_section(mut self, id: impl Into<String>) -> Self {
        self.section_id = Some(id.into());
        self
    }

    /// Sets the affected file.
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }
}

/// Component that cut a hook's section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptTruncation {
    /// The section was not cut.
    #[default]
    None,
    /// The hook runtime, to the hook's budget.
    Hook,
    /// The compiler.
    Prompt,
}

/// A contribution of a hook to the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptHookSource {
    /// Id of the hook.
    pub hook_id: String,
    /// Id of the subscription.
    pub subscription_id: String,
    /// Id of the contribution.
    pub contribution_id: String,
    /// Id of the resulting section.
    pub section_id: String,
    /// Kind of contribution.
    pub contribution_kind: ContributionKind,
    /// Priority of the contribution.
    pub priority: i32,
    /// Number of sources it named.
    pub source_count: u64,
    /// Component that cut the text.
    pub truncation: PromptTruncation,
}

/// Record of one compiled prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptManifest {
    /// Version of the compiler and its texts.
    pub compiler_version: String,
    /// Amount of sections.
    pub profile: PromptProfile,
    /// Sections, in the order of the text.
    pub sections: Vec<PromptManifestSection>,
    /// Hashes of the parts.
    pub fingerprints: PromptFingerprints,
    /// Problems met while making the prompt.
    pub diagnostics: Vec<PromptDiagnostic>,
    /// Contributions of hooks.
    pub hook_sources: Vec<PromptHookSource>,
    /// Sources that were left out of a section, such as untrusted skills; limited to the first entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PromptLeftOut>,
    /// Decisions of hooks about the turn, such as its use of memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PromptPolicy>,
    /// Other parts of the request; absent in a preview, and in records of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RoundRequest>,
}

/// Decision of a hook about a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptPolicy {
    /// Id of the hook.
    pub hook_id: String,
    /// Name of the setting, such as `memory`.
    pub key: String,
    /// The decision.
    pub value: serde_json::Value,
    /// Reason for a decision that differs from the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Effect of such a decision on the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// Parts of a round's request besides its prompt and messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundRequest {
    /// Mode of the thread.
    pub mode: ThreadMode,
    /// Tools in the request, in order.
    pub tools: Vec<RoundTool>,
    /// Tool choice of the request.
    pub tool_choice: ToolChoice,
    /// Notes at the end of the messages, caused by the previous round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<RoundNote>,
    /// Tools available through `request_tools`, by domain.
    // Recorded, because a missing tool is the usual explanation of an answer such as “I cannot do that”.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden_tools: Vec<HiddenTools>,
    /// Tools in the request because the thread requested them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested_tools: Vec<String>,
}

/// Tools of a hidden domain that are not in the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HiddenTools {
    /// The domain.
    pub domain: String,
    /// Names of the tools.
    pub tools: Vec<String>,
}

/// A tool in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTool {
    /// Name of the tool.
    pub name: String,
    /// SHA-256 of its description and schema, as JSON.
    // A hash suffices to notice a changed description. The descriptions themselves would multiply the size
    // of each record.
    pub sha256: ContentHash,
}

/// Constraint on tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called, although they are listed.
    None,
    /// At least one tool must be called.
    Required,
}

/// A sentence appended for the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundNote {
    /// The budget is spent: answer now.
    FinalAnswer,
    /// A call failed and can be corrected.
    Retry,
    /// The answer was cut off: continue.
    Continuation,
    /// A note of another version of Foreword.
    #[serde(other)]
    Other,
}

/// Record of one round's prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundManifest {
    /// Number of the round.
    pub round: u32,
    /// Manifest of the prompt.
    pub manifest: PromptManifest,
}

impl PromptManifest {
    /// Returns the tokens that are sent, without sections that an earlier turn in the request contains.
    pub fn sent_tokens(&self) -> u64 {
        self.sections.iter().filter(|section| !section.said_earlier).map(|section| section.tokens).sum()
    }

    /// Returns the tokens of the stable and session parts, which precede the history.
    pub fn prefix_tokens(&self) -> u64 {
        // Providers cache a request from its beginning, and the history follows these sections. Their size
        // decides how much a change costs.
        let sections = self.sections.iter();
        sections.filter(|section| section.stability != Stability::Turn).map(|section| section.tokens).sum()
    }
}

/// Change of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptChange {
    /// Its text changed.
    Edited,
    /// It was added.
    Added,
    /// It was removed.
    Removed,
}

/// First difference between two prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDifference {
    /// Id of the section.
    pub section_id: String,
    /// Expected lifetime of that section.
    pub stability: Stability,
    /// Change of the section.
    pub change: PromptChange,
    /// Line in the section's text, counting its heading; absent if the texts are not kept.
    // Texts may have been deleted after their retention time. The hashes in the manifest still distinguish
    // sections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Differing sources of the earlier prompt.
    pub sources_before: Vec<PromptSource>,
    /// Differing sources of the later prompt.
    pub sources_after: Vec<PromptSource>,
}

/// Reusable part of a prompt, and the cause of the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptBlame {
    /// First difference; absent if the prompts are identical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<PromptDifference>,
    /// All changed sections, in the order of the text.
    pub changed_sections: Vec<String>,
    /// Tokens of the earlier prompt.
    pub tokens_before: u64,
    /// Tokens of the later prompt.
    pub tokens_after: u64,
    /// Tokens of the common beginning.
    pub kept_tokens: u64,
    /// Tokens of the earlier prompt that cannot be reused.
    pub lost_tokens: u64,
    /// Lost tokens of the stable and session parts, which precede the history.
    // Counted separately, since a change before the history invalidates the cache of the whole
    // conversation.
    pub lost_prefix_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_kinds_serialize_by_name() {
        for (kind, name) in [
            (PromptSourceKind::BuiltIn, r#""built_in""#),
            (PromptSourceKind::Other("memory".to_owned()), r#""memory""#),
        ] {
            assert_eq!(serde_json::to_string(&kind).unwrap(), name);
            assert_eq!(serde_json::from_str::<PromptSourceKind>(name).unwrap(), kind);
        }
    }
}
