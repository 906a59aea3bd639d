//! The agents that can be connected, and how: rules as data.

use instructions::{CLAUDE_CODE, CODEX, COPILOT, GEMINI_CLI, OPENCODE, Profile, QWEN_CODE};

/// How an agent is connected with us.
#[derive(Debug)]
pub struct Connected {
    /// What it reads by itself.
    pub profile: &'static Profile,
    /// The command hooks it has; none where it has no such hooks.
    pub hooks: Option<Hooks>,
    /// Its settings file below its own directory.
    pub user_files: &'static [&'static str],
    /// The same below a project's root. The first that is there is taken, else the first.
    pub project_files: &'static [&'static str],
    /// What is added there.
    pub(crate) entries: Entries,
    /// What the user has to know or do afterwards.
    pub notes: &'static [&'static str],
}

/// What is known of an agent's command hooks.
#[derive(Debug)]
pub struct Hooks {
    /// Tools whose use makes the agent bring in files by itself.
    pub(crate) reading_tools: &'static [&'static str],
    /// How an answer is written.
    pub(crate) answer: AnswerForm,
    /// Most characters that reach the model; what is longer is cut by the agent, or put into a file.
    pub(crate) max_characters: usize,
    /// Agents that run these hooks, too, and the variable by which each is known.
    pub(crate) borrowed_by: &'static [(&'static str, &'static Profile)],
    /// The agent's file about folders that its user trusts, in its own directory.
    pub(crate) trust_file: Option<TrustFile>,
}

/// How the text that a model should get is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// In `hookSpecificOutput`, beside the event's name.
    OfEvent,
    /// In `additionalContext` alone.
    Plain,
}

/// A JSON file that says of folders whether they are trusted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrustFile {
    pub(crate) name: &'static str,
    /// A variable that names another file, and one that trusts whatever folder it is.
    pub(crate) path_variable: &'static str,
    pub(crate) trusting_variable: &'static str,
}

/// What is added to an agent's settings.
#[derive(Debug)]
pub(crate) enum Entries {
    Hooks {
        events: &'static [HookedEvent],
        shape: HookShape,
        /// The key for the time limit, and the limit as the agent counts it.
        timeout: (&'static str, u64),
    },
    /// Our MCP server, as `mcp.foreword`.
    Server,
}

/// An event that our hook answers.
#[derive(Debug)]
pub(crate) struct HookedEvent {
    pub(crate) name: &'static str,
    /// Which tools; all where there is none.
    pub(crate) matcher: Option<&'static str>,
}

/// How hooks of an event are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookShape {
    /// In groups, each with a matcher.
    Groups,
    /// One after the other, in a file of version 1.
    List,
}

const fn on(name: &'static str, matcher: Option<&'static str>) -> HookedEvent {
    HookedEvent { name, matcher }
}

/// The time our hook may take. It needs a few milliseconds; where a disk hangs, the agent should go on.
const SECONDS: u64 = 10;
/// Both agents that say how much they take stop at 10,000.
const MAX_CHARACTERS: usize = 9_500;

/// Every agent that can be connected.
pub static AGENTS: &[Connected] = &[
    Connected {
        profile: &CLAUDE_CODE,
        hooks: Some(Hooks {
            reading_tools: &["Read"],
            answer: AnswerForm::OfEvent,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[("COPILOT_CLI", &COPILOT)],
            trust_file: None,
        }),
        user_files: &["settings.json"],
        project_files: &[".claude/settings.json"],
        entries: Entries::Hooks {
            events: &[
                on("SessionStart", None),
                on(
                    "PostToolUse",
                    Some("Read|Edit|MultiEdit|Write|NotebookEdit|NotebookRead|Bash|Grep|Glob|LS"),
                ),
            ],
            shape: HookShape::Groups,
            timeout: ("timeout", SECONDS),
        },
        notes: &[],
    },
    Connected {
        profile: &CODEX,
        hooks: Some(Hooks {
            reading_tools: &[],
            answer: AnswerForm::OfEvent,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[],
            trust_file: None,
        }),
        user_files: &["hooks.json"],
        project_files: &[".codex/hooks.json"],
        entries: Entries::Hooks {
            events: &[on("SessionStart", None), on("PostToolUse", None)],
            shape: HookShape::Groups,
            timeout: ("timeout", SECONDS),
        },
        notes: &["Codex runs a new hook only once you have trusted it: start codex and open /hooks"],
    },
    Connected {
        profile: &GEMINI_CLI,
        hooks: Some(Hooks {
            reading_tools: &["read_file", "read_many_files"],
            answer: AnswerForm::OfEvent,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[],
            trust_file: Some(TrustFile {
                name: "trustedFolders.json",
                path_variable: "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
                trusting_variable: "GEMINI_CLI_TRUST_WORKSPACE",
            }),
        }),
        user_files: &["settings.json"],
        project_files: &[".gemini/settings.json"],
        entries: Entries::Hooks {
            events: &[
                on("SessionStart", None),
                on("AfterTool", Some("read_|write_file|replace|list_directory|glob|grep|search|run_shell")),
            ],
            shape: HookShape::Groups,
            timeout: ("timeout", 1_000 * SECONDS),
        },
        notes: &[],
    },
    Connected {
        profile: &QWEN_CODE,
        hooks: Some(Hooks {
            reading_tools: &["read_file", "read_many_files"],
            answer: AnswerForm::OfEvent,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[],
            trust_file: Some(TrustFile {
                name: "trustedFolders.json",
                path_variable: "QWEN_CODE_TRUSTED_FOLDERS_PATH",
                trusting_variable: "",
            }),
        }),
        user_files: &["settings.json"],
        project_files: &[".qwen/settings.json"],
        entries: Entries::Hooks {
            events: &[on("SessionStart", None), on("PostToolUse", None)],
            shape: HookShape::Groups,
            timeout: ("timeout", SECONDS),
        },
        notes: &[],
    },
    Connected {
        profile: &COPILOT,
        hooks: Some(Hooks {
            reading_tools: &["view", "read", "Read"],
            answer: AnswerForm::Plain,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[],
            trust_file: None,
        }),
        user_files: &["hooks/foreword.json"],
        project_files: &[".github/hooks/foreword.json"],
        entries: Entries::Hooks {
            events: &[on("sessionStart", None), on("postToolUse", None), on("preCompact", None)],
            shape: HookShape::List,
            timeout: ("timeoutSec", SECONDS),
        },
        notes: &[],
    },
    Connected {
        profile: &OPENCODE,
        hooks: None,
        user_files: &["opencode.json", "opencode.jsonc"],
        project_files: &["opencode.json", "opencode.jsonc"],
        entries: Entries::Server,
        notes: &[],
    },
];

impl Connected {
    /// The agent of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.profile.name == name)
    }

    /// Every name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        AGENTS.iter().map(|agent| agent.profile.name)
    }

    /// The names of those that run command hooks.
    pub fn names_with_hooks() -> impl Iterator<Item = &'static str> {
        AGENTS.iter().filter(|agent| agent.hooks.is_some()).map(|agent| agent.profile.name)
    }
}
