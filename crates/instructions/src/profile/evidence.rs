//! Which agent a profile speaks of, and how we know.

use serde::Serialize;

/// The agent whose rules a profile has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// What people call it.
    pub title: &'static str,
    /// The version that the rules were checked against; none where they are only documented.
    pub version: Option<&'static str>,
    /// The rules in words, each with how it is known.
    pub rules: &'static [Rule],
}

impl Agent {
    /// Nobody's: what a profile begins with.
    pub(crate) const NOBODY: Self = Self { title: "", version: None, rules: &[] };
}

/// One rule of an agent in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// What it is about.
    pub about: &'static str,
    /// What it says.
    pub says: &'static str,
    /// How it is known.
    pub evidence: Evidence,
}

impl Rule {
    pub(crate) const fn observed(about: &'static str, says: &'static str) -> Self {
        Self { about, says, evidence: Evidence::Observed }
    }

    pub(crate) const fn source(about: &'static str, says: &'static str) -> Self {
        Self { about, says, evidence: Evidence::Source }
    }

    pub(crate) const fn defined(about: &'static str, says: &'static str) -> Self {
        Self { about, says, evidence: Evidence::Defined }
    }

    pub(crate) const fn documented(about: &'static str, says: &'static str) -> Self {
        Self { about, says, evidence: Evidence::Documented }
    }
}

/// How a rule is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The agent was run, and what it sent to its model was recorded.
    Observed,
    /// It was read in the agent's code.
    Source,
    /// The agent's documentation says so.
    Documented,
    /// It is defined here.
    Defined,
}
