//! A guard.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobMatcher;
use serde::Serialize;

use crate::pattern::CommandPattern;

/// Effect of a guard on a matching call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A person is asked.
    Ask,
    /// The call does not run.
    Deny,
}

/// Calls that a guard matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardKind {
    /// Commands of a shell.
    Command,
    /// Writing a file.
    Write,
    /// Reading a file.
    Read,
}

impl GuardKind {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

impl Effect {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A guard and the file that contains it.
#[derive(Debug, Clone, Serialize)]
pub struct Guard {
    /// Path of the file: relative to the root if it is inside.
    pub path: String,
    /// Line of the comment, from 1.
    pub line: usize,
    /// Effect on matching calls.
    pub effect: Effect,
    /// Calls that it may match.
    pub kind: GuardKind,
    /// Pattern as written.
    pub pattern: String,
    /// Reason as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Text of the rule that it enforces.
    pub rule: String,
    /// Directory that globs are relative to.
    #[serde(skip)]
    pub(crate) directory: PathBuf,
    #[serde(skip)]
    pub(crate) matcher: Matcher,
    /// Absolute path of the file.
    #[serde(skip)]
    pub file: PathBuf,
}

#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    Command(Arc<CommandPattern>),
    Glob(GlobMatcher),
}

impl Guard {
    /// Returns true if the guard matches a simple command.
    pub(crate) fn matches_command(&self, words: &[String]) -> bool {
        matches!(&self.matcher, Matcher::Command(pattern) if pattern.matches(words))
    }

    /// Returns true if the guard matches an absolute path.
    pub(crate) fn matches_path(&self, kind: GuardKind, path: &Path) -> bool {
        let Matcher::Glob(glob) = &self.matcher else { return false };
        self.kind == kind && path.strip_prefix(&self.directory).is_ok_and(|below| glob.is_match(below))
    }

    /// Returns the place and text of the rule.
    pub fn quote(&self) -> String {
        let because = self.because.as_ref().map_or_else(String::new, |because| format!(" ({because})"));
        format!("{}:{}: {}{because}", self.path, self.line, self.rule)
    }
}
