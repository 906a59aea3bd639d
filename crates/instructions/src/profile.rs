//! Profiles: complete sets of resolution rules as data. One algorithm reads them.
//!
//! A profile says only how it differs from a base. To add an agent, write its file here, name it in [`PROFILES`] and give it its
//! cases; a rule that no agent had so far is a field with a value in the base, read where it matters.

mod agents;
mod evidence;
mod rules;

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

pub use agents::claude_code::CLAUDE_CODE;
pub use agents::codelia::CODELIA;
pub use agents::codex::CODEX;
pub use agents::copilot::COPILOT;
pub use agents::cursor::CURSOR;
pub use agents::foreword::FOREWORD;
pub use agents::gemini_cli::GEMINI_CLI;
pub use agents::goose::GOOSE;
pub use agents::opencode::OPENCODE;
pub use agents::pi::PI;
pub use agents::qwen_code::QWEN_CODE;
pub use agents::zed::ZED;
pub use evidence::{Agent, Evidence, Rule};
pub use rules::duplicates::{SameFile, SameText};
pub use rules::hazards::Traps;
pub use rules::imports::{
    ChainFiles, ImportBounds, ImportPlace, ImportRepeats, ImportSyntax, Imports, InPlace, ZeroByte,
};
pub use rules::json_settings::{
    BrokenSettings, FolderTrust, JsonSettings, NamesSetting, OwnNames, SettingsPlace,
};
pub use rules::nested::{NestedFiles, OnReading, Traces};
pub use rules::render::{BlockForm, Kinds, PartOf, PathForm, Piece, SectionForm, WaitingForm};
pub use rules::rule_folders::{
    GlobMatching, RuleBody, RuleConditions, RuleFolder, RuleFolderPlace, RuleLinks, RuleOrder,
};
pub use rules::text::{ByteOrderMark, Comments, FrontMatterRule, Invisible, WhiteSpace};

use crate::session::reminder::ResumeLines;

/// Every profile, ours first.
pub static PROFILES: &[&Profile] = &[
    &FOREWORD,
    &CODEX,
    &CODELIA,
    &CLAUDE_CODE,
    &GEMINI_CLI,
    &OPENCODE,
    &QWEN_CODE,
    &PI,
    &COPILOT,
    &CURSOR,
    &ZED,
    &GOOSE,
];

/// The rules of one agent. Two are the same only if they are one value, so that comparing them costs nothing.
#[derive(Debug)]
pub struct Profile {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The agent whose rules these are, and how each of them is known.
    pub agent: Agent,
    /// File names looked for in a directory.
    pub names: &'static [&'static str],
    /// Which of them are read.
    pub choice: NameChoice,
    /// File names added after the winner.
    pub added: &'static [&'static str],
    /// File names that are read where none of the others has a text in any directory.
    pub instead: &'static [&'static str],
    /// File names that are read in the root alone, and where they stand.
    pub at_root: (&'static [&'static str], AtRoot),
    /// Those of the names that count only in directories between the root and the working directory.
    pub between: &'static [&'static str],
    /// File names that are one user's alone, so that texts call them that.
    pub private: &'static [&'static str],
    /// Whether names are read in other letter cases, too.
    pub letter_case: LetterCase,
    /// What a backslash in the path of a directory is.
    pub backslash: Backslash,
    /// Folders of files that are read besides, in the project and in the agent's own directory.
    pub rule_folders: &'static [RuleFolder],
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
    /// What makes a marker one.
    pub marker_check: MarkerCheck,
    /// How far up files are read once the root is known.
    pub reach: Reach,
    /// What a worktree inside the repository that it belongs to does.
    pub nested_worktree: NestedWorktree,
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
    /// What becomes of comments in Markdown.
    pub comments: Comments,
    /// What becomes of white space around a text.
    pub white_space: WhiteSpace,
    /// What becomes of characters that nobody sees.
    pub invisible: Invisible,
    /// In which order the directories of a chain stand in the text.
    pub order: ChainOrder,
    /// What happens to wrapper tags and hidden characters.
    pub unsafe_text: UnsafeText,
    /// What happens to a file that is reached twice.
    pub same_file: SameFile,
    /// What happens to a text that another file had already.
    pub same_text: SameText,
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
    /// What a tool that reads a file brings in.
    pub on_reading: OnReading,
    /// What keeps it from starting.
    pub traps: Traps,
    /// What tells that somebody uses the agent.
    pub traces: Traces,
    /// The agent's own settings file, which is read besides ours.
    pub settings_file: Option<SettingsFile>,
    /// The agent's own settings in JSON, which are read besides ours.
    pub json_settings: Option<JsonSettings>,
    /// Prefix of the environment variables that set it.
    pub variable_prefix: &'static str,
}

/// Which of a profile's names are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameChoice {
    /// In each directory the first that is usable.
    FirstOfDirectory,
    /// In all directories the first that any of them has.
    FirstOfChain,
    /// All.
    All,
}

/// Where files stand that are read in the root alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtRoot {
    /// Before the others.
    First,
    /// Behind all others, if a marker makes the root one.
    LastIfMarked,
}

/// Whether names are read in other letter cases, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterCase {
    /// As they are written.
    Exact,
    /// In any letter case, where a name is not there as it is written.
    Any,
}

