//! Walk over a tree: its directories, instruction files and root markers.
//!
//! Directories ignored by version control are skipped with their contents. Other ignored files are not
//! counted, but instruction files among them are found, because agents read those. Links are reported and
//! never followed; only files of ignore patterns are opened.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};
use instructions::{Snapshot, SnapshotEntry};
use parking_lot::Mutex;

use crate::ignored::{Ignored, MAX_PATTERNS_BYTES};
use crate::names::{Agents, Judgement, Names};

/// Directories of version control. They mark roots and contain no instructions.
const VERSION_CONTROL: &[&str] = &[".git", ".jj", ".hg", ".svn"];
const GITIGNORE: &str = ".gitignore";
const EXCLUDE: &str = ".git/info/exclude";
/// Most problems kept of a walk.
const MAX_PROBLEMS: usize = 100;

/// Directories of a tree, parents first.
#[derive(Debug)]
pub struct Tree {
    directories: Vec<TreeDirectory>,
    files: u64,
    problems: Vec<String>,
}

/// A directory of a tree.
#[derive(Debug)]
pub struct TreeDirectory {
    pub path: PathBuf,
    /// Index of the parent; `None` for the first directory.
    pub parent: Option<usize>,
    /// Names of instruction files of any agent in it: files, links, pipes.
    pub instructions: Vec<OsString>,
    /// Number of direct files.
    pub files: u64,
    /// Agents whose result may differ from that in the parent.
    pub concerns: Agents,
}

/// Reason why a tree cannot be walked.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The directory is inaccessible.
    #[error("cannot look into {}: {source}", path.display())]
    Directory {
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The path is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
}

impl Tree {
    /// Walks everything below a directory on all processors.
    pub fn walk(root: &Path, names: &Names) -> Result<Self, TreeError> {
        match std::fs::metadata(root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(TreeError::NotADirectory { path: root.to_owned() }),
            Err(source) => return Err(TreeError::Directory { path: root.to_owned(), source }),
        }
        let mut parts = collect(&walker(root), names);
        // The patterns are known only after the walk, so ignored instruction files are added in a second pass. It walks
        // the ignored folders of agents without patterns, since everything in them is ignored.
        let unseen = find_ignored(root, names, &parts);
        for directory in &unseen.folders {
            let mut walker = walker(directory);
            walker.git_ignore(false).git_exclude(false).parents(false);
            parts.extend(collect(&walker, names));
        }
        parts.push(unseen.part);
        Ok(Self::join(root, parts))
    }

    /// Returns the directories and instruction files of a snapshot. What version control would ignore counts, because
    /// it is part of the snapshot.
    pub fn of_snapshot(snapshot: &Snapshot, names: &Names) -> Self {
        let mut part = Part::default();
        let is_version_control =
            |name: &OsStr| VERSION_CONTROL.iter().any(|known| name.as_bytes() == known.as_bytes());
        for (path, entry) in snapshot.entries() {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let below = path.strip_prefix(snapshot.top()).unwrap_or(&path);
            if below == Path::new("")
                || below.parent().is_some_and(|above| above.iter().any(is_version_control))
            {
                continue;
            }
            let judgement = names.judge(&path, name);
            if judgement.agents.is_some() || judgement.is_instructions {
                part.entries.push(TreeEntry { parent: parent.to_owned(), name: name.to_owned(), judgement });
            }
            if entry != SnapshotEntry::Directory {
                part.files += 1;
            } else if !is_version_control(name) {
                part.directories.push(path);
            }
        }
        Self::join(snapshot.top(), vec![part])
    }

