//! A repository: its commits, and their files as snapshots.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use instructions::{ObjectId, Snapshot, SnapshotEntry};

use crate::command::{complaint, git, run};
use crate::objects::Objects;

/// A Git repository.
#[derive(Debug, Clone)]
pub struct Repository {
    top: PathBuf,
    directory: PathBuf,
    work_tree: WorkTree,
    depth: Depth,
}

/// Availability of a work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkTree {
    Present,
    Bare,
}

/// Extent of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Full,
    Shallow,
}

/// A commit, by its full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit(String);

impl Commit {
    /// Returns the full name.
    pub fn id(&self) -> &str {
        &self.0
    }
}

/// Reason why a repository or a commit cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be run.
    #[error("could not run git: {source}")]
    Program {
        /// Error of the system.
        source: io::Error,
    },
    /// There is no repository.
    #[error("{} is not in a Git repository", path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
    },
    /// Git refuses to use the repository.
    #[error("git refuses {}: {reason}", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// Git's message.
        reason: String,
    },
    /// The repository has no work tree.
    #[error("{} is a bare repository without a work tree", path.display())]
    NoWorkTree {
        /// The repository.
        path: PathBuf,
    },
    /// No commit has this name.
    #[error("there is no commit `{name}` in {}", path.display())]
    NoCommit {
        /// The name.
        name: String,
        /// The repository.
        path: PathBuf,
        /// True if the clone is shallow, so the commit may exist elsewhere.
        is_shallow: bool,
    },
    /// Two commits have no common ancestor.
    #[error("`{one}` and `{other}` have no common ancestor here")]
    Unrelated {
        /// Name of the first commit.
        one: String,
        /// Name of the second commit.
        other: String,
        /// True if the clone is shallow, so the ancestor may exist elsewhere.
        is_shallow: bool,
    },
    /// The files of a commit cannot be listed.
    #[error("could not list the files of {commit}: {reason}")]
    Tree {
        /// Name of the commit.
        commit: String,
        /// Git's message.
        reason: String,
    },
}

impl GitError {
    /// Returns advice, or `None` if there is nothing to do.
    pub fn hint(&self) -> Option<&'static str> {
        const DEEPEN: &str =
            "this clone is shallow; run `git fetch --unshallow`, or fetch the commit by its name";
        match self {
            Self::Program { source } if source.kind() == io::ErrorKind::NotFound => {
                Some("install Git, or add it to PATH")
            }
            Self::NoRepository { .. } => Some("run the command inside a repository"),
            Self::Refused { reason, .. } if reason.contains("dubious ownership") => {
                Some("if you trust the repository, add it to Git's `safe.directory`")
            }
            Self::NoCommit { is_shallow: true, .. } | Self::Unrelated { is_shallow: true, .. } => {
                Some(DEEPEN)
            }
            Self::NoCommit { .. } => Some("`git log --oneline --all` lists the commits"),
            Self::NoWorkTree { .. } => Some("name both commits, as in `HEAD~1..HEAD`"),
            _ => None,
        }
    }
}

