//! The two states to compare, as named on the command line.

use std::path::Path;

use git::{Commit, GitError, Repository};

/// Name of the work tree in results.
const WORK_TREE: &str = "worktree";

/// A state of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// A commit.
    Commit(Commit),
    /// The files on disk.
    WorkTree,
}

impl Revision {
    fn name(&self) -> String {
        match self {
            Self::Commit(commit) => commit.id().to_owned(),
            Self::WorkTree => WORK_TREE.to_owned(),
        }
    }
}

/// Two states of a repository.
#[derive(Debug, Clone)]
pub struct Revisions {
    /// The repository.
    pub repository: Repository,
    /// The first state.
    pub base: Commit,
    /// The second state.
    pub head: Revision,
}

impl Revisions {
    /// Finds the states that a text names: `BASE`, `BASE..HEAD`, or `BASE...HEAD` for the changes since their common
    /// ancestor. The base defaults to `HEAD`, and without a second name the other state is the work tree.
    pub fn find(directory: &Path, named: Option<&str>) -> Result<Self, GitError> {
        let repository = Repository::around(directory)?;
        let or_head = |name: &str| repository.commit(if name.is_empty() { "HEAD" } else { name });
        let named = named.unwrap_or("HEAD");
        let (base, head) = match (named.split_once("..."), named.split_once("..")) {
            (Some((base, head)), _) => {
                let head = or_head(head)?;
                (repository.merge_base(&or_head(base)?, &head)?, Revision::Commit(head))
            }
            (None, Some((base, head))) => (or_head(base)?, Revision::Commit(or_head(head)?)),
            (None, None) => {
                repository.require_work_tree()?;
                (repository.commit(named)?, Revision::WorkTree)
            }
        };
        Ok(Self { repository, base, head })
    }

    pub(crate) fn names(&self) -> (String, String) {
        (self.base.id().to_owned(), self.head.name())
    }
}
