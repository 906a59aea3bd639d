//! Profiles: complete sets of resolution rules as data, read by one algorithm.
//!
//! A profile lists only its differences from a base. To add an agent, write its file in `agents/`, add it to [`PROFILES`]
//! and record its cases. A rule that no agent had so far becomes a field with a value in the base, or a variant.

mod agent;
mod agents;
mod protected_places;
mod rules;

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

pub use agent::{Agent, Evidence, Installation, Rule, StartupHazards, Traces};
pub use agents::aider::AIDER;
pub use agents::amp::AMP;
pub use agents::antigravity::ANTIGRAVITY;
pub use agents::claude_code::CLAUDE_CODE;
pub use agents::cline::CLINE;
pub use agents::codelia::CODELIA;
pub use agents::codex::CODEX;
pub use agents::continue_dev::CONTINUE;
pub use agents::copilot::COPILOT;
pub use agents::cursor::CURSOR;
pub use agents::devin::DEVIN;
pub use agents::droid::DROID;
pub use agents::foreword::FOREWORD;
pub use agents::gemini_cli::GEMINI_CLI;
pub use agents::goose::GOOSE;
pub use agents::grok::GROK;
pub use agents::junie::JUNIE;
pub use agents::kilo::KILO;
pub use agents::kimi::KIMI;
pub use agents::opencode::{OPENCODE, OPENCODE_2};
pub use agents::pi::{PI, PI_0_73_1};
pub use agents::qwen_code::QWEN_CODE;
pub use agents::zed::ZED;
pub use protected_places::{ProtectedPlace, protected_paths, protected_place};
pub use rules::budget::{BudgetRules, OverLimit};
pub use rules::choose::{
    Blank, ChoiceRules, DirectoryEffect, Fallbacks, HomeFile, LetterCase, Name, NameChoice, NameImports,
    NameOwner, NameRole, SameFile, Titles, Unreadable,
};
pub use rules::imports::{
    ChainFiles, ImportBounds, ImportPlace, ImportRepeats, ImportRules, ImportSyntax, InPlace, OwnBlock,
    RuleImports, ZeroByte,
};
pub use rules::render::{
    BlockForm, BlockRole, ChainOrder, NewlineRuns, OwnerWords, PartOf, PathForm, Piece, RenderRules,
    Rendering, SectionForm, WaitingForm,
};
pub use rules::rule_folders::{
    AlwaysKey, GlobMatching, HeaderReading, HiddenRules, RuleBody, RuleConditions, RuleDepth, RuleEncoding,
    RuleFolder, RuleFolderPlace, RuleLinks, RuleOrder,
};
pub use rules::search::{
    CwdSpelling, DanglingLink, EmptyMarkers, HomeDirectory, Links, MarkerCheck, Reach, RootMarker,
    RootOverride, SearchRules, SkippedDirectory, WithoutMarker,
};
pub use rules::session::{
    AnnouncedFirst, Changed, NestedFiles, NestedRules, OnReading, ReminderRules, ReminderTexts, SessionRules,
};
pub use rules::settings::{
    AgentSettings, BrokenSettings, FolderTrust, JsonSettings, NamesHeading, NamesSetting, OwnNames,
    SettingsFile, SettingsPlace,
};
pub use rules::text::{
    ByteOrderMark, Encoding, FrontMatterRule, NormalForm, RemovedPart, TextRules, UnsafeText, WhiteSpace,
};

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
    &CLINE,
    &KILO,
    &GOOSE,
    &DROID,
    &GROK,
    &KIMI,
    &CONTINUE,
    &CURSOR,
    &ZED,
    &AMP,
    &ANTIGRAVITY,
    &DEVIN,
    &JUNIE,
    &AIDER,
    &OPENCODE_2,
    &PI_0_73_1,
];

/// The rules of one agent, one field for each stage of a resolution.
#[derive(Debug)]
pub struct Profile {
    /// Name on the command line.
    pub name: &'static str,
    /// The agent whose rules these are.
    pub agent: Agent,
    /// Directories that are searched.
    pub search: SearchRules,
    /// Files that are selected there.
    pub choose: ChoiceRules,
    /// Transformation of their texts.
    pub text: TextRules,
    /// Imports. `None` if `@path` is plain text.
    pub imports: Option<ImportRules>,
    /// Limits.
    pub budget: BudgetRules,
    /// Form of the text.
    pub render: RenderRules,
    /// Behavior after the start.
    pub session: SessionRules,
}

