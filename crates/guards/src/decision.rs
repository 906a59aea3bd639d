//! Decisions about tool calls.

use std::path::Path;

use serde::Serialize;

use crate::guard::{Effect, Guard};

/// A call that guards may match.
#[derive(Debug, Clone, Copy)]
pub enum Action<'a> {
    /// A line for a shell.
    Command(&'a str),
    /// Writing a file; the path is absolute, without dots.
    Write(&'a Path),
    /// Reading a file; the path is absolute, without dots.
    Read(&'a Path),
}

/// Verdict about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No guard matches.
    Allow,
    /// A person decides.
    Ask,
    /// The call does not run.
    Deny,
}

/// Verdict about a call, with the guard that caused it.
#[derive(Debug, Clone, Serialize)]
#[must_use]
pub struct Decision {
    /// The verdict.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// The guard. `None` if no guard matches, or if a command cannot be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
}

impl Default for Decision {
    /// No guard matches.
    fn default() -> Self {
        Self::ALLOW
    }
}

impl Decision {
    pub(crate) const ALLOW: Self = Self { verdict: Verdict::Allow, guard: None };
    pub(crate) const UNKNOWN: Self = Self { verdict: Verdict::Ask, guard: None };

    pub(crate) fn of(guard: &Guard) -> Self {
        let verdict = match guard.effect {
            Effect::Ask => Verdict::Ask,
            Effect::Deny => Verdict::Deny,
        };
        Self { verdict, guard: Some(guard.clone()) }
    }

    /// Returns the stronger of two decisions, the first if they are equal.
    pub fn or_stronger(self, other: Self) -> Self {
        let strength = |decision: &Self| (decision.verdict, decision.guard.is_some());
        if strength(&other) > strength(&self) { other } else { self }
    }

    /// Returns the reason in words. `None` if the call is allowed.
    pub fn reason(&self) -> Option<String> {
        match (self.verdict, &self.guard) {
            (Verdict::Allow, _) => None,
            (Verdict::Deny, Some(guard)) => Some(format!("denied by {}", guard.quote())),
            (Verdict::Deny, None) => Some("denied by a guard".to_owned()),
            (Verdict::Ask, Some(guard)) => Some(format!("approval required by {}", guard.quote())),
            (Verdict::Ask, None) => {
                let reason = "the command cannot be checked against the guards that hold here";
                Some(format!("approval required: {reason}"))
            }
        }
    }
}
