//! One of the two compared states: its directories, and what an agent reads in each.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::{ContentHash, FileSettings, FileSource, Resolution, ResolveError};
use tokens::{Counter, Encoding};

use super::sources::{Revision, Revisions};
use super::{ChangesError, ReadFiles};
use crate::effective::{EffectiveSet, effective_where_it_starts};
use crate::names::Names;
use crate::side_by_side::is_in_place;
use crate::tree::Tree;

/// A state with the directories of both states.
pub(super) struct State {
    top: PathBuf,
    tree: Tree,
    source: FileSource,
}

impl State {
    /// Reads both states.
    pub(super) fn both(revisions: &Revisions, names: &Names) -> Result<(Self, Self), ChangesError> {
        let repository = &revisions.repository;
        let mut base = repository.snapshot(&revisions.base)?;
        let top = repository.top().to_owned();
        let base_tree = Tree::of_snapshot(&base, names);
        let paths = |tree: &Tree| -> Vec<PathBuf> {
            tree.directories().iter().map(|directory| directory.path.clone()).collect()
        };
        let (head_tree, head_source, base_tree) = match &revisions.head {
            Revision::Commit(commit) => {
                let mut head = repository.snapshot(commit)?;
                let tree = Tree::of_snapshot(&head, names);
                head.add_directories(&paths(&base_tree));
                base.add_directories(&paths(&tree));
                (tree, FileSource::Snapshot(Arc::new(head)), base_tree)
            }
            Revision::WorkTree => {
                let walked = Tree::walk(&top, names)?;
                let nested = nested_repositories(&walked, &base_tree);
                // Tracked directories count even if a pattern ignores them, which the walk skips.
                let skipped = ignored_directories(&base_tree, &walked, names);
                let tree = walked.joined(skipped).without(&nested);
                let base_tree = base_tree.without(&nested);
                base.add_directories(&paths(&tree));
                let missing: HashSet<PathBuf> =
                    paths(&base_tree).into_iter().filter(|path| path.symlink_metadata().is_err()).collect();
                let source = match missing.is_empty() {
                    true => FileSource::Disk,
                    false => FileSource::DiskWith(Arc::new(missing)),
                };
                (tree, source, base_tree)
            }
        };
        let (of_base, of_head) = (paths(&base_tree), paths(&head_tree));
        let base_tree = base_tree.with_directories(of_head.iter().map(PathBuf::as_path));
        let head_tree = head_tree.with_directories(of_base.iter().map(PathBuf::as_path));
        let base_source = FileSource::Snapshot(Arc::new(base));
        let base = Self { top: top.clone(), tree: base_tree, source: base_source };
        Ok((base, Self { top, tree: head_tree, source: head_source }))
    }
}

/// Returns the directories with a repository of their own, which Git does not look into.
fn nested_repositories(walked: &Tree, base: &Tree) -> Vec<PathBuf> {
    let both = walked.directories().iter().skip(1).chain(base.directories().iter().skip(1));
    let nested = both.filter(|directory| directory.path.join(".git").symlink_metadata().is_ok());
    nested.map(|directory| directory.path.clone()).collect()
}

/// Returns a tree of the directories of a commit that exist on disk, but were skipped there.
fn ignored_directories(base: &Tree, walked: &Tree, names: &Names) -> Vec<Tree> {
    let known: HashSet<&Path> = walked.directories().iter().map(|known| known.path.as_path()).collect();
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let skipped = base.directories().iter().map(|directory| directory.path.as_path());
    let skipped = skipped.filter(|path| !known.contains(path) && is_directory(path));
    skipped.map(|path| Tree::of_directory(path, names)).collect()
}

