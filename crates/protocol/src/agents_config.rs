//! How AGENTS.md files on disk are found in a workspace, as the protocol takes it: camelCase and strict.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of file discovery for one workspace; what is absent has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsConfig {
    /// Whether files on disk are read at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Where the project root is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<AgentsRoot>,
    /// What is loaded when a session starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<AgentsInitial>,
    /// What is brought in as an agent moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<AgentsResolver>,
}

/// How the project root is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsRoot {
    /// The root itself; nothing is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_root_override: Option<String>,
    /// Names whose presence makes a directory the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markers: Option<Vec<String>>,
    /// Whether the search goes up to the file system's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_at_fs_root: Option<bool>,
}

/// Limits of the initial chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsInitial {
    /// Most files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files: Option<NonZeroU64>,
    /// Most bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<NonZeroU64>,
}

/// Settings of the resolver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsResolver {
    /// Whether files of other directories are brought in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Most files announced at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files_per_resolve: Option<NonZeroU64>,
}
