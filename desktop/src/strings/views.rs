//! Texts of the views of history, effective documents, prompts, threads and agents.

pub const LOADING: &str = "Loading…";
pub const TRY_AGAIN: &str = "Try again";
pub const NO_WORKSPACE: &str = "Open a workspace first.";
pub const OPEN: &str = "Open";

pub mod history {
    pub const EMPTY: &str =
        "Nothing was saved here yet. Your first text in the editor becomes the first revision.";
    pub const OLDER: &str = "Load older revisions";
    pub const SIDE_BY_SIDE: &str = "Side by side";
    pub const RESTORE_TIP: &str = "Make this text current again, as a new version";
    pub const COMPARE_TIP: &str = "Show what changed up to this version";
    pub const BASE: &str = "Compare from here";
    pub const BASE_TIP: &str = "Show the difference from this version to the selected one";
    pub const SAME: &str = "Both versions have the same text.";
    pub const BEFORE_FIRST: &str = "nothing";
    pub const AUTOSAVE: &str = "autosave";
    pub const SAVED: &str = "saved";
    pub const ARCHIVED: &str = "archived";
    pub const RESTORED: &str = "restored";
    pub const UNKNOWN_ACTOR: &str = "unknown";

    pub fn restored_from(version: u64) -> String {
        format!("{RESTORED} from {version}")
    }

    pub fn title(place: &str) -> String {
        format!("History of {place}")
    }

    pub fn restore(version: u64) -> String {
        format!("Restore version {version}")
    }

    pub fn restored(version: u64, new: u64) -> String {
        format!("Version {version} is current again, as version {new}.")
    }

    pub fn conflict(actual: u64) -> String {
        format!(
            "Someone saved version {actual} meanwhile. Review it, then restore again if you still want to."
        )
    }

    pub fn between(from: &str, to: u64) -> String {
        format!("From {from} to version {to}")
    }

    pub fn version(version: u64) -> String {
        format!("version {version}")
    }
}

pub mod effective {
    pub const OF_THREAD: &str = "Effective document of this thread";
    pub const NONE: &str = "No document applies here. Create an AGENTS.md in this folder or in one above it.";
    pub const APPLIES: &str = "applies here";
    pub const DRAFT: &str = "draft: only white space, so it does not apply";
    pub const HIDDEN: &str = "hidden by the nearer one";
    pub const ROOT: &str = "Workspace root";
    pub const OWN: &str = "It is defined here.";

    pub fn title(place: &str) -> String {
        format!("Effective document of {place}")
    }

    pub fn inherited(from: &str) -> String {
        format!("It is inherited from {from}.")
    }

    pub fn size(version: u64, characters: u64) -> String {
        format!("version {version}, {characters} characters")
    }
}

pub mod prompt {
    pub const TITLE: &str = "Prompt of the next turn";
    pub const TEXT: &str = "Text";
    pub const TEXT_TIP: &str = "Show the prompt as the model reads it";
    pub const SECTIONS: &str = "Sections";
    pub const SECTIONS_TIP: &str = "Show what the prompt is made of";
    pub const NO_DIAGNOSTICS: &str = "Nothing was cut or left out.";
    pub const NO_TURN: &str = "There is no earlier turn to compare with.";
    pub const CUT: &str = "cut";
    pub const SAID_EARLIER: &str = "already in an earlier turn";
    pub const STABLE: &str = "the same in every session";
    pub const SESSION: &str = "the same for this thread";
    pub const TURN: &str = "only for this turn";

    pub fn size(tokens: u64, chars: u64) -> String {
        format!("{tokens} tokens, {chars} characters")
    }

    pub fn request(request: u64, window: u64, prompt: u64, tools: u64) -> String {
        format!(
            "The request takes about {request} of {window} tokens: prompt {prompt}, tools {tools}, the rest is history."
        )
    }

    pub fn unchanged(turn: u64, tokens: u64) -> String {
        format!(
            "Since turn {turn} nothing has changed: all {tokens} tokens can come from the provider's cache."
        )
    }

    pub fn changed(turn: u64, kept: u64, lost: u64) -> String {
        format!(
            "Compared with turn {turn}, the first {kept} tokens are the same and can come from the provider's cache; {lost} cannot."
        )
    }

