//! A walk over a whole tree: its directories, and the instruction files and marks of roots in them.
//!
//! Directories that version control ignores are passed over with all that is in them. Files that it ignores elsewhere are not
//! counted, but instruction files among them are found: agents read those. Links are named and never followed; nothing but
//! the patterns of what is ignored is opened.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::ignored::{Ignored, MAX_PATTERNS_BYTES};
use crate::names::{Agents, Judgement, Names};

/// Directories of version control, which are marks of roots and hold nothing to read.
const VERSION_CONTROL: &[&str] = &[".git", ".jj", ".hg", ".svn"];
const GITIGNORE: &str = ".gitignore";
const EXCLUDE: &str = ".git/info/exclude";
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
        let mut parts = collect(&walker(root), names);
        let unseen = find_ignored(root, names, &parts);
        for directory in &unseen.folders {
            let mut walker = walker(directory);
            walker.git_ignore(false).git_exclude(false).parents(false);
            parts.extend(collect(&walker, names));
        }
        parts.push(unseen.part);
        Ok(Self::join(root, parts))
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

    fn join(root: &Path, parts: Vec<Part>) -> Self {
        let mut tree = Self { directories: Vec::new(), files: 0, problems: Vec::new() };
        let mut entries = Vec::new();
        let mut counts = Vec::new();
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
}

fn collect(walker: &WalkBuilder, names: &Names) -> Vec<Part> {
    let parts = Mutex::new(Vec::new());
    walker.build_parallel().visit(&mut Collectors { names, parts: &parts });
    parts.into_inner()
}

/// What a walk did not see although agents do.
#[derive(Default)]
struct Unseen {
    part: Part,
    /// Folders that are ignored and whose names are those of agents.
    folders: Vec<PathBuf>,
}

fn find_ignored(root: &Path, names: &Names, parts: &[Part]) -> Unseen {
    let above = root.ancestors().skip(1).map(|above| above.join(GITIGNORE));
    let met = parts.iter().flat_map(|part| &part.ignore_files).cloned();
    let patterns = above.chain(met).filter_map(|file| Some((file.parent()?.to_owned(), file)));
    let repositories = parts.iter().flat_map(|part| &part.entries).filter(|entry| entry.name == ".git");
    let repositories = root.ancestors().chain(repositories.map(|entry| entry.parent.as_path()));
    let excluded = repositories.map(|top| (top.to_owned(), top.join(EXCLUDE)));
    let ignored = Ignored::read(patterns.chain(excluded), &names.spelled);
    let mut unseen = Unseen::default();
    if ignored == Ignored::default() {
        return unseen;
    }
    let seen: HashSet<(&Path, &OsStr)> = parts
        .iter()
        .flat_map(|part| &part.entries)
        .map(|entry| (entry.parent.as_path(), entry.name.as_os_str()))
        .collect();
    let directories = parts.iter().flat_map(|part| part.directories.iter().map(PathBuf::as_path));
    for directory in directories.chain([root]) {
        for name in ignored.names_in(directory) {
            let path = directory.join(name);
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if seen.contains(&(directory, OsStr::new(name))) || VERSION_CONTROL.contains(&name) {
                continue;
            }
            let judgement = names.judge(&path, OsStr::new(name));
            if metadata.is_dir() {
                unseen.part.directories.push(path.clone());
                unseen.folders.push(path);
            }
            unseen.part.entries.push(Entry { parent: directory.to_owned(), name: name.into(), judgement });
        }
    }
    unseen
}

/// How the tree is walked, so that others can be measured against the same walk without what we do in it.
pub fn walker(root: &Path) -> WalkBuilder {
    // A link is looked through where it is what was asked for; with an end like this it is the directory itself.
    let mut walker = WalkBuilder::new(root.join(""));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    walker.hidden(false).require_git(false).follow_links(false).threads(threads);
    // What is found must not depend on what somebody ignores on their machine.
    walker.git_global(false).ignore(false);
    // The walk itself reads the patterns of each directory, and would wait for a pipe in their place for ever.
    walker.git_ignore(has_readable_patterns(root)).git_exclude(has_readable_patterns(root));
    walker.parents(root.ancestors().skip(1).all(has_readable_patterns));
    walker.filter_entry(|entry| {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        !is_directory || entry.depth() == 0 || has_readable_patterns(entry.path())
    });
    walker
}

/// Whether the patterns of what is ignored in a directory are files that can be read, or are not there.
fn has_readable_patterns(directory: &Path) -> bool {
    let is_readable = |name: &str| match directory.join(name).metadata() {
        Ok(metadata) => metadata.is_file() && metadata.len() <= MAX_PATTERNS_BYTES,
        Err(_) => true,
    };
    is_readable(GITIGNORE) && is_readable(EXCLUDE)
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
    /// Files of patterns that say what is ignored.
    ignore_files: Vec<PathBuf>,
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
        self.parts.lock().push(part);
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
        if entry.file_name() == GITIGNORE {
            self.part.ignore_files.push(path.to_owned());
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
