//! Instruction files of one agent in every directory of a tree.
//!
//! Most directories have no files of their own and share the result of the nearest directory that has, so one
//! of them is resolved for all. If the result depends on the directory itself (rules with globs, imports
//! below the working directory), each one is resolved.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::profile::{FrontMatterRule, ImportBounds};
use instructions::{Cache, FileScope, FileSettings, Outcome, Profile, Request, Resolution, ResolveError};

use crate::loss::{self, LostFile};
use crate::tree::Tree;

/// Instruction files of an agent in the directories of a tree.
#[derive(Debug)]
pub struct Effective {
    /// Profile of the agent.
    pub profile: &'static Profile,
    /// Distinct results, in the order of the first directory of each.
    pub sets: Vec<EffectiveSet>,
    /// Index of the set of each directory of the tree; `None` if it cannot be read.
    pub of_directories: Vec<Option<usize>>,
    /// Directories that cannot be read, with the reason.
    pub problems: Vec<(PathBuf, String)>,
}

/// Result shared by several directories.
#[derive(Debug)]
pub struct EffectiveSet {
    /// Resolution of the first of these directories.
    pub resolution: Arc<Resolution>,
    /// Lost files.
    pub lost: Vec<LostFile>,
    /// Number of directories with this result.
    pub directories: usize,
}

impl EffectiveSet {
    /// Returns the number of lost bytes.
    pub fn lost_bytes(&self) -> u64 {
        self.lost.iter().map(|file| file.bytes).sum()
    }
}

/// Resolves the instruction files of an agent in every directory of a tree. Fails if the agent would not
/// start in one of them.
pub fn effective(tree: &Tree, settings: &FileSettings) -> Result<Effective, ResolveError> {
    resolve_tree(tree, settings, BrokenSettings::Fail)
}

/// Like [`effective`], but directories in which the agent would not start are problems.
pub(crate) fn effective_where_it_starts(
    tree: &Tree,
    settings: &FileSettings,
) -> Result<Effective, ResolveError> {
    resolve_tree(tree, settings, BrokenSettings::AreProblems)
}

/// Effect of a settings file with which the agent would not start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BrokenSettings {
    Fail,
    AreProblems,
}

fn resolve_tree(
    tree: &Tree,
    settings: &FileSettings,
    broken: BrokenSettings,
) -> Result<Effective, ResolveError> {
    let cache = Cache::new();
    let mut answers =
        Answers { tree, settings, cache: &cache, broken, of: vec![None; tree.directories().len()] };
    let special = special_directories(tree, settings);
    // Two rounds are needed: whether plain directories can share a result is known only once the directory above them
    // has been resolved.
    let own: Vec<usize> = (0..special.len()).filter(|index| special[*index] == *index).collect();
    answers.ask(&own)?;
    // The special directory itself cannot represent the plain ones below it: some agents read certain names only in the
    // working directory. The first plain directory does, unless the special one could not be read.
    let mut speakers: HashMap<usize, usize> = HashMap::new();
    let mut asked = Vec::new();
    for (index, above) in special.iter().copied().enumerate() {
        if index == above {
            continue;
        }
        let depends = match &answers.of[above] {
            Some(Ok(resolution)) => depends_on_directory(resolution, settings.profile),
            _ => true,
        };
        if depends {
            asked.push(index);
        } else if let Entry::Vacant(speaker) = speakers.entry(above) {
            speaker.insert(index);
            asked.push(index);
        }
    }
    answers.ask(&asked)?;
    for (index, above) in special.iter().enumerate() {
        if answers.of[index].is_none()
            && let Some(speaker) = speakers.get(above)
        {
            answers.of[index] = answers.of[*speaker].clone();
        }
    }
    Ok(answers.sorted())
}

/// Returns for each directory the nearest one, at or above it, whose result may differ from that of its
/// parent.
fn special_directories(tree: &Tree, settings: &FileSettings) -> Vec<usize> {
    let mut special: Vec<usize> = Vec::with_capacity(tree.directories().len());
    for (index, directory) in tree.directories().iter().enumerate() {
        // The home directory is special even without files, because profiles treat it differently from other ancestors:
        // its folders hold the user's own files.
        let is_home = settings.homes.user() == Some(&directory.path);
        special.push(match directory.parent {
            Some(parent) if !is_home && !directory.concerns.contain(settings.profile) => special[parent],
            _ => index,
        });
    }
    special
}

