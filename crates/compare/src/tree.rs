//! A walk over a whole tree: its directories, and the instruction files and marks of roots in them.
//!
//! Files that version control ignores are passed over with the directories they are in, but for those that agents read
//! and users keep to themselves (`CLAUDE.local.md`). Links are named and never followed; nothing is opened.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};

use crate::names::{Agents, Judgement, Names};

/// Directories of version control, which are marks of roots and hold nothing to read.
const VERSION_CONTROL: &[&str] = &[".git", ".jj", ".hg", ".svn"];
/// Problems that are kept of a walk; more would say nothing new.
const MAX_PROBLEMS: usize = 100;

/// The directories of a tree, each before those in it.
#[derive(Debug)]
pub struct Tree {
    directories: Vec<TreeDirectory>,
    files: u64,
    problems: Vec<String>,
}

/// A directory of a tree.
#[derive(Debug)]
pub struct TreeDirectory {
    /// Its path.
    pub path: PathBuf,
    /// The place of the directory that it is in; none for the first.
    pub parent: Option<usize>,
    /// Names of instruction files in it, whoever reads them and whatever they are: files, links, pipes.
    pub instructions: Vec<OsString>,
    /// How many files are right in it.
    pub files: u64,
    /// The agents whose answer can be another one here than in the directory above.
    pub concerns: Agents,
}

/// Why there is no tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// It cannot be looked at.
    #[error("cannot look into {}: {source}", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
}

impl Tree {
    /// Walks over everything below a directory, with all processors.
    pub fn walk(root: &Path, names: &Names) -> Result<Self, TreeError> {
        match std::fs::metadata(root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(TreeError::NotADirectory { path: root.to_owned() }),
            Err(source) => return Err(TreeError::Directory { path: root.to_owned(), source }),
        }
        let parts = Mutex::new(Vec::new());
        walker(root).build_parallel().visit(&mut Collectors { names, parts: &parts });
        let parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Self::join(root, names, parts))
    }

    /// The directories, each before those in it.
    pub fn directories(&self) -> &[TreeDirectory] {
        &self.directories
    }

    /// Paths of all instruction files, by directory and name.
    pub fn instruction_files(&self) -> impl Iterator<Item = PathBuf> {
        let of_one = |directory: &TreeDirectory| {
            let path = directory.path.clone();
            directory.instructions.clone().into_iter().map(move |name| path.join(name))
        };
        self.directories.iter().flat_map(of_one)
    }

    /// How many entries were met that are no directories.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// What could not be looked at, in words.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    fn join(root: &Path, names: &Names, parts: Vec<Part>) -> Self {
        let mut tree = Self { directories: Vec::new(), files: 0, problems: Vec::new() };
        let (mut entries, mut counts) = (Vec::new(), Vec::new());
        let mut paths = vec![root.to_owned()];
        for part in parts {
            paths.extend(part.directories);
            entries.extend(part.entries);
            counts.extend(part.counts);
            tree.files += part.files;
            tree.problems.extend(part.problems);
        }
        tree.problems.sort();
        tree.problems.truncate(MAX_PROBLEMS);
        paths.sort_unstable();
        paths.dedup();
        let mut places: HashMap<PathBuf, usize> = HashMap::with_capacity(paths.len());
        for path in paths {
            let parent = path.parent().and_then(|parent| places.get(parent)).copied();
            places.insert(path.clone(), tree.directories.len());
            tree.directories.push(TreeDirectory {
                path,
                parent,
                instructions: Vec::new(),
                files: 0,
                concerns: Agents::default(),
            });
        }
        for (parent, count) in counts {
            if let Some(place) = places.get(&parent) {
                tree.directories[*place].files += count;
            }
        }
        for Entry { parent, name, judgement } in entries {
            if let Some(place) = places.get(&parent) {
                tree.directories[*place].note(name, &judgement);
            }
        }
        for directory in &mut tree.directories {
            directory.find_private(names);
            directory.instructions.sort_unstable();
            directory.instructions.dedup();
        }
        tree
    }
}

impl TreeDirectory {
    fn note(&mut self, name: OsString, judgement: &Judgement) {
        self.concerns.add(judgement.agents.unwrap_or_default());
        if judgement.is_instructions {
            self.instructions.push(name);
        }
    }

    /// What version control hides, agents see.
    fn find_private(&mut self, names: &Names) {
        for name in &names.private {
            let path = self.path.join(name);
            if path.symlink_metadata().is_ok() {
                self.note(name.into(), &names.judge(&path, name.as_ref()));
            }
        }
    }
}

/// How the tree is walked, so that others can be measured against the same walk without what we do in it.
pub fn walker(root: &Path) -> WalkBuilder {
    // A link is looked through where it is what was asked for; with an end like this it is the directory itself.
    let mut walker = WalkBuilder::new(root.join(""));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    walker.hidden(false).require_git(false).follow_links(false).threads(threads);
    // What is found must not depend on what somebody ignores on their machine.
    walker.git_global(false).ignore(false);
    walker
}

/// Whether an entry is a directory of version control, which a walk names and passes by.
pub fn is_version_control(entry: &DirEntry) -> bool {
    VERSION_CONTROL.iter().any(|known| entry.file_name() == *known)
}

/// What one thread has found.
#[derive(Default)]
struct Part {
    directories: Vec<PathBuf>,
    entries: Vec<Entry>,
    /// Files by directory; one may be there more than once.
    counts: Vec<(PathBuf, u64)>,
    files: u64,
    problems: Vec<String>,
}

struct Entry {
    parent: PathBuf,
    name: OsString,
    judgement: Judgement,
}

struct Collectors<'a> {
    names: &'a Names,
    parts: &'a Mutex<Vec<Part>>,
}

struct Collector<'a> {
    part: Part,
    names: &'a Names,
    parts: &'a Mutex<Vec<Part>>,
}

impl<'a> ParallelVisitorBuilder<'a> for Collectors<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(Collector { part: Part::default(), names: self.names, parts: self.parts })
    }
}

impl Drop for Collector<'_> {
    fn drop(&mut self) {
        let part = std::mem::take(&mut self.part);
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }
}

impl ParallelVisitor for Collector<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        match entry {
            Ok(entry) => self.collect(&entry),
            Err(error) => {
                if self.part.problems.len() < MAX_PROBLEMS {
                    self.part.problems.push(error.to_string());
                }
                WalkState::Continue
            }
        }
    }
}

impl Collector<'_> {
    fn collect(&mut self, entry: &DirEntry) -> WalkState {
        if entry.depth() == 0 {
            return WalkState::Continue;
        }
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = entry.path();
        let Some(parent) = path.parent() else { return WalkState::Continue };
        let judgement = self.names.judge(path, entry.file_name());
        if judgement.agents.is_some() || judgement.is_instructions {
            let name = entry.file_name().to_owned();
            self.part.entries.push(Entry { parent: parent.to_owned(), name, judgement });
        }
        if is_directory {
            if is_version_control(entry) {
                return WalkState::Skip;
            }
            self.part.directories.push(path.to_owned());
            return WalkState::Continue;
        }
        self.part.files += 1;
        // A thread mostly meets the files of a directory one after another.
        match self.part.counts.last_mut() {
            Some((last, count)) if last == parent => *count += 1,
            _ => self.part.counts.push((parent.to_owned(), 1)),
        }
        WalkState::Continue
    }
}