    pub fn breaks(section: &str, how: &str, line: Option<u64>) -> String {
        match line {
            Some(line) => format!("It breaks in section {section}, line {line}, which was {how}."),
            None => format!("It breaks in section {section}, which was {how}."),
        }
    }

    pub fn because(before: &str, after: &str) -> String {
        format!("The cause: {before} became {after}.")
    }

    pub fn lost_prefix(tokens: u64) -> String {
        format!("{tokens} tokens before the history must be processed again.")
    }

    pub const KEPT_PREFIX: &str = "Everything before the history is kept; only this turn's own part differs.";
    pub const EDITED: &str = "edited";
    pub const ADDED: &str = "added";
    pub const REMOVED: &str = "removed";
    pub const NOTHING: &str = "nothing";
}

pub mod thread {
    pub const EMPTY: &str = "Nothing was asked here yet. Write a message below and send it.";
    pub const PLACEHOLDER: &str = "Write a message";
    pub const SEND: &str = "Send";
    pub const SEND_TIP: &str = "Send the message (Ctrl+Enter)";
    pub const CANCEL: &str = "Cancel";
    pub const CANCEL_TIP: &str = "Stop the running turn (Alt+C)";
    pub const ALLOW: &str = "Allow";
    pub const ALLOW_TIP: &str = "Run exactly this call (Alt+A, for the first of several)";
    pub const DENY: &str = "Deny";
    pub const DENY_TIP: &str =
        "Deny the call; the model continues without it (Alt+D, for the first of several)";
    pub const EARLIER: &str = "Load earlier turns";
    pub const PROMPT: &str = "Prompt";
    pub const PROMPT_TIP: &str = "Show the prompt of the next turn";
    pub const EFFECTIVE: &str = "AGENTS.md";
    pub const EFFECTIVE_TIP: &str = "Show the document that applies here";
    pub const YOU: &str = "You";
    pub const MODEL: &str = "Model";
    pub const REMINDER: &str = "Reminder to the model";
    pub const SHOW_ALL_TIP: &str = "Show the whole result of the tool";
    pub const SHOW_LESS: &str = "Show less";
    pub const TURN_RUNNING: &str = "running";
    pub const TURN_COMPLETED: &str = "completed";
    pub const TURN_FAILED: &str = "failed";
    pub const TURN_CANCELLED: &str = "cancelled";
    pub const WAITING: &str = "waits for a decision";
    pub const RUNNING: &str = "runs";
    pub const DONE: &str = "done";
    pub const FAILED: &str = "failed";
    pub const ABANDONED: &str = "without an answer";
    pub const NEW_FILE: &str = "The file does not exist yet.";

    pub fn call(tool: &str, state: &str) -> String {
        format!("⚙ {tool} ({state})")
    }

    pub fn show_all(characters: usize) -> String {
        format!("Show all {} characters", crate::strings::thousands(characters))
    }

    pub fn delegated(status: &str, input: &str) -> String {
        format!("Delegated, {status}: {input}")
    }

    pub fn turn(ordinal: u64, status: &str) -> String {
        format!("Turn {ordinal}: {status}")
    }

    pub fn asks(tool: &str, rule: &str) -> String {
        format!("{tool} asks before it runs ({rule}).")
    }

    pub fn replaces(lines: u64) -> String {
        format!("It removes or replaces {lines} lines.")
    }

    pub fn retrying(attempt: u32, seconds: u64, message: &str) -> String {
        format!("The provider failed {attempt} times ({message}); the next attempt is in {seconds} s.")
    }
}

pub mod compare {
    pub const TITLE: &str = "Files that each agent reads";
    pub const NO_ROOT: &str =
        "This workspace has no directory. Give it one with `foreword workspace update --root DIR`.";
    pub const PATH: &str = "Directory in the workspace";
    pub const READING: &str = "When a tool reads this file";
    pub const COMPARE: &str = "Compare";
    pub const COMPARE_TIP: &str = "Compare again in this directory";
    pub const FILE: &str = "File";
    pub const LOST: &str = "Lost";
    pub const TOKENS: &str = "Tokens";
    pub const NO_FILES: &str = "No agent finds an instruction file here.";
    pub const NO_DIFFERENCES: &str = "All agents read the same.";

    pub fn lost(bytes: u64) -> String {
        format!("{bytes} bytes")
    }
}
