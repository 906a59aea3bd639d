//! What is wrong with the instruction files of a tree, for which agent, and how to mend it.
//!
//! [`check`] walks over a tree, asks for every directory with instruction files what each agent reads there, reads the texts
//! and holds all of it against the rules of one table, [`RULES`]. The answer is a [`Report`]: findings, and a table of every
//! file with the agents that read it and what each loses. Nothing outside of the project counts, so that the answer is the
//! same on every machine.
//!
//! ```
//! use check::{CheckSettings, Policy, Request, check};
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("AGENTS.md"), "See @nowhere.md for the rest.\n")?;
//! let policy = Policy::new(&CheckSettings::default(), &[])?;
//! let report = check(Request { directory: directory.path(), config: &Default::default(), policy })?;
//! assert!(report.findings.iter().any(|finding| finding.rule().code == "FW005"), "an import that is not there");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod chains;
mod conflicts;
mod coverage;
mod document;
mod finding;
mod fix;
pub mod format;
mod ignored;
mod markdown;
mod others;
mod policy;
mod project;
mod rule;
mod rules;
mod search;
mod shadowed;
mod shell;

use std::path::{Path, PathBuf};

use instructions::{AgentsConfig, FOREWORD, FileSettings};

pub use conflicts::conflicts;
pub use coverage::{FileCoverage, Reader, When};
pub use finding::Finding;
pub use fix::{FixError, Fixed, fix};
pub use policy::{CheckSettings, Policy, PolicyError};
pub use rule::{RULES, Rule, RuleId, Severity};

use crate::finding::Findings;
use crate::project::Project;

/// What is asked.
#[derive(Debug)]
pub struct Request<'a> {
    /// The tree; absolute, without dots.
    pub directory: &'a Path,
    /// What settings say about our own profile.
    pub config: &'a AgentsConfig,
    /// Which rules and agents count.
    pub policy: Policy,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It cannot be walked over.
    #[error(transparent)]
    Tree(#[from] compare::TreeError),
    /// Settings of our own profile contradict themselves.
    #[error(transparent)]
    Resolve(#[from] instructions::ResolveError),
}

/// What was found.
#[derive(Debug)]
pub struct Report {
    /// The project's root, or the tree where it has none.
    pub root: PathBuf,
    /// By path and line.
    pub findings: Vec<Finding>,
    /// Every instruction file.
    pub files: Vec<FileCoverage>,
    /// Names of the agents that were judged.
    pub agents: Vec<&'static str>,
}

impl Report {
    /// How many findings have a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// Checks a tree.
pub fn check(request: Request<'_>) -> Result<Report, CheckError> {
    let Request { directory, config, policy } = request;
    let root = root(directory, config)?;
    let policy = policy.below(&root);
    let project = Project::read(directory, &root, config, &policy)?;
    let mut findings = Findings::new(&policy);
    rules::run(&project, &policy, &mut findings);
    Ok(Report {
        findings: findings.sorted(),
        files: coverage::of(&project),
        agents: project.agents.iter().map(|agent| agent.name).collect(),
        root,
    })
}

/// The root of the project that a directory is in; the directory itself where there is none.
fn root(directory: &Path, config: &AgentsConfig) -> Result<PathBuf, CheckError> {
    let mut settings = FileSettings::of(&FOREWORD);
    settings.agents.merge(config);
    let resolution =
        instructions::resolve(&instructions::Request { cwd: directory, settings: &settings }, None)?;
    Ok(resolution.root.clone().unwrap_or_else(|| directory.to_owned()))
}
