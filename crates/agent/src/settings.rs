//! Settings of the agent, fixed when the gateway starts.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use instructions::FileSettings;
use memory::MemorySettings;
use prompt::{PromptBudgets, PromptProfile};
use protocol::DelegateInstructions;
use provider::{Providers, ReasoningEffort};
use serde::Deserialize;
use skills::SkillSettings;
use tools::{Permissions, ShellSettings};

#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Directory of `SOUL.md`, `IDENTITY.md` and `USER.md`.
    pub home: PathBuf,
    /// Paths that no tool and no project's instruction files may reach: the user's configuration, the gateway's data,
    /// keys.
    pub private_paths: Vec<PathBuf>,
    /// Directory for a command's versions of protected files when the originals are restored; `None` keeps them
    /// beside the originals.
    pub set_aside: Option<PathBuf>,
    /// Directory of the journal of running commands, from which the next start restores protected files if this process
    /// is killed; `None` keeps none.
    pub journal: Option<PathBuf>,
    /// Search rules for instruction files, unless the workspace overrides them.
    pub files: FileSettings,
    pub prompt: PromptSettings,
    /// Configured providers.
    pub providers: Providers,
    /// Default model, as `provider/model`.
    pub default_model: Option<String>,
    pub turns: TurnSettings,
    pub skills: SkillSettings,
    pub memory: MemorySettings,
    pub delegation: DelegationSettings,
    pub retention: RetentionSettings,
}

impl AgentSettings {
    /// Default settings with this home directory and without providers.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self {
            private_paths: vec![home.clone()],
            set_aside: None,
            journal: None,
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
    /// Enables the `delegate` tool.
    pub enabled: bool,
    /// Hides the tool until a model requests it.
    pub hidden: bool,
    /// Instructions that delegates read besides their goal.
    pub instructions: DelegateInstructions,
    /// Maximum depth of delegation below a thread: 2 allows children and grandchildren.
    pub max_depth: u32,
    /// Children of one turn that run concurrently; others wait.
    pub max_parallel: usize,
    /// Maximum number of delegated tasks per turn of a user, over all its descendants. Without it, agents that
    /// delegate everything to each other would never stop.
    pub max_given_out: usize,
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            hidden: false,
            instructions: DelegateInstructions::None,
            max_depth: 2,
            max_parallel: 4,
            max_given_out: 100,
        }
    }
}

/// Prompt compilation.
#[derive(Debug, Clone)]
pub struct PromptSettings {
    /// Amount of guidance in the prompt.
    pub profile: PromptProfile,
    /// Ids of sections that are left out.
    pub disabled_sections: BTreeSet<String>,
    /// Length limits.
    pub budgets: PromptBudgets,
    /// Explains to the model how AGENTS files of nested directories relate.
    pub nested_scope_rules: bool,
    /// Precision of the time in the prompt.
    pub time: Clock,
    /// Stores the texts of sections, so that a past prompt can be rebuilt.
    pub keep_texts: bool,
}

impl Default for PromptSettings {
    fn default() -> Self {
        Self {
            profile: PromptProfile::Full,
            disabled_sections: BTreeSet::new(),
            budgets: PromptBudgets::default(),
            nested_scope_rules: false,
            time: Clock::Date,
            keep_texts: true,
        }
    }
}

/// Precision of the time in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Date,
    /// The date and the time, which differs in every turn.
    DateAndTime,
}

/// Retention periods; `None` keeps records forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Records of hook runs, since the run.
    pub hook_runs: Option<Duration>,
    /// Texts of prompts, since their last use.
    pub prompt_texts: Option<Duration>,
    /// Manifests of prompts, since they were recorded.
    pub manifests: Option<Duration>,
    /// The change log, since each change. A client that was offline for longer reloads.
    pub change_log: Option<Duration>,
    /// Changes that commands made to protected files, since the originals were restored.
    pub undone_files: Option<Duration>,
    /// Audit entries, since the event.
    pub audit: Option<Duration>,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        // Records that only help with debugging are removed after a month. Those that prove what a model
        // has read are kept forever.
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

/// Limits and defaults of turns.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// Tokens of a request and its answer together.
    pub max_context_tokens: usize,
    /// Tokens reserved for the answer.
    pub response_reserve_tokens: usize,
    /// Rounds in one turn before the model must answer.
    pub max_rounds: u32,
    /// Tool calls in one turn before the model must answer.
    pub max_tool_calls: u32,
    /// Policy for a turn of a thread that has one running.
    pub when_busy: WhenBusy,
    /// Model that summarises earlier turns, as `provider/model`; `None` uses the model of the turn.
    pub summary_model: Option<String>,
    /// Reasoning effort; `None` leaves it to the model.
    pub reasoning: Option<ReasoningEffort>,
    /// Permissions of tools beyond reading.
    pub permissions: Permissions,
    /// Time a call waits for approval.
    pub approval_time: Duration,
    /// Settings of the shell tool; `None` disables it.
    pub shell: Option<ShellSettings>,
    pub limits: TurnLimits,
}

/// Limits on the number and cost of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Concurrent turns on this gateway.
    pub running: usize,
    /// Concurrent turns in one workspace, on all gateways together.
    pub running_in_workspace: u64,
    /// Input and output tokens that the turns of one workspace may use per day (UTC). Once they are used up, no turn
    /// starts, and running turns end with their next answer.
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

/// Policy for a turn of a thread that has one running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    #[default]
    Refuse,
    Queue,
}
