//! Result of one check.

use serde::Serialize;

use crate::output::terminal::{columns, wrap};

/// Indentation of messages.
const INDENT: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Ok,
    /// Works, but deserves attention.
    Warn,
    /// Must be fixed.
    Fail,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) message: String,
    /// Advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, message: message.into(), hint: None }
    }

    pub(super) fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warn, ..Self::ok(name, message) }
    }

    pub(super) fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, ..Self::ok(name, message) }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Formats the result on one line, and the advice on another.
    pub(super) fn lines(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        };
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("      hint: {hint}\n"));
        let line = format!("{verdict:<5} {}: {}", self.name, self.message);
        // The advice may contain a command to copy, so it stays on one line.
        format!("{}\n{hint}", wrap(&line, columns(), INDENT))
    }
}