/// Returns true if a directory's files need not apply in a subdirectory without files of its own.
fn depends_on_directory(resolution: &Resolution, profile: &Profile) -> bool {
    let has_scope = |scope: FileScope| resolution.files.iter().any(|file| file.scope == scope);
    let was = |outcome: Outcome| resolution.decisions.iter().any(|decision| decision.outcome == outcome);
    let rules = profile.text.front_matter == FrontMatterRule::Conditions
        && (has_scope(FileScope::Rule) || was(Outcome::NotApplicable));
    // An import can lead into the subdirectory of one working directory and out of another one.
    let bounds = profile.imports.map(|imports| imports.bounds);
    let imports = bounds == Some(ImportBounds::WorkingDirectory)
        && (has_scope(FileScope::Import) || was(Outcome::OutsideRoot));
    rules || imports
}

type EffectiveResult = Result<Arc<Resolution>, String>;

struct Answers<'a> {
    tree: &'a Tree,
    settings: &'a FileSettings,
    cache: &'a Cache,
    broken: BrokenSettings,
    of: Vec<Option<EffectiveResult>>,
}

impl Answers<'_> {
    /// Resolves some directories on all processors.
    fn ask(&mut self, directories: &[usize]) -> Result<(), ResolveError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // Neighbouring directories go to the same thread, because they have most of their ancestors in common.
        let share = directories.len().div_ceil(threads).max(1);
        let tree = self.tree;
        let settings = self.settings;
        let cache = self.cache;
        let answers = std::thread::scope(|scope| {
            let running: Vec<_> = directories
                .chunks(share)
                .map(|share| {
                    let ask = |index: &usize| {
                        let cwd: &Path = &tree.directories()[*index].path;
                        instructions::resolve(&Request { cwd, settings }, Some(cache))
                    };
                    scope.spawn(move || share.iter().map(ask).collect::<Vec<_>>())
                })
                .collect();
            let joined = running
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.flatten().collect::<Vec<_>>()
        });
        for (index, answer) in directories.iter().zip(answers) {
            self.of[*index] = Some(match answer {
                Ok(resolution) => Ok(resolution),
                // The agent would not start, or no directory can be resolved with these settings.
                Err(error @ ResolveError::SettingsFile(_)) if self.broken == BrokenSettings::AreProblems => {
                    Err(error.to_string())
                }
                Err(error @ (ResolveError::SettingsFile(_) | ResolveError::Settings(_))) => {
                    return Err(error);
                }
                Err(error) => Err(error.to_string()),
            });
        }
        Ok(())
    }

    /// Returns the distinct results.
    fn sorted(self) -> Effective {
        let mut effective = Effective {
            profile: self.settings.profile,
            sets: Vec::new(),
            of_directories: Vec::with_capacity(self.of.len()),
            problems: Vec::new(),
        };
        let mut known: HashMap<SetKey, usize> = HashMap::new();
        // The cache returns the same value for equal chains, so comparing pointers avoids most comparisons of
        // texts.
        let mut known_values: HashMap<*const Resolution, usize> = HashMap::new();
        for (directory, answer) in self.tree.directories().iter().zip(self.of) {
            let resolution = match answer {
                Some(Ok(resolution)) => resolution,
                answer => {
                    let reason = answer.and_then(Result::err).unwrap_or_default();
                    effective.problems.push((directory.path.clone(), reason));
                    effective.of_directories.push(None);
                    continue;
                }
            };
            let place = *known_values.entry(Arc::as_ptr(&resolution)).or_insert_with(|| {
                let lost = loss::of(&resolution, self.settings);
                let kept = resolution.files.iter().map(|file| (file.path.clone(), file.kept_bytes)).collect();
                let key = (kept, lost.iter().map(|file| (file.path.clone(), file.bytes)).collect());
                *known.entry(key).or_insert_with(|| {
                    effective.sets.push(EffectiveSet {
                        resolution: Arc::clone(&resolution),
                        lost,
                        directories: 0,
                    });
                    effective.sets.len() - 1
                })
            });
            effective.sets[place].directories += 1;
            effective.of_directories.push(Some(place));
        }
        effective
    }
}

/// Identity of a set: files with their kept bytes, and lost files.
type SetKey = (Vec<(PathBuf, u64)>, Vec<(PathBuf, u64)>);
