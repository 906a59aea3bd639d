//! What a gateway tells its agent once.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use instructions::FileSettings;
use memory::MemorySettings;
use prompt::{Budgets, PromptProfile};
use provider::{Providers, ReasoningEffort};
use serde::Deserialize;
use skills::SkillSettings;
use tools::{Permissions, ShellSettings};

#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Where `SOUL.md`, `IDENTITY.md` and `USER.md` are.
    pub home: PathBuf,
    /// Directories and files that are out of reach of every tool and of every project's instruction files: the user's
    /// configuration, the gateway's data, keys.
    pub private_paths: Vec<PathBuf>,
    /// Where a command's versions of protected files are kept when these are put back; none: beside where they were.
    pub set_aside: Option<PathBuf>,
    /// How instruction files on disk are found, where a workspace does not say otherwise.
    pub files: FileSettings,
    /// How prompts are compiled.
    pub prompt: PromptSettings,
    /// Who can be asked.
    pub providers: Providers,
    /// The model that is asked when nobody names one, as `provider/model`.
    pub default_model: Option<String>,
    /// How turns are run.
    pub turns: TurnSettings,
    /// Which skills turns have.
    pub skills: SkillSettings,
    /// What turns do with memory.
    pub memory: MemorySettings,
    /// Whether turns give work to others.
    pub delegation: DelegationSettings,
    /// How long what is kept of turns is kept.
    pub retention: RetentionSettings,
}

impl AgentSettings {
    /// With this home directory, and without anybody to ask.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self {
            private_paths: vec![home.clone()],
            set_aside: None,
            home,
            files: FileSettings::default(),
            prompt: PromptSettings::default(),
            providers: Providers::default(),
            default_model: None,
            turns: TurnSettings::default(),
            skills: SkillSettings::default(),
            memory: MemorySettings::default(),
            delegation: DelegationSettings::default(),
            retention: RetentionSettings::default(),
        }
    }
}

/// `[delegation]` of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegationSettings {
    /// Whether turns can give work to others at all.
    pub enabled: bool,
    /// Whether the tool comes only when a model asks for it.
    pub hidden: bool,
    /// How many threads may be one below the other: with 2 a thread, its children and theirs.
    pub max_depth: u32,
    /// How many children of one turn work at the same time; others wait.
    pub max_parallel: usize,
    /// How many pieces of work are given out for one turn of a person, by its agent and by those that work for it: an agent
    /// that gives all its work to others, which do the same, would go on for ever.
    pub max_given_out: usize,
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self { enabled: true, hidden: false, max_depth: 2, max_parallel: 4, max_given_out: 100 }
    }
}

/// How prompts are compiled.
#[derive(Debug, Clone)]
pub struct PromptSettings {
    /// How much is made.
    pub profile: PromptProfile,
    /// Sections that are switched off.
    pub disabled_sections: BTreeSet<String>,
    /// How long everything may be.
    pub budgets: Budgets,
    /// Whether the model is told how AGENTS files of nested directories relate.
    pub nested_scope_rules: bool,
    /// Whether the time is given beside the date.
    pub time: Clock,
    /// Whether the texts of sections are kept, so that a past prompt can be rebuilt.
    pub keep_texts: bool,
}

impl Default for PromptSettings {
    fn default() -> Self {
        Self {
            profile: PromptProfile::Full,
            disabled_sections: BTreeSet::new(),
            budgets: Budgets::default(),
            nested_scope_rules: false,
            time: Clock::Date,
            keep_texts: true,
        }
    }
}

/// What a prompt says about the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Date,
    /// The date and the time, which is another one in every turn.
    DateAndTime,
}

/// How long what is kept of turns is kept; without a time, for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionSettings {
    /// HookRunWriter of hooks, since they ran.
    pub hook_runs: Option<Duration>,
    /// Texts of prompts, since they were last used.
    pub prompt_texts: Option<Duration>,
    /// Manifests of prompts, since they were recorded.
    pub manifests: Option<Duration>,
    /// The change log, since each change was made. A client that was away for longer reloads.
    pub change_log: Option<Duration>,
    /// What commands did to protected files, since these were put back.
    pub undone_files: Option<Duration>,
    /// Entries of the audit, since what they tell of.
    pub audit: Option<Duration>,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        let days = |days: u64| Some(Duration::from_secs(days * 24 * 60 * 60));
        Self {
            hook_runs: days(30),
            prompt_texts: None,
            manifests: None,
            change_log: None,
            undone_files: days(30),
            audit: days(365),
        }
    }
}

/// How turns are run.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// Tokens that a request and its answer may have together.
    pub max_context_tokens: usize,
    /// Tokens that are left for the answer.
    pub response_reserve_tokens: usize,
    /// How often a model is asked in one turn before it must answer.
    pub max_rounds: u32,
    /// How many tools it may call in one turn before it must answer.
    pub max_tool_calls: u32,
    /// What happens to a turn of a thread that has one running.
    pub when_busy: WhenBusy,
    /// The model that summarises earlier turns, as `provider/model`; none: the one that is asked.
    pub summary_model: Option<String>,
    /// How hard models should think; none leaves it to them.
    pub reasoning: Option<ReasoningEffort>,
    /// What tools may do beyond reading.
    pub permissions: Permissions,
    /// How long a call waits for somebody to decide.
    pub approval_time: Duration,
    /// How commands are run; none: they are not.
    pub shell: Option<ShellSettings>,
    /// How many turns there may be.
    pub limits: TurnLimits,
}

/// How many turns there may be, and what they may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Most turns that run on this gateway at once.
    pub running: usize,
    /// Most turns that run in one workspace at once, on whichever gateway.
    pub running_in_workspace: u64,
    /// Most tokens, read and written together, that the turns of one workspace may use in a day (UTC). When they are used
    /// up, no further turn begins, and those that run end with their answer.
    pub tokens_per_day: Option<NonZeroU64>,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { running: 64, running_in_workspace: 8, tokens_per_day: None }
    }
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            max_context_tokens: 128_000,
            response_reserve_tokens: 16_000,
            max_rounds: 32,
            max_tool_calls: 128,
            when_busy: WhenBusy::Refuse,
            summary_model: None,
            reasoning: None,
            permissions: Permissions::default(),
            approval_time: tools::ToolLimits::default().approval_time,
            shell: None,
            limits: TurnLimits::default(),
        }
    }
}

/// What happens to a turn of a thread that has one running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    #[default]
    Refuse,
    Queue,
}
