//! Files that each agent reads in each directory with instruction files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use instructions::profile::RootOverride;
use instructions::{
    AgentsConfig, Cache, Decision, Diagnostic, DiagnosticCode, FOREWORD, FileSettings, LinkBounds, Outcome,
    Profile, ProjectBounds, Request, Resolution,
};
use parking_lot::Mutex;

/// Files that an agent reads in a directory.
pub(crate) struct Chain {
    pub(crate) directory: PathBuf,
    pub(crate) agent: &'static Profile,
    pub(crate) files: Vec<ChainFile>,
    /// Decisions about all files that are not used completely.
    pub(crate) decisions: Vec<Decision>,
    /// Diagnostics about invalid front matter.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Limit of bytes of project files.
    pub(crate) limit: u64,
}

/// A file that is read, at least in part.
pub(crate) struct ChainFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) kept: u64,
}

impl Chain {
    fn new(directory: &Path, agent: &'static Profile, resolution: &Resolution) -> Self {
        let files = resolution.files.iter().map(|file| ChainFile {
            path: file.path.clone(),
            bytes: file.bytes,
            kept: file.kept_bytes,
        });
        // Most decisions are about names that do not exist. A large tree has millions of them, so only those that a
        // rule reads are kept.
        let is_of_interest =
            |decision: &&Decision| !matches!(decision.outcome, Outcome::Used | Outcome::Absent);
        let is_front_matter =
            |diagnostic: &&Diagnostic| diagnostic.code == DiagnosticCode::InvalidFrontMatter;
        Self {
            directory: directory.to_owned(),
            agent,
            files: files.collect(),
            decisions: resolution.decisions.iter().filter(is_of_interest).cloned().collect(),
            diagnostics: resolution.diagnostics.iter().filter(is_front_matter).cloned().collect(),
            limit: resolution.limit_bytes,
        }
    }

    /// Returns the files that the agent reads here, and how. Files dropped because of the limit are included,
    /// because the agent should read them.
    pub(crate) fn readings(&self) -> impl Iterator<Item = (&Path, Reading)> {
        let whole = self.files.iter().map(|file| {
            let is_cut = file.kept < file.bytes;
            (&*file.path, if is_cut { Reading::Cut { kept: file.kept } } else { Reading::Whole })
        });
        // A file can have several decisions, for example as a name and as an import. One that is already listed above
        // is read, whatever happened to it elsewhere.
        let others = self.decisions.iter().filter_map(|decision| {
            let is_listed = || self.files.iter().any(|file| file.path == decision.path);
            let reading = match decision.outcome {
                Outcome::OverBudget if !is_listed() => Reading::Cut { kept: 0 },
                Outcome::Duplicate => Reading::Whole,
                Outcome::OutsideRoot | Outcome::TooDeep if !is_listed() => Reading::NotImported,
                Outcome::NotApplicable if decision.waits => Reading::Later,
                _ => return None,
            };
            Some((&*decision.path, reading))
        });
        whole.chain(others)
    }
}

/// Way in which an agent reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Whole,
    /// Only the first bytes.
    Cut {
        kept: u64,
    },
    /// Later, when a path matches its front matter.
    Later,
    /// Not at all here, because the import is not followed.
    NotImported,
}

/// Resolves every directory for every agent. Settings of this machine do not count, so that the result is the
/// same everywhere.
pub(crate) fn resolve(
    directories: &BTreeSet<PathBuf>,
    agents: &[&'static Profile],
    root: &Path,
    config: &AgentsConfig,
) -> Vec<Chain> {
    // Profiles are turned into settings once per agent rather than once per directory, and all threads share one cache,
    // because neighbouring directories have the same ancestors.
    let settings: Vec<FileSettings> = agents.iter().map(|agent| settings(agent, root, config)).collect();
    let work: Vec<(&PathBuf, &FileSettings)> = directories
        .iter()
        .flat_map(|directory| settings.iter().map(move |settings| (directory, settings)))
        .collect();
    let cache = Cache::new();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(work.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut chains = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((directory, settings)) = work.get(index) else { break };
                    let request = Request { cwd: directory, settings };
                    // The directory may have been removed since the walk.
                    if let Ok(resolution) = instructions::resolve(&request, Some(&cache)) {
                        chains.push((index, Chain::new(directory, settings.profile, &resolution)));
                    }
                }
                done.lock().extend(chains);
            });
        }
    });
    let mut chains = done.into_inner();
    // The threads finish in any order. Sorting by index makes the report the same on every run.
    chains.sort_by_key(|(index, _)| *index);
    chains.into_iter().map(|(_, chain)| chain).collect()
}

pub(crate) fn settings(agent: &'static Profile, root: &Path, config: &AgentsConfig) -> FileSettings {
    let mut settings = FileSettings::of(agent);
    if *agent == FOREWORD {
        settings.agents.merge(config);
    }
    // Agents that search for the root in their own way could leave the checked project and read files of this machine.
    // The bounds keep them in it, while links are still judged as the agent does.
    if agent.search.root_override == RootOverride::Ignored {
        settings.bounds = ProjectBounds::Workspace(root.to_owned());
        settings.links = LinkBounds::OfAgent;
    }
    settings
}
