//! Skills: folders with a SKILL.md that explain a task to a model.

use instructions::ContentHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// Outcome of a skill.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SkillOutcome {
    /// Offered to models.
    Active,
    /// Hidden by a nearer skill with the same slug.
    Shadowed,
    /// Usable, but not requested here.
    Disabled,
    /// Broken.
    Invalid,
    /// Part of a project, and not trusted by the user.
    Untrusted,
    /// Trusted with other content.
    ChangedSinceTrusted,
    /// Requires a skill that cannot be used.
    MissingDependency,
}

/// Reason for a skill's outcome.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Display, IntoStaticStr, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SkillReason {
    /// Active: named by the turn.
    Selected,
    /// Active: its globs match the working directory or a touched file.
    PathMatched,
    /// Active: offered wherever it is found.
    Implicit,
    /// Shadowed: a nearer skill has the same slug.
    NearerSkill,
    /// Disabled: its globs match nothing here.
    NoPathMatched,
    /// Disabled: settings or the skill itself require it to be named.
    NotImplicit,
    /// Invalid: its file is unreadable.
    Unreadable,
    /// Invalid: its SKILL.md is not a regular file.
    NotAFile,
    /// Invalid: it leads out of the project, or its file out of its folder.
    Outside,
    /// Invalid: it exceeds the size limit.
    TooLarge,
    /// Invalid: it has no front matter.
    NoFrontMatter,
    /// Invalid: its front matter is not YAML, or has an invalid value.
    BadFrontMatter,
    /// Invalid: its name is not a slug.
    BadName,
    /// Invalid: it has no description.
    NoDescription,
    /// Untrusted: never trusted by the user.
    NeverTrusted,
    /// Untrusted: the trust file is unreadable.
    TrustUnreadable,
    /// Changed: files were edited, added or removed.
    FilesDiffer,
    /// Missing dependency: a required skill cannot be used.
    RequiredSkill,
}

/// A skill and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSummary {
    /// Name by which it is called; for a broken skill, the name of its folder.
    // A broken skill has no valid name, but users must be able to refer to it in order to fix it.
    pub slug: String,
    /// Purpose of the skill.
    pub description: String,
    /// Path of its SKILL.md.
    pub path: String,
    /// Outcome of the skill.
    pub outcome: SkillOutcome,
    /// Reason for the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SkillReason>,
    /// Explanation for people, with advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillFile {
    /// Path relative to the skill's folder.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: ContentHash,
}

/// A skill with its complete front matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Skill {
    /// Summary of the skill.
    #[serde(flatten)]
    pub summary: SkillSummary,
    /// Files in its folder.
    pub files: Vec<SkillFile>,
    /// License.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Requirements, as written by its author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// Tools named by its author. They grant no permission.
    // A repository could grant itself permissions if this field had any effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<String>,
    /// Globs of the paths it applies to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Slugs of required skills.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// `metadata` and all other keys, as written.
    // Skills are written for several agents. Keys of others are shown instead of rejected.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub other_keys: serde_json::Map<String, serde_json::Value>,
    /// Text after the front matter; absent for a skill that cannot be used.
    // Text of an untrusted skill must not reach clients that forward results to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}
