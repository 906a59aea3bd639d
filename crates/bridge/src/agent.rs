//! Table of the agents that can be connected.

use instructions::{CLAUDE_CODE, CODEX, COPILOT, GEMINI_CLI, OPENCODE, Profile, QWEN_CODE};

/// Connection of an agent with Foreword.
#[derive(Debug)]
pub struct Connected {
    /// Files the agent reads on its own.
    pub profile: &'static Profile,
    /// Its command hooks; `None` if it has none.
    pub hooks: Option<Hooks>,
    /// Candidates for its user settings file, relative to its own directory.
    pub user_files: &'static [&'static str],
    /// Candidates for its project settings file, relative to the project root. The first existing file is used, else
    /// the first candidate.
    pub project_files: &'static [&'static str],
    /// Entries to add to the settings file.
    pub(crate) entries: Entries,
    /// Instructions for the user after the installation.
    pub notes: &'static [Note],
}

/// Instruction for the user without which a connection has no effect.
#[derive(Debug)]
pub struct Note {
    pub text: &'static str,
    /// True if it only concerns settings of a project.
    pub is_for_projects: bool,
}

/// Command hooks of an agent.
#[derive(Debug)]
pub struct Hooks {
    /// Tools that make the agent load instruction files on its own.
    pub(crate) reading_tools: &'static [&'static str],
    pub(crate) answer: AnswerForm,
    /// Form in which a hook that runs before a tool denies the call.
    pub(crate) denial: DenialForm,
    /// Possibility to let the user decide about a call.
    pub(crate) asking: Asking,
    /// Maximum characters that reach the model; the agent truncates longer answers or moves them into a file.
    pub(crate) max_characters: usize,
    /// Other agents that run these hooks, and the variable that identifies each.
    pub(crate) borrowed_by: &'static [(&'static str, &'static Profile)],
    /// File in the agent's own directory that lists trusted folders.
    pub(crate) trust_file: Option<TrustFile>,
}

/// Form of the answer that carries text for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// `hookSpecificOutput` with the event's name.
    OfEvent,
    /// `additionalContext` only.
    Plain,
}

/// Form of the answer that denies a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenialForm {
    /// `hookSpecificOutput` with the event's name and a `permissionDecision`.
    OfEvent,
    /// `decision` and `reason`.
    Decision,
    /// `permissionDecision` and its reason.
    Permission,
}

/// Effect of a hook that wants the user to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// The agent asks its user.
    Supported,
    /// The agent knows no such answer, so the call is denied, and the model is referred to the user.
    Denied,
}

/// JSON file that lists trusted and distrusted folders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrustFile {
    pub(crate) name: &'static str,
    /// Variable with an alternative path, and variable that trusts every folder.
    pub(crate) path_variable: &'static str,
    pub(crate) trusting_variable: &'static str,
}

/// Entries to add to an agent's settings.
#[derive(Debug)]
pub(crate) enum Entries {
    Hooks {
        events: &'static [HookedEvent],
        shape: HookShape,
        /// Key of the time limit, and its value in the agent's unit.
        timeout: (&'static str, u64),
    },
    /// Our MCP server, as `mcp.foreword`.
    Server,
}

/// Event that our hook answers.
#[derive(Debug)]
pub(crate) struct HookedEvent {
    pub(crate) name: &'static str,
    /// Tools to match; `None` for all.
    pub(crate) matcher: Option<&'static str>,
}

/// Layout of hooks in the settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookShape {
    /// Groups, each with a matcher.
    Groups,
    /// A flat list, in a file of version 1.
    List,
}

const fn on(name: &'static str, matcher: Option<&'static str>) -> HookedEvent {
    HookedEvent { name, matcher }
}

/// Tools of Claude Code that touch files or run commands.
const CLAUDE_CODE_TOOLS: &str = "Read|Edit|MultiEdit|Write|NotebookEdit|NotebookRead|Bash|Grep|Glob|LS";
/// Tools of Gemini CLI that touch files or run commands.
const GEMINI_CLI_TOOLS: &str = "read_|write_file|replace|list_directory|glob|grep|search|run_shell";

/// Time limit of our hook. It needs a few milliseconds; the limit keeps the agent going if a disk hangs.
const SECONDS: u64 = 10;
/// The agents with a documented limit truncate at 10,000 characters.
// The text is measured before it is wrapped in JSON, so the limit leaves some characters for that.
const MAX_CHARACTERS: usize = 9_500;