    /// Returns a directory on disk with its direct entries, whatever version control ignores.
    pub(crate) fn of_directory(path: &Path, names: &Names) -> Self {
        let mut part = Part::default();
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let judgement = names.judge(&path, &name);
            if let Some(parent) = path.parent()
                && (judgement.agents.is_some() || judgement.is_instructions)
            {
                part.entries.push(TreeEntry { parent: parent.to_owned(), name, judgement });
            }
        }
        Self::join(path, vec![part])
    }

    /// Adds the directories of other trees.
    #[must_use]
    pub(crate) fn joined(mut self, others: Vec<Self>) -> Self {
        if !others.is_empty() {
            self.directories.extend(others.into_iter().flat_map(|other| other.directories));
            self.directories.sort_by(|one, other| one.path.cmp(&other.path));
            self.find_parents();
        }
        self
    }

    /// Adds directories that are missing, as if they were empty.
    #[must_use]
    pub fn with_directories<'a>(mut self, others: impl IntoIterator<Item = &'a Path>) -> Self {
        let known: HashSet<PathBuf> = self.directories.iter().map(|known| known.path.clone()).collect();
        let new = others.into_iter().filter(|path| !known.contains(*path)).map(|path| TreeDirectory {
            path: path.to_owned(),
            parent: None,
            instructions: Vec::new(),
            files: 0,
            concerns: Agents::default(),
        });
        self.directories.extend(new);
        self.directories.sort_by(|one, other| one.path.cmp(&other.path));
        self.find_parents();
        self
    }

    /// Keeps only a directory and everything below it.
    #[must_use]
    pub fn below(mut self, root: &Path) -> Self {
        self.directories.retain(|directory| directory.path.starts_with(root));
        self.find_parents();
        self
    }

    /// Removes directories with everything below them.
    #[must_use]
    pub fn without(mut self, others: &[PathBuf]) -> Self {
        if !others.is_empty() {
            let others: HashSet<&Path> = others.iter().map(PathBuf::as_path).collect();
            let is_left = |path: &Path| !path.ancestors().any(|above| others.contains(above));
            self.directories.retain(|directory| is_left(&directory.path));
            self.find_parents();
        }
        self
    }

    fn find_parents(&mut self) {
        let mut places: HashMap<PathBuf, usize> = HashMap::with_capacity(self.directories.len());
        for (index, directory) in self.directories.iter_mut().enumerate() {
            directory.parent = directory.path.parent().and_then(|parent| places.get(parent)).copied();
            places.insert(directory.path.clone(), index);
        }
    }

    /// Returns the directories, parents first.
    pub fn directories(&self) -> &[TreeDirectory] {
        &self.directories
    }

    /// Returns the paths of all instruction files, by directory and name.
    pub fn instruction_files(&self) -> impl Iterator<Item = PathBuf> {
        let of_one = |directory: &TreeDirectory| {
            let path = directory.path.clone();
            directory.instructions.clone().into_iter().map(move |name| path.join(name))
        };
        self.directories.iter().flat_map(of_one)
    }

    /// Returns the number of entries that are not directories.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns descriptions of entries that could not be read.
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
        // Threads return directories in any order. A parent sorts before its children, so one pass finds the index of
        // each parent.
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
        for TreeEntry { parent, name, judgement } in entries {
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

/// Instruction files that the walk skipped although agents read them.
#[derive(Default)]
struct Unseen {
    part: Part,
    /// Ignored folders with names of agents.
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
            // Another pattern may include the name again, in which case the walk has already found it.
            if seen.contains(&(directory, OsStr::new(name))) || VERSION_CONTROL.contains(&name) {
                continue;
            }
            let judgement = names.judge(&path, OsStr::new(name));
            if metadata.is_dir() {
                unseen.part.directories.push(path.clone());
                unseen.folders.push(path);
            }
            unseen.part.entries.push(TreeEntry {
                parent: directory.to_owned(),
                name: name.into(),
                judgement,
            });
        }
    }
    unseen
}

/// Returns the configured walker. Public so that benchmarks can measure the bare walk.
pub fn walker(root: &Path) -> WalkBuilder {
    // The trailing separator makes the walker follow a link given as the root, but no other link.
    let mut walker = WalkBuilder::new(root.join(""));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    walker.hidden(false).require_git(false).follow_links(false).threads(threads);
    // The result must not depend on a user's global ignore files.
    walker.git_global(false).ignore(false);
    // The walker reads ignore files itself and would block on a pipe in their place.
    walker.git_ignore(has_readable_patterns(root)).git_exclude(has_readable_patterns(root));
    walker.parents(root.ancestors().skip(1).all(has_readable_patterns));
    walker.filter_entry(|entry| {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        !is_directory || entry.depth() == 0 || has_readable_patterns(entry.path())
    });
    walker
}

/// Returns true if a directory's ignore files are regular files or do not exist.
fn has_readable_patterns(directory: &Path) -> bool {
    let is_readable = |name: &str| match directory.join(name).metadata() {
        Ok(metadata) => metadata.is_file() && metadata.len() <= MAX_PATTERNS_BYTES,
        Err(_) => true,
    };
    is_readable(GITIGNORE) && is_readable(EXCLUDE)
}

/// Returns true if an entry is a directory of version control, which the walk reports but does not enter.
pub fn is_version_control(entry: &DirEntry) -> bool {
    VERSION_CONTROL.iter().any(|known| entry.file_name() == *known)
}

/// Entries found by one thread.
#[derive(Default)]
struct Part {
    directories: Vec<PathBuf>,
    entries: Vec<TreeEntry>,
    /// Numbers of files by directory. A directory may occur repeatedly.
    counts: Vec<(PathBuf, u64)>,
    files: u64,
    problems: Vec<String>,
    /// Files of ignore patterns.
    ignore_files: Vec<PathBuf>,
}

struct TreeEntry {
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
        // The walker drops a visitor when its thread ends. Collecting per thread until then avoids taking the lock for
        // each entry.
        let part = std::mem::take(&mut self.part);
        self.parts.lock().push(part);
    }
}

impl ParallelVisitor for Collector<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        match entry {
            Ok(entry) => self.collect(&entry),
            Err(error) => {
                // One inaccessible mount can produce an error for each of its files.
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
            self.part.entries.push(TreeEntry { parent: parent.to_owned(), name, judgement });
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
        // A thread usually visits the files of a directory consecutively.
        match self.part.counts.last_mut() {
            Some((last, count)) if last == parent => *count += 1,
            _ => self.part.counts.push((parent.to_owned(), 1)),
        }
        WalkState::Continue
    }
}