impl Repository {
    /// Finds the repository around a directory.
    pub fn around(path: &Path) -> Result<Self, GitError> {
        let facts = ["--absolute-git-dir", "--is-bare-repository", "--is-shallow-repository"];
        let output = run(git(path).arg("rev-parse").args(facts))?;
        if !output.status.success() {
            let reason = complaint(&output);
            let path = path.to_owned();
            return Err(match reason.contains("not a git repository") {
                true => GitError::NoRepository { path },
                false => GitError::Refused { path, reason },
            });
        }
        // A directory's name may contain line breaks, so the words are taken from the end.
        let mut lines = output.stdout.trim_ascii_end().rsplitn(3, |byte| *byte == b'\n');
        let (shallow, bare) = (lines.next(), lines.next());
        let directory = path_of(lines.next().unwrap_or_default());
        let depth = if shallow == Some(b"true") { Depth::Shallow } else { Depth::Full };
        if bare == Some(b"true") {
            return Ok(Self { top: directory.clone(), directory, work_tree: WorkTree::Bare, depth });
        }
        let output = run(git(path).args(["rev-parse", "--show-toplevel"]))?;
        if !output.status.success() {
            return Err(GitError::Refused { path: path.to_owned(), reason: complaint(&output) });
        }
        let top = path_of(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout));
        Ok(Self { top, directory, work_tree: WorkTree::Present, depth })
    }

    /// Returns the top of the work tree, or the repository itself if it is bare.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Fails if there is no work tree.
    pub fn require_work_tree(&self) -> Result<(), GitError> {
        match self.work_tree {
            WorkTree::Present => Ok(()),
            WorkTree::Bare => Err(GitError::NoWorkTree { path: self.top.clone() }),
        }
    }

    /// Returns the commit that a name leads to.
    pub fn commit(&self, name: &str) -> Result<Commit, GitError> {
        let missing = || GitError::NoCommit {
            name: name.to_owned(),
            path: self.top.clone(),
            is_shallow: self.depth == Depth::Shallow,
        };
        // No name contains these, and a null byte cannot be passed to a program.
        if name.is_empty() || name.contains('\0') {
            return Err(missing());
        }
        let revision = format!("{name}^{{commit}}");
        let arguments = ["rev-parse", "--quiet", "--verify", "--end-of-options"];
        let output = run(git(&self.top).args(arguments).arg(revision))?;
        let id = output.stdout.trim_ascii();
        match ObjectId::from_hex(id).filter(|_| output.status.success()) {
            Some(id) => Ok(Commit(id.as_str().to_owned())),
            None => Err(missing()),
        }
    }

    /// Returns the newest common ancestor of two commits.
    pub fn merge_base(&self, one: &Commit, other: &Commit) -> Result<Commit, GitError> {
        let output = run(git(&self.top).args(["merge-base", one.id(), other.id()]))?;
        match ObjectId::from_hex(output.stdout.trim_ascii()).filter(|_| output.status.success()) {
            Some(id) => Ok(Commit(id.as_str().to_owned())),
            None => Err(GitError::Unrelated {
                one: one.id().to_owned(),
                other: other.id().to_owned(),
                is_shallow: self.depth == Depth::Shallow,
            }),
        }
    }

    /// Returns the files of a commit in place of the work tree.
    ///
    /// Submodules are empty directories, as after a checkout.
    pub fn snapshot(&self, commit: &Commit) -> Result<Snapshot, GitError> {
        let listing = run(git(&self.top).args(["ls-tree", "-r", "-z", "--full-tree", commit.id()]))?;
        let failed = |reason: String| GitError::Tree { commit: commit.id().to_owned(), reason };
        if !listing.status.success() {
            return Err(failed(complaint(&listing)));
        }
        let hidden = self.left_out(&listing)?;
        let objects = Objects::new(self.directory.clone());
        let mut snapshot = Snapshot::new(self.top.clone(), self.directory.clone(), Box::new(objects));
        for line in listing.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let Some((path, entry)) = entry(line) else {
                return Err(failed("git printed an unknown line".to_owned()));
            };
            if !hidden.contains(path) {
                snapshot.insert(path, entry);
            }
        }
        Ok(snapshot)
    }

    /// Returns the paths that a sparse checkout keeps out of the work tree.
    fn left_out<'a>(&self, listing: &'a Output) -> Result<HashSet<&'a [u8]>, GitError> {
        let mut hidden = HashSet::new();
        if self.work_tree == WorkTree::Bare || !self.directory.join("info/sparse-checkout").is_file() {
            return Ok(hidden);
        }
        // The letter S marks entries that are not checked out. A directory that is left out as a whole ends with a slash.
        let output = run(git(&self.top).args(["ls-files", "-t", "-z", "--sparse", "--full-name"]))?;
        let skipped = output.stdout.split(|byte| *byte == 0).filter_map(|line| line.strip_prefix(b"S "));
        let skipped: Vec<&[u8]> = skipped.collect();
        let files: HashSet<&[u8]> = skipped.iter().copied().collect();
        let directories: Vec<&[u8]> = skipped.into_iter().filter(|path| path.ends_with(b"/")).collect();
        for line in listing.stdout.split(|byte| *byte == 0) {
            if let Some((path, _)) = entry(line)
                && (files.contains(path) || directories.iter().any(|above| path.starts_with(above)))
            {
                hidden.insert(path);
            }
        }
        Ok(hidden)
    }
}

/// Parses a line of `git ls-tree`: mode, type, name of the object, tab, path.
fn entry(line: &[u8]) -> Option<(&[u8], SnapshotEntry)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = line[..tab].split(|byte| *byte == b' ');
    let (mode, _, id) = (words.next()?, words.next()?, ObjectId::from_hex(words.next()?)?);
    let entry = match mode {
        b"120000" => SnapshotEntry::Link(id),
        b"160000" | b"040000" => SnapshotEntry::Directory,
        _ => SnapshotEntry::File(id),
    };
    Some((&line[tab + 1..], entry))
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
