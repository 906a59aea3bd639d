//! Profiles: complete sets of resolution rules as data. One algorithm reads them.
//!
//! A profile says only how it differs from a base. To add an agent, write its file here, name it in [`PROFILES`] and give it its
//! cases; a rule that no agent had so far is a field with a value in the base, read where it matters.

mod codelia;
mod codex;
mod foreword;

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde::Serialize;

pub use codelia::CODELIA;
pub use codex::CODEX;
pub use foreword::FOREWORD;

use crate::reminder::ResumeLines;

/// Every profile, ours first.
pub static PROFILES: &[&Profile] = &[&FOREWORD, &CODEX, &CODELIA];

/// The rules of one agent. Two are the same only if they are one value, so that comparing them costs nothing.
#[derive(Debug)]
pub struct Profile {
    /// What it is called on the command line.
    pub name: &'static str,
    /// File names looked for in a directory; the first that is usable wins.
    pub names: &'static [&'static str],
    /// File names added after the winner.
    pub added: &'static [&'static str],
    /// What is done with configured fallback names.
    pub fallbacks: Fallbacks,
    /// What a file of only white space does.
    pub blank: Blank,
    /// Where its user's own files and settings are; none where whoever asks has to say.
    pub home_directory: Option<HomeDirectory>,
    /// The user's own file.
    pub home: Option<HomeFile>,
    /// Names whose presence makes a directory the project root.
    pub markers: &'static [&'static str],
    /// Markers that do not count in the user's home directory.
    pub markers_not_in_home: &'static [&'static str],
    /// What an empty list of markers means.
    pub empty_markers: EmptyMarkers,
    /// Whether settings may name the root.
    pub root_override: RootOverride,
    /// What the root is when no marker is found.
    pub without_marker: WithoutMarker,
    /// Which links count as files.
    pub links: Links,
    /// Most bytes of project files.
    pub max_bytes: u64,
    /// Most project files.
    pub max_files: Option<u64>,
    /// What happens above the limit.
    pub over_limit: OverLimit,
    /// What happens to a byte order mark.
    pub byte_order_mark: ByteOrderMark,
    /// What a file that cannot be read does.
    pub unreadable: Unreadable,
    /// How a link that leads nowhere is explained; it is never read.
    pub dangling_link: DanglingLink,
    /// What `@path` in a text does; none where it is text.
    pub imports: Option<Imports>,
    /// What a YAML block at the beginning of a file is.
    pub front_matter: FrontMatterRule,
    /// In which order the directories of a chain stand in the text.
    pub order: ChainOrder,
    /// What happens to wrapper tags and hidden characters.
    pub unsafe_text: UnsafeText,
    /// What happens to a file that is reached twice.
    pub same_file: SameFile,
    /// When a known file counts as changed.
    pub changed: Changed,
    /// Whether reminders may carry texts.
    pub reminder_texts: ReminderTexts,
    /// Which lines the reminder after a resume has.
    pub resume_lines: ResumeLines,
    /// How files become text.
    pub rendering: Rendering,
    /// Where the agent puts the text.
    pub role: BlockRole,
    /// The agent's own settings file, which is read besides ours.
    pub settings_file: Option<SettingsFile>,
    /// Prefix of the environment variables that set it.
    pub variable_prefix: &'static str,
}

/// What is done with configured fallback names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallbacks {
    /// There are none.
    Unsupported,
    /// A name with a slash is an error.
    Strict,
    /// A name with a slash is ignored.
    Lenient,
}

/// What a file of only white space does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blank {
    /// The next name is tried.
    FallsThrough,
    /// It is chosen, then dropped: it hides the next name.
    HidesOthers,
    /// It is included, empty.
    Included,
}

/// The user's own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeFile {
    /// File names; the first with text wins.
    pub names: &'static [&'static str],
    /// Whether white space around its text goes.
    pub trimmed: bool,
}

/// Where an agent keeps its user's own files and settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeDirectory {
    /// The variable that names it.
    pub variable: Option<&'static str>,
    /// Its path below the user's home directory.
    pub in_user_home: &'static str,
}

/// What an empty list of markers means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyMarkers {
    /// No search: only the working directory.
    CwdOnly,
    /// The profile's own markers.
    Defaults,
}

/// Whether settings may name the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootOverride {
    /// They may.
    Allowed,
    /// They may not; the setting is ignored.
    Ignored,
}

/// What the root is when no marker is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutMarker {
    /// There is none; only the working directory is looked at.
    NoRoot,
    /// The working directory.
    CwdIsRoot,
}

/// Which links count as files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Links to regular files inside the project root.
    InsideRoot,
    /// Links to regular files anywhere.
    Anywhere,
}

