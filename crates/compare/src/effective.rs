//! What an agent gets in every directory of a tree.
//!
//! Most directories have nothing of their own and get what all others below the same nearest directory get that has: one
//! of them is asked for all. Where the answer depends on the directory itself (rules that apply to some paths, imports that
//! must be below the working directory), each is asked.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::profile::{FrontMatterRule, ImportBounds};
use instructions::{Cache, FileScope, FileSettings, Outcome, Profile, Request, Resolution, ResolveError};

use crate::loss::{self, LostFile};
use crate::tree::Tree;

/// What an agent gets in the directories of a tree.
#[derive(Debug)]
pub struct Effective {
    /// The agent's rules.
    pub profile: &'static Profile,
    /// Different things that it gets, in the order of the first directory of each.
    pub sets: Vec<EffectiveSet>,
    /// For each directory of the tree, the place of its set; none where it cannot be looked into.
    pub of_directories: Vec<Option<usize>>,
    /// Directories that cannot be looked into, and why.
    pub problems: Vec<(PathBuf, String)>,
}

/// What an agent gets in some directories.
#[derive(Debug)]
pub struct EffectiveSet {
    /// As it was found in the first of them.
    pub resolution: Arc<Resolution>,
    /// What is lost there.
    pub lost: Vec<LostFile>,
    /// How many directories get this.
    pub directories: usize,
}

impl EffectiveSet {
    /// Bytes that are lost.
    pub fn lost_bytes(&self) -> u64 {
        self.lost.iter().map(|file| file.bytes).sum()
    }
}

/// Finds out what an agent gets in every directory of a tree. Fails where the agent itself would not start.
pub fn effective(tree: &Tree, settings: &FileSettings) -> Result<Effective, ResolveError> {
    let cache = Cache::new();
    let mut answers = Answers { tree, settings, cache: &cache, of: vec![None; tree.directories().len()] };
    let special = special_directories(tree, settings);
    let own: Vec<usize> = (0..special.len()).filter(|index| special[*index] == *index).collect();
    answers.ask(&own)?;
    // The first plain directory below each of those speaks for the others; where it cannot, each is asked.
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

/// For each directory the nearest at or above it whose answer can be another one than that of the directory above.
fn special_directories(tree: &Tree, settings: &FileSettings) -> Vec<usize> {
    let mut special: Vec<usize> = Vec::with_capacity(tree.directories().len());
    for (index, directory) in tree.directories().iter().enumerate() {
        let is_home = settings.homes.user() == Some(&directory.path);
        special.push(match directory.parent {
            Some(parent) if !is_home && !directory.concerns.contain(settings.profile) => special[parent],
            _ => index,
        });
    }
    special
}

/// Whether what applies in a directory need not apply in one below it that has no files of its own.
fn depends_on_directory(resolution: &Resolution, profile: &Profile) -> bool {
    let has_scope = |scope: FileScope| resolution.files.iter().any(|file| file.scope == scope);
    let was = |outcome: Outcome| resolution.decisions.iter().any(|decision| decision.outcome == outcome);
    let rules = profile.front_matter == FrontMatterRule::Conditions
        && (has_scope(FileScope::Rule) || was(Outcome::NotApplicable));
    let bounds = profile.imports.map(|imports| imports.bounds);
    let imports = bounds == Some(ImportBounds::WorkingDirectory)
        && (has_scope(FileScope::Import) || was(Outcome::OutsideRoot));
    rules || imports
}

type Answer = Result<Arc<Resolution>, String>;

struct Answers<'a> {
    tree: &'a Tree,
    settings: &'a FileSettings,
    cache: &'a Cache,
    of: Vec<Option<Answer>>,
}

impl Answers<'_> {
    /// Asks for some directories, with all processors.
    fn ask(&mut self, directories: &[usize]) -> Result<(), ResolveError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
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
                // The agent would not start at all, or nothing of what was asked can be done.
                Err(error @ (ResolveError::SettingsFile(_) | ResolveError::Settings(_))) => {
                    return Err(error);
                }
                Err(error) => Err(error.to_string()),
            });
        }
        Ok(())
    }

    /// The different answers.
    fn sorted(self) -> Effective {
        let mut effective = Effective {
            profile: self.settings.profile,
            sets: Vec::new(),
            of_directories: Vec::with_capacity(self.of.len()),
            problems: Vec::new(),
        };
        let mut known: HashMap<Key, usize> = HashMap::new();
        // Answers that are one value need not be compared.
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

/// What tells one set from another: files with what is there of each, and what is lost.
type Key = (Vec<(PathBuf, u64)>, Vec<(PathBuf, u64)>);
