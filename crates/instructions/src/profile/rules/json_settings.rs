//! Where an agent's user says which instruction files it reads: settings in JSON.

use crate::profile::ByteOrderMark;

/// Settings files of an agent: JSON with comments, in its own directory and in projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonSettings {
    /// Names in the agent's own directory.
    pub own: &'static [&'static str],
    /// Paths in a project, which win over the user's own.
    pub in_project: &'static [&'static str],
    /// In which directories of a project those count.
    pub place: SettingsPlace,
    /// The setting that names instruction files.
    pub names: Option<NamesSetting>,
    /// Keys that change what is read, and are not followed here.
    pub unfollowed: &'static [&'static str],
    /// Which folders count as trusted.
    pub trust: Option<FolderTrust>,
    /// What a byte order mark does.
    pub byte_order_mark: ByteOrderMark,
    /// What a file does that is no such JSON: one of the user's own, and one in a project.
    pub broken: (BrokenSettings, BrokenSettings),
}

/// In which directories of a project settings count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsPlace {
    /// Only in the one that the agent is started in, and not in the user's home directory.
    WorkingDirectory,
    /// In that one and all above it.
    EveryDirectory,
}

/// A setting that names instruction files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesSetting {
    /// Its key; a name or a list of names.
    pub key: &'static str,
    /// What becomes of the names that are read without it.
    pub own_names: OwnNames,
    /// How a block of the text begins that has the names in it.
    pub heading: Option<&'static str>,
}

/// What becomes of the names that an agent reads by itself where settings name others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnNames {
    /// They come after the others.
    ComeLast,
    /// They no longer count.
    Replaced,
}

/// How folders are trusted. One that nobody has said anything about is taken for trusted: the agent asks, or does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderTrust {
    /// The file that says of folders whether they are trusted, in the agent's own directory.
    pub file: &'static str,
    /// The key that switches this on and off, and what holds without it.
    pub switch: (&'static str, bool),
}

/// What a settings file does that cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenSettings {
    /// It keeps the agent from starting.
    Refused,
    /// It counts as empty.
    Empty,
    /// Nobody has seen it, so nothing is said.
    Unknown,
}