// Profiles are statics, so identity is equality. Comparing field by field would cost every warm answer.
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

/// Maximum that we read for agents without a known limit.
pub(crate) const UNLIMITED: u64 = 16 * 1024 * 1024;

/// Defaults of every profile: one name, read unchanged wherever its links lead.
const BASE: Profile = Profile {
    name: "",
    agent: Agent::UNNAMED,
    search: SearchRules {
        home_directory: None,
        settings: None,
        variable_prefix: "FOREWORD_",
        markers: &[RootMarker::Anywhere(".git")],
        marker_check: MarkerCheck::Present,
        empty_markers: EmptyMarkers::CwdOnly,
        without_marker: WithoutMarker::NoRoot,
        root_override: RootOverride::Allowed,
        reach: Reach::Root,
        skipped: &[],
        links: Links::Anywhere,
        dangling_link: DanglingLink::NotAFile,
        cwd: CwdSpelling::AsIs,
    },
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.md")],
        choice: NameChoice::FirstOfDirectory,
        fallbacks: Fallbacks::Unsupported,
        blank: Blank::Included,
        unreadable: Unreadable::FileLost,
        directories: DirectoryEffect::TryNext,
        titles: Titles::None,
        same_file: SameFile::UsedTwice,
        home: None,
        rule_folders: &[],
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Kept,
        front_matter: FrontMatterRule::Text,
        removed: &[],
        white_space: WhiteSpace::Kept,
        unsafe_text: UnsafeText::Reported,
        normal_form: NormalForm::AsWritten,
        encoding: Encoding::Replaced,
    },
    imports: None,
    budget: BudgetRules { max_bytes: 32_768, max_files: None, over_limit: OverLimit::RootFirst },
    render: RenderRules {
        order: ChainOrder::RootFirst,
        form: Rendering::AgentsContext,
        role: BlockRole::System,
    },
    session: SessionRules { on_reading: OnReading::Nothing, reminders: ReminderRules::Foreword },
};

/// Names of agents' commands, as users type them.
const ALIASES: &[(&str, &str)] =
    &[("claude", "claude-code"), ("gemini", "gemini-cli"), ("qwen", "qwen-code")];

impl Profile {
    /// Returns the profile with this name or alias.
    pub fn find(name: &str) -> Option<&'static Profile> {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name, |(_, name)| name);
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }

    /// Returns the other names by which profiles are found.
    pub fn aliases() -> impl Iterator<Item = &'static str> {
        ALIASES.iter().map(|(alias, _)| *alias)
    }

    /// Returns true if another profile describes the version of the agent that most people run.
    pub fn is_other_version(&self) -> bool {
        self.name.contains('@')
    }

    /// Returns the agent's name for a setting of ours.
    pub(crate) fn setting_name(&self, path: &'static str) -> Cow<'static, str> {
        let named = self.settings_file().and_then(|file| {
            let (_, key) = file.keys.iter().find(|(known, _)| *known == path)?;
            Some(format!("{key} in {}'s {}", file.agent, file.name))
        });
        named.map_or(Cow::Borrowed(path), Cow::Owned)
    }

    /// Returns true if the agent has a limit of its own.
    pub fn has_limit(&self) -> bool {
        self.budget.max_bytes != UNLIMITED
    }

    /// Returns the agent's TOML settings file.
    pub fn settings_file(&self) -> Option<SettingsFile> {
        match self.search.settings {
            Some(AgentSettings::Toml(file)) => Some(file),
            _ => None,
        }
    }

    /// Returns the agent's JSON settings.
    pub fn json_settings(&self) -> Option<JsonSettings> {
        match self.search.settings {
            Some(AgentSettings::Json(settings)) => Some(settings),
            _ => None,
        }
    }

    /// Returns the names that compete with each other in a directory.
    pub fn main_names(&self) -> impl Iterator<Item = &'static str> {
        let is_main = |name: &&Name| matches!(name.role, NameRole::Main | NameRole::Between);
        self.choose.names.iter().filter(is_main).map(|name| name.name)
    }

    /// Returns the names with this role.
    pub fn names_with(&self, role: NameRole) -> impl Iterator<Item = &'static str> {
        self.choose.names.iter().filter(move |name| name.role == role).map(|name| name.name)
    }

    /// Returns every file name that the profile knows without configuration.
    pub fn known_names(&self) -> impl Iterator<Item = &'static str> {
        self.choose.names.iter().map(|name| name.name)
    }
}