/// What a backslash in the path of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backslash {
    /// A character like any other.
    Ordinary,
    /// A slash, so that nothing is found there.
    Slash,
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
    /// It is included if it has any byte, and hides the next name in any case.
    IncludedUnlessEmpty,
}

/// The user's own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeFile {
    /// File names in the agent's own directory.
    pub names: &'static [&'static str],
    /// Paths below the user's home directory that are tried after those.
    pub elsewhere: &'static [&'static str],
    /// Which of them are read.
    pub choice: NameChoice,
    /// What one of only white space does.
    pub blank: Blank,
    /// Whether white space around its text goes.
    pub trimmed: bool,
}

impl HomeFile {
    /// The first of these names that has a text, as it is.
    pub(crate) const fn first_of(names: &'static [&'static str]) -> Self {
        let (choice, blank) = (NameChoice::FirstOfDirectory, Blank::FallsThrough);
        Self { names, elsewhere: &[], choice, blank, trimmed: false }
    }
}

/// Where an agent keeps its user's own files and settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeDirectory {
    /// The variable that names it.
    pub variable: Option<&'static str>,
    /// A variable that names the directory above it, and its path from there.
    pub above: Option<(&'static str, &'static str)>,
    /// Its path below the user's home directory.
    pub in_user_home: &'static str,
}

impl HomeDirectory {
    /// The variables that it depends on.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        self.variable.into_iter().chain(self.above.map(|(variable, _)| variable))
    }
}

/// What an empty list of markers means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyMarkers {
    /// No search: only the working directory.
    CwdOnly,
    /// The profile's own markers.
    Defaults,
    /// Every directory up to the file system's root.
    WholePath,
}

/// What makes a marker one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerCheck {
    /// That there is something of its name.
    Present,
    /// That Git takes it for a repository.
    GitAccepts,
    /// That it is a directory or a file, and no link.
    DirectoryOrFile,
    /// That it is a file, or a directory that Git takes for a repository.
    RepositoryOrFile,
}

/// How far up files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Up to the root.
    Root,
    /// Up to the directory above the root; without a root up to the one above the user's home directory.
    OneAbove,
}

/// What a worktree inside the repository that it belongs to does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedWorktree {
    /// Nothing.
    Ordinary,
    /// It hides the files of the repository's own checkout around it, but for private ones.
    HidesCheckout,
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
    /// There is none; every directory up to the file system's root is looked at.
    WholePath,
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

/// In which order the directories of a chain stand in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainOrder {
    /// The root first, the working directory last.
    RootFirst,
    /// The working directory first, the root last.
    NearestFirst,
    /// The root first, then the working directory, and last what is right below the root; the first name of the root and
    /// of the working directory before all.
    RootThenNearest,
    /// By the bytes of their paths, so that a directory may stand before the file beside it.
    ByPath,
    /// All files of one name, then those of the next; within a name the user's own, then the root first.
    ByName,
}

/// What happens to wrapper tags and hidden characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsafeText {
    /// Tags are neutralised and hidden characters made visible, and both are reported.
    MadeHarmless,
    /// They are reported.
    Reported,
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
    /// Blocks as these forms describe them.
    Forms(&'static [BlockForm]),
}

/// Where an agent puts a block of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// An agent's own settings file: TOML in its home directory and in trusted projects, and what our settings are called in it.
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
    /// The path of such a file in the directories of a project, which counts if the project is trusted.
    pub in_project: &'static str,
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

/// For agents that were seen to have no limit: what we read of their files at most.
pub(crate) const UNLIMITED: u64 = 16 * 1024 * 1024;

/// What a profile has where it says nothing else: one name, read as it is wherever its links lead.
const BASE: Profile = Profile {
    name: "",
    agent: Agent::NOBODY,
    names: &["AGENTS.md"],
    choice: NameChoice::FirstOfDirectory,
    added: &[],
    instead: &[],
    at_root: (&[], AtRoot::First),
    between: &[],
    private: &[],
    letter_case: LetterCase::Exact,
    backslash: Backslash::Ordinary,
    rule_folders: &[],
    fallbacks: Fallbacks::Unsupported,
    blank: Blank::Included,
    home_directory: None,
    home: None,
    markers: &[".git"],
    marker_check: MarkerCheck::Present,
    reach: Reach::Root,
    nested_worktree: NestedWorktree::Ordinary,
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
    comments: Comments::Kept,
    white_space: WhiteSpace::Kept,
    invisible: Invisible::Kept,
    order: ChainOrder::RootFirst,
    unsafe_text: UnsafeText::Reported,
    same_file: SameFile::UsedTwice,
    same_text: SameText::UsedTwice,
    changed: Changed::ByContent,
    reminder_texts: ReminderTexts::AsSet,
    resume_lines: ResumeLines::Changed,
    rendering: Rendering::AgentsContext,
    role: BlockRole::System,
    on_reading: OnReading::Nothing,
    traps: Traps::NONE,
    traces: Traces { in_user_home: &[], in_project: &[] },
    settings_file: None,
    json_settings: None,
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

    /// Whether the agent was seen to have a limit; else there is only ours.
    pub fn has_limit(&self) -> bool {
        self.max_bytes != UNLIMITED
    }

    /// Every file name the profile knows without configuration.
    pub fn known_names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().chain(self.added).chain(self.instead).chain(self.at_root.0).copied()
    }
}