/// All agents that can be connected.
pub static AGENTS: &[Connected] = &[
    Connected {
        profile: &CLAUDE_CODE,
        hooks: Some(Hooks {
            reading_tools: &["Read"],
            answer: AnswerForm::OfEvent,
            denial: DenialForm::OfEvent,
            asking: Asking::Supported,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[("COPILOT_CLI", &COPILOT)],
            trust_file: None,
        }),
        user_files: &["settings.json"],
        project_files: &[".claude/settings.json"],
        entries: Entries::Hooks {
            // Claude Code starts a process for each matched call, so tools that touch no file, such as web searches, are
            // left out.
            events: &[
                on("SessionStart", None),
                on("PreToolUse", Some(CLAUDE_CODE_TOOLS)),
                on("PostToolUse", Some(CLAUDE_CODE_TOOLS)),
            ],
            shape: HookShape::Groups,
            timeout: ("timeout", SECONDS),
        },
        notes: &[],
    },
    Connected {
        profile: &CODEX,
        hooks: Some(Hooks {
            // Codex loads no instruction files when a tool reads, and it reads through a shell, whose output may be a
            // part of a file only. So nothing ever counts as loaded by its tools.
            reading_tools: &[],
            answer: AnswerForm::OfEvent,
            denial: DenialForm::OfEvent,
            asking: Asking::Denied,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[],
            trust_file: None,
        }),
        user_files: &["hooks.json"],
        project_files: &[".codex/hooks.json"],
        entries: Entries::Hooks {
            events: &[on("SessionStart", None), on("PreToolUse", None), on("PostToolUse", None)],
            shape: HookShape::Groups,
            timeout: ("timeout", SECONDS),
        },
        notes: &[Note {
            text: "Codex runs a new hook only once you have trusted it: start codex and open /hooks",
            is_for_projects: false,
        }],
    },
    Connected {
        profile: &GEMINI_CLI,
        hooks: Some(Hooks {
            reading_tools: &["read_file", "read_many_files"],
            answer: AnswerForm::OfEvent,
            denial: DenialForm::Decision,
            asking: Asking::Denied,
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
                on("BeforeTool", Some(GEMINI_CLI_TOOLS)),
                on("AfterTool", Some(GEMINI_CLI_TOOLS)),
            ],
            shape: HookShape::Groups,
            // Gemini CLI counts milliseconds, unlike the other agents. With 10 the hook would be stopped before it has
            // started.
            timeout: ("timeout", 1_000 * SECONDS),
        },
        notes: &[],
    },
    Connected {
        profile: &QWEN_CODE,
        hooks: Some(Hooks {
            reading_tools: &["read_file", "read_many_files"],
            answer: AnswerForm::OfEvent,
            denial: DenialForm::OfEvent,
            asking: Asking::Supported,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[],
            trust_file: Some(TrustFile {
                name: "trustedFolders.json",
                path_variable: "QWEN_CODE_TRUSTED_FOLDERS_PATH",
                // Qwen Code has no such variable.
                trusting_variable: "",
            }),
        }),
        user_files: &["settings.json"],
        project_files: &[".qwen/settings.json"],
        entries: Entries::Hooks {
            events: &[on("SessionStart", None), on("PreToolUse", None), on("PostToolUse", None)],
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
            denial: DenialForm::Permission,
            asking: Asking::Supported,
            max_characters: MAX_CHARACTERS,
            borrowed_by: &[],
            trust_file: None,
        }),
        user_files: &["hooks/foreword.json"],
        project_files: &[".github/hooks/foreword.json"],
        entries: Entries::Hooks {
            // Copilot announces a summary by an event of its own. Claude Code reports it as another start of the
            // session, so its list above needs no third event.
            events: &[
                on("sessionStart", None),
                on("preToolUse", None),
                on("postToolUse", None),
                on("preCompact", None),
            ],
            shape: HookShape::List,
            timeout: ("timeoutSec", SECONDS),
        },
        notes: &[Note {
            text: "Copilot ignores the hooks of a project until you trust its folder: start copilot there and confirm",
            is_for_projects: true,
        }],
    },
    Connected {
        profile: &OPENCODE,
        hooks: None,
        user_files: &["opencode.json", "opencode.jsonc"],
        project_files: &["opencode.json", "opencode.jsonc"],
        // opencode has no command hooks, so its model has to call our tools.
        entries: Entries::Server,
        notes: &[],
    },
];

impl Connected {
    /// Returns the agent with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.profile.name == name)
    }

    /// Returns the names of all agents.
    pub fn names() -> impl Iterator<Item = &'static str> {
        AGENTS.iter().map(|agent| agent.profile.name)
    }

    /// Returns the effect of guards that ask, or `None` if the agent has no hook that can deny a call.
    pub fn asking(&self) -> Option<Asking> {
        self.hooks.as_ref().map(|hooks| hooks.asking)
    }

    /// Returns the names of agents that run command hooks.
    pub fn names_with_hooks() -> impl Iterator<Item = &'static str> {
        AGENTS.iter().filter(|agent| agent.hooks.is_some()).map(|agent| agent.profile.name)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use instructions::protected_place;

    use super::*;

    // An agent runs the hooks in these files, so a tool that may write them could run programs outside of its sandbox.
    #[test]
    fn all_settings_files_of_projects_are_protected() {
        for agent in AGENTS {
            for file in agent.project_files {
                assert!(protected_place(Path::new(file)).is_some(), "{}: {file}", agent.profile.name);
            }
        }
    }
}