/// What happens above the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverLimit {
    /// The files nearest to the working directory are kept, the others are cut or left out, with a mark.
    NearestFirst,
    /// The files nearest to the root are kept, the one on the border is cut at a byte, without a mark.
    RootFirst,
    /// Reading stops at the first file that does not fit.
    StopsAtFirst,
}

/// What happens to a byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// It goes.
    Stripped,
    /// It stays in the text.
    Kept,
}

/// What a file that cannot be read does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// That file is lost, the rest still loads.
    FileLost,
    /// All project files are lost.
    ChainLost,
    /// It counts as absent.
    Absent,
}

/// How a link that leads nowhere is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DanglingLink {
    /// As something that is no file.
    NotAFile,
    /// As if it were not there.
    Absent,
}

/// How files that a text names are read with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imports {
    /// Where their text stands.
    pub place: ImportPlace,
    /// How many of them may lead to a file, one in the other.
    pub max_depth: usize,
}

/// Where the text of an imported file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportPlace {
    /// In a block of its own, right after that of the file that names it.
    OwnBlockAfter,
}

/// What a YAML block at the beginning of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontMatterRule {
    /// Text.
    Text,
    /// With `applies_to` or `audience` in it, the conditions under which the file applies; else text.
    Conditions,
}

/// In which order the directories of a chain stand in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainOrder {
    /// The root first, the working directory last.
    RootFirst,
}

/// What happens to wrapper tags and hidden characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsafeText {
    /// Tags are neutralised and hidden characters made visible, and both are reported.
    MadeHarmless,
    /// They are reported.
    Reported,
}

/// What happens to a file that is reached twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameFile {
    /// The second is a duplicate.
    UsedOnce,
    /// Both are used.
    UsedTwice,
}

/// When a known file counts as changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// When its content differs.
    ByContent,
    /// When its modification time differs.
    ByTime,
}

/// Whether reminders may carry texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderTexts {
    /// As settings say.
    AsSet,
    /// Only paths, except where an edit waits for the text.
    Never,
}

/// How files become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// One `<agents_context>` with a block for each file.
    AgentsContext,
    /// One `<INSTRUCTIONS>` under a heading that names the working directory.
    Instructions,
}

/// Where an agent puts a block of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BlockRole {
    /// The system prompt.
    System,
    /// A developer message.
    Developer,
    /// A user message.
    User,
}

/// An agent's own settings file: TOML in its home directory, and what our settings are called in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsFile {
    /// The file's name in the home directory.
    pub name: &'static str,
    /// What the agent is called in advice.
    pub agent: &'static str,
    /// The path of a setting of ours, and its key in the file; reading and advice both go by it.
    pub keys: &'static [(&'static str, &'static str)],
    /// A table of projects by their directory, each with a `trust_level`.
    pub projects: &'static str,
}

impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Profile {}

impl Hash for Profile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// What a profile has where it says nothing else: one name, read as it is wherever its links lead.
const BASE: Profile = Profile {
    name: "",
    names: &["AGENTS.md"],
    added: &[],
    fallbacks: Fallbacks::Unsupported,
    blank: Blank::Included,
    home_directory: None,
    home: None,
    markers: &[".git"],
    markers_not_in_home: &[],
    empty_markers: EmptyMarkers::CwdOnly,
    root_override: RootOverride::Allowed,
    without_marker: WithoutMarker::NoRoot,
    links: Links::Anywhere,
    max_bytes: 32_768,
    max_files: None,
    over_limit: OverLimit::RootFirst,
    byte_order_mark: ByteOrderMark::Kept,
    unreadable: Unreadable::FileLost,
    dangling_link: DanglingLink::NotAFile,
    imports: None,
    front_matter: FrontMatterRule::Text,
    order: ChainOrder::RootFirst,
    unsafe_text: UnsafeText::Reported,
    same_file: SameFile::UsedTwice,
    changed: Changed::ByContent,
    reminder_texts: ReminderTexts::AsSet,
    resume_lines: ResumeLines::Changed,
    rendering: Rendering::AgentsContext,
    role: BlockRole::System,
    settings_file: None,
    variable_prefix: "FOREWORD_",
};

impl Profile {
    /// A profile by its name.
    pub fn find(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }

    /// What a setting of ours is called where this agent's user sets it.
    pub(crate) fn setting_name(&self, path: &'static str) -> Cow<'static, str> {
        let named = self.settings_file.and_then(|file| {
            let (_, key) = file.keys.iter().find(|(known, _)| *known == path)?;
            Some(format!("{key} in {}'s {}", file.agent, file.name))
        });
        named.map_or(Cow::Borrowed(path), Cow::Owned)
    }

    /// Every file name the profile knows without configuration.
    pub fn known_names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().chain(self.added).copied()
    }
}
