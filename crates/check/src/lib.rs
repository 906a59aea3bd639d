//! Checks of a tree's instruction files, with fixes.
//!
//! [`check`] walks a tree, resolves the instruction files of each agent in every directory that has any,
//! reads their texts, and applies the rules in [`RULES`]. The result is a [`CheckReport`] with findings and a
//! table of all files, their readers and their losses. Nothing outside the project counts, so that the result
//! is the same on every machine.
//!
//! ```
//! use check::{CheckSettings, CheckPolicy, CheckRequest, check};
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("AGENTS.md"), "See @nowhere.md for the rest.\n")?;
//! let policy = CheckPolicy::new(&CheckSettings::default(), &[])?;
//! let report = check(CheckRequest { directory: directory.path(), config: &Default::default(), policy })?;
//! assert!(report.findings.iter().any(|finding| finding.rule().code == "FW005"), "an import that is not there");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod baseline;
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
mod suppress;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use instructions::{AgentsConfig, FOREWORD, FileSettings};

pub use baseline::{Baseline, BaselineError};
pub use conflicts::conflicts;
pub use coverage::{CoverageReader, CoverageTime, FileCoverage};
pub use finding::Finding;
pub use fix::{FixError, FixedFile, fix};
pub use policy::{CheckPolicy, CheckSettings, PolicyError, RuleChoice};
pub use rule::{CheckRule, RULES, RuleId, Severity};

use crate::finding::Findings;
use crate::project::Project;

/// Parameters of a check.
#[derive(Debug)]
pub struct CheckRequest<'a> {
    /// Tree to check; absolute, without dots.
    pub directory: &'a Path,
    /// Settings of Foreword's own profile.
    pub config: &'a AgentsConfig,
    /// Enabled rules and agents.
    pub policy: CheckPolicy,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The tree cannot be walked.
    #[error(transparent)]
    Tree(#[from] compare::TreeError),
    /// The settings of Foreword's own profile are invalid.
    #[error(transparent)]
    Resolve(#[from] instructions::ResolveError),
}

/// Result of a check.
#[derive(Debug)]
pub struct CheckReport {
    /// Root of the project; the checked tree if it has none.
    pub root: PathBuf,
    /// Findings, by path and line.
    pub findings: Vec<Finding>,
    /// All instruction files.
    pub files: Vec<FileCoverage>,
    /// Names of the checked agents.
    pub agents: Vec<&'static str>,
    /// Number of findings suppressed by comments.
    pub suppressed: usize,
    /// Descriptions of comments that name no rule.
    pub notes: Vec<String>,
}

/// Findings about whole files with the same rule and message.
#[derive(Debug)]
pub struct FindingGroup<'a> {
    /// First finding.
    pub first: &'a Finding,
    /// Further findings.
    pub others: Vec<&'a Finding>,
}

impl CheckReport {
    /// Returns the findings, with equal ones about whole files joined, by their first occurrence.
    pub fn groups(&self) -> Vec<FindingGroup<'_>> {
        let mut groups: Vec<FindingGroup<'_>> = Vec::new();
        let mut places: HashMap<(RuleId, Severity, &str), usize> = HashMap::new();
        for finding in &self.findings {
            let key = (finding.rule, finding.severity, finding.message.as_str());
            // Findings about a line keep their place: readers want to go there.
            match places.get(&key).filter(|_| finding.line.is_none()) {
                Some(place) => groups[*place].others.push(finding),
                None => {
                    if finding.line.is_none() {
                        places.insert(key, groups.len());
                    }
                    groups.push(FindingGroup { first: finding, others: Vec::new() });
                }
            }
        }
        groups
    }

    /// Returns a path relative to the root, for output that is read on other machines.
    pub fn relative(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        if below.as_os_str().is_empty() { ".".to_owned() } else { below.to_string_lossy().into_owned() }
    }

    /// Returns the number of findings with a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// Checks a tree.
pub fn check(request: CheckRequest<'_>) -> Result<CheckReport, CheckError> {
    let CheckRequest { directory, config, policy } = request;
    // Texts in a subtree refer to files of the whole project, so the root is found first even if only a part is
    // checked. Globs in `check.ignore` are relative to it as well.
    let root = root(directory, config)?;
    let policy = policy.below(&root);
    let project = Project::read(directory, &root, config, &policy)?;
    let mut findings = Findings::new(&policy);
    rules::run(&project, &policy, &mut findings);
    let suppressed = suppress::apply(&project, findings.sorted());
    let mut report = CheckReport {
        findings: Vec::new(),
        files: coverage::of(&project),
        agents: project.agents.iter().map(|agent| agent.name).collect(),
        root,
        suppressed: suppressed.count,
        notes: suppressed.notes,
    };
    let mut findings = suppressed.findings;
    // A text may have thousands of findings, so its lines are found once.
    let mut lines: HashMap<PathBuf, Vec<&str>> = HashMap::new();
    let line = |finding: &Finding| {
        let document = project.document(&finding.path)?;
        let lines = lines.entry(finding.path.clone()).or_insert_with(|| document.text.lines().collect());
        lines.get(finding.line?.checked_sub(1)?).copied()
    };
    finding::set_fingerprints(&mut findings, |path| report.relative(path), line);
    report.findings = findings;
    Ok(report)
}

/// Returns the root of the project around a directory, or the directory itself.
fn root(directory: &Path, config: &AgentsConfig) -> Result<PathBuf, CheckError> {
    let mut settings = FileSettings::of(&FOREWORD);
    // The agents disagree about roots. Foreword's own profile decides, with the root markers of its settings.
    settings.agents.merge(config);
    let resolution =
        instructions::resolve(&instructions::Request { cwd: directory, settings: &settings }, None)?;
    Ok(resolution.root.clone().unwrap_or_else(|| directory.to_owned()))
}
