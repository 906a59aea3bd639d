//! Settings files of agents that change which instruction files are read.

use super::text::ByteOrderMark;

/// Settings files of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentSettings {
    /// TOML.
    Toml(SettingsFile),
    /// JSON.
    Json(JsonSettings),
}

/// TOML settings in an agent's home directory and in trusted projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsFile {
    /// Name in the home directory.
    pub name: &'static str,
    /// Name of the agent in advice.
    pub agent: &'static str,
    /// Pairs of a setting of ours and its key in the file, used for reading and for advice.
    pub keys: &'static [(&'static str, &'static str)],
    /// Table of projects by directory, each with a `trust_level`.
    pub projects: &'static str,
    /// Path in a project's directories, which counts if the project is trusted.
    pub in_project: &'static str,
}

/// JSON settings with comments, in an agent's own directory and in projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonSettings {
    /// Names in the agent's own directory.
    pub own: &'static [&'static str],
    /// Paths in a project, which take precedence over the user's own.
    pub in_project: &'static [&'static str],
    /// Directories of a project that are searched.
    pub place: SettingsPlace,
    /// Setting that names instruction files.
    pub names: Option<NamesSetting>,
    /// Keys that change which files are read, and are not followed here.
    pub unfollowed: &'static [&'static str],
    /// Record of trusted folders.
    pub trust: Option<FolderTrust>,
    /// Treatment of a byte order mark.
    pub byte_order_mark: ByteOrderMark,
    /// Effect of invalid JSON in the user's own settings, and in a project's.
    pub broken: (BrokenSettings, BrokenSettings),
}

/// Directories of a project that are searched for settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsPlace {
    /// The working directory, unless it is the user's home directory.
    WorkingDirectory,
    /// The working directory and all its ancestors.
    EveryDirectory,
}

/// A setting that names instruction files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesSetting {
    /// Key whose value is a name or a list of names.
    pub key: &'static str,
    /// Effect on the profile's main names.
    pub own_names: OwnNames,
    /// Heading of a block of text in which the names appear.
    pub heading: Option<NamesHeading>,
}

/// Heading of a block of text that lists configured names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesHeading {
    /// The heading with the profile's own names.
    pub start: &'static str,
    /// Key of the setting that names the model.
    pub model_key: &'static str,
    /// Beginnings of models that always get the profile's own names.
    pub fixed_for: &'static [&'static str],
}

/// Effect of configured names on the profile's main names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnNames {
    /// They follow the configured ones.
    ComeLast,
    /// They are not read.
    Replaced,
}

/// Record of trusted folders. An unlisted folder counts as trusted, because the agent asks about it or does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderTrust {
    /// File in the agent's own directory that lists folders.
    pub file: &'static str,
    /// Key that enables the check, and its default.
    pub switch: (&'static str, bool),
}

/// Effect of an invalid settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenSettings {
    /// The agent does not start.
    Refused,
    /// It counts as empty.
    Empty,
    /// Not tested, so it is not reported.
    Unknown,
}
