//! Skills: folders with a SKILL.md that tell a model how to do something, and what became of each.

use instructions::ContentHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// What became of a skill.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SkillOutcome {
    /// Models are told of it.
    Active,
    /// Another one with its slug is nearer.
    Shadowed,
    /// It could be used, but nothing asks for it here.
    Disabled,
    /// It is broken.
    Invalid,
    /// It belongs to a project, and the user has not trusted it.
    Untrusted,
    /// The user trusted other content.
    ChangedSinceTrusted,
    /// It needs a skill that cannot be used.
    MissingDependency,
}

/// Why a skill has its outcome.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SkillReason {
    /// Active: the turn names it.
    Selected,
    /// Active: its globs match the working directory or a file that was touched.
    PathMatched,
    /// Active: it is offered wherever it is found.
    Implicit,
    /// Shadowed: another place comes first.
    NearerSkill,
    /// Disabled: its globs match nothing here.
    NoPathMatched,
    /// Disabled: settings, or the skill itself, want it to be named.
    NotImplicit,
    /// Invalid: its file cannot be read.
    Unreadable,
    /// Invalid: its SKILL.md is a pipe, a directory or something else.
    NotAFile,
    /// Invalid: it leads out of the project, or its file out of its folder.
    Outside,
    /// Invalid: it is larger than what is read.
    TooLarge,
    /// Invalid: it does not begin with a block between two lines of dashes.
    NoFrontMatter,
    /// Invalid: the block is no YAML, or a value in it is wrong.
    BadFrontMatter,
    /// Invalid: its name is no slug.
    BadName,
    /// Invalid: it does not say what it is for.
    NoDescription,
    /// Untrusted: nobody has trusted it.
    NeverTrusted,
    /// Untrusted: the file that says what is trusted cannot be read.
    TrustUnreadable,
    /// Changed: files in it differ, are new or are gone.
    FilesDiffer,
    /// Missing dependency: a skill that it requires cannot be used.
    RequiredSkill,
}

/// A skill that was found, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSummary {
    /// Its name, by which it is read; of a broken one the name of its folder.
    pub slug: String,
    /// What it is for.
    pub description: String,
    /// Its SKILL.md.
    pub path: String,
    /// What became of it.
    pub outcome: SkillOutcome,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SkillReason>,
    /// The same for people, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillFile {
    /// Below the skill's folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Of its bytes.
    pub sha256: ContentHash,
}

/// A skill with everything that its front matter says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Skill {
    /// What it is, and what became of it.
    #[serde(flatten)]
    pub summary: SkillSummary,
    /// The files in its folder.
    pub files: Vec<SkillFile>,
    /// Its license.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// What it needs, in its author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// Tools that its author had in mind. Grants nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<String>,
    /// Globs of the paths that it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Slugs of skills without which it cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// `metadata` and every other key, as they were written.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub other_keys: serde_json::Map<String, serde_json::Value>,
    /// What is behind the front matter; none of a skill that cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}