/// Text that an agent reads in some directories of a state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ReadText {
    /// Paths and texts of all files, in the agent's order. The text of a file that another one contains is empty.
    pub(super) files: Vec<ReadFile>,
    /// Paths of lost files, and their lost bytes.
    pub(super) lost: Vec<(String, u64)>,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    pub(super) lost_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ReadFile {
    /// Path below the top; `None` for files outside the repository.
    pub(super) path: Option<String>,
    /// Text in the prompt; empty if the importing file contains it.
    pub(super) text: Arc<str>,
    /// Hash of the text as it was read, also if another file contains it.
    pub(super) own_text: ContentHash,
    /// Hash of the file's content.
    pub(super) content: ContentHash,
    pub(super) tokens: u64,
}

impl ReadText {
    /// Returns true if an agent reads and loses the same text. The files may differ in parts that no agent sees.
    pub(super) fn reads_the_same(&self, other: &Self) -> bool {
        let seen = |file: &ReadFile| (file.path.clone(), Arc::clone(&file.text), file.own_text.clone());
        self.lost == other.lost
            && self.lost_bytes == other.lost_bytes
            && self.files.iter().map(seen).eq(other.files.iter().map(seen))
    }

    pub(super) fn summary(&self) -> ReadFiles {
        let mut files: Vec<String> = Vec::new();
        for path in self.files.iter().filter_map(|file| file.path.as_ref()) {
            if !files.contains(path) {
                files.push(path.clone());
            }
        }
        ReadFiles { files, bytes: self.bytes, tokens: self.tokens, lost_bytes: self.lost_bytes }
    }
}

/// What one agent reads in the directories of a state.
pub(super) struct Side {
    /// Paths of the directories, relative to the top.
    pub(super) directories: Vec<String>,
    pub(super) texts: Vec<ReadText>,
    /// Index of each directory's text; `None` if the agent cannot be started there.
    pub(super) of_directories: Vec<Option<usize>>,
    /// Directories in which the agent cannot be started, with the reason.
    pub(super) problems: Vec<(String, String)>,
}

impl Side {
    /// Resolves the directories.
    pub(super) fn new(
        state: &State,
        settings: &FileSettings,
        counter: &Counter,
    ) -> Result<Self, ResolveError> {
        let settings = FileSettings { source: state.source.clone(), ..settings.clone() };
        let effective = effective_where_it_starts(&state.tree, &settings)?;
        let texts = effective.sets.iter().map(|set| read_text(set, &settings, &state.top, counter)).collect();
        let shown = |path: &Path| below(path, &state.top).unwrap_or_else(|| path.display().to_string());
        let directories = state.tree.directories().iter().map(|directory| shown(&directory.path)).collect();
        let problems = effective.problems.into_iter().map(|(path, reason)| (shown(&path), reason)).collect();
        Ok(Self { directories, texts, of_directories: effective.of_directories, problems })
    }
}

fn read_text(set: &EffectiveSet, settings: &FileSettings, top: &Path, counter: &Counter) -> ReadText {
    let resolution: &Resolution = &set.resolution;
    let files: Vec<ReadFile> = resolution
        .files
        .iter()
        .map(|file| {
            let is_inside = is_in_place(settings.profile, file);
            let text: Arc<str> = if is_inside { "".into() } else { file.text.as_str().into() };
            let tokens = counter.count(Encoding::Cl100k, &text) as u64;
            let own_text = ContentHash::of(file.text.as_bytes());
            ReadFile { path: below(&file.path, top), text, own_text, content: file.sha256.clone(), tokens }
        })
        .collect();
    let lost = set.lost.iter().filter(|file| file.bytes > 0);
    ReadText {
        bytes: resolution.files.iter().map(|file| file.kept_bytes).sum(),
        tokens: files.iter().map(|file| file.tokens).sum(),
        lost: lost.filter_map(|file| Some((below(&file.path, top)?, file.bytes))).collect(),
        lost_bytes: set.lost_bytes(),
        files,
    }
}

/// Returns a path relative to the top of the repository. `None` if it lies outside.
fn below(path: &Path, top: &Path) -> Option<String> {
    let below = path.strip_prefix(top).ok()?;
    Some(if below == Path::new("") { ".".to_owned() } else { below.to_string_lossy().into_owned() })
}
