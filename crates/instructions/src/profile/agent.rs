//! The agent that a profile describes, and the evidence for its rules.

use serde::Serialize;

/// The program whose rules a profile holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// Name of the product.
    pub title: &'static str,
    /// Version that the rules were checked against, or `None` if they are only documented.
    pub version: Option<&'static str>,
    /// Rules in words, each with its evidence.
    pub rules: &'static [Rule],
    /// Files that keep it from starting.
    pub hazards: StartupHazards,
    /// Paths that show that the agent is in use.
    pub traces: Traces,
    /// Places in which the installed version is written.
    pub installed: &'static [Installation],
}

/// Place in which the installed version of an agent is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installation {
    /// The package.json of a package of npm.
    Npm(&'static str),
}

impl Agent {
    /// Placeholder for the profile that others are derived from.
    pub(crate) const UNNAMED: Self = Self {
        title: "",
        version: None,
        rules: &[],
        hazards: StartupHazards::NONE,
        traces: Traces { in_user_home: &[], in_project: &[] },
        installed: &[],
    };
}

/// One rule of an agent in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Subject of the rule.
    pub about: &'static str,
    /// The rule itself.
    pub says: &'static str,
    /// Source of the claim.
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

/// Source of a claim about an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The agent was run, and its requests to the model were recorded.
    Observed,
    /// The agent's source code.
    Source,
    /// The agent's documentation.
    Documented,
    /// This project, for its own profiles.
    Defined,
}

/// Special files under an instruction file's name that keep an agent from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartupHazards {
    /// A named pipe blocks it forever.
    pub pipe: bool,
    /// A symlink that leads back to itself crashes it.
    pub link_circle: bool,
}

impl StartupHazards {
    pub(in crate::profile) const NONE: Self = Self { pipe: false, link_circle: false };
    pub(in crate::profile) const PIPE: Self = Self { pipe: true, ..Self::NONE };
}

/// Paths that show that an agent is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traces {
    /// Paths below the user's home directory, in addition to the agent's own directory.
    pub in_user_home: &'static [&'static str],
    /// Paths below a project directory that no other agent creates.
    pub in_project: &'static [&'static str],
}
