//! Differences in what agents read between two states of a repository, such as two commits.
//!
//! A directory that exists in one state only is compared as if it were empty in the other.

mod group;
mod print;
mod side;
mod sources;

use std::collections::HashSet;

use git::GitError;
use instructions::{FileSettings, Profile, ResolveError};
use serde::Serialize;
use tokens::Counter;

pub use self::sources::{Revision, Revisions};
use crate::changes::side::{Side, State};
use crate::names::Names;
use crate::settings_for;
use crate::tree::TreeError;

/// Most directories that a change lists.
const MAX_DIRECTORIES: usize = 100;

/// Differences between two states of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Full name of the first commit.
    pub base: String,
    /// Full name of the second commit, or `worktree`.
    pub head: String,
    /// Differences of each agent.
    pub agents: Vec<AgentChanges>,
    /// Sums over all agents.
    pub summary: ChangeSummary,
}

/// Differences for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentChanges {
    /// Name of the agent.
    pub agent: &'static str,
    /// Version that the profile was checked against.
    pub version: Option<&'static str>,
    /// Changes, each in a group of directories; the most important first.
    pub changes: Vec<Change>,
    /// Reason why the agent would not start in a directory, if that is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// A change shared by some directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Directories, shallowest first; not all if there are many.
    pub directories: Vec<String>,
    /// Number of directories.
    pub count: usize,
    /// State in the first commit.
    pub before: ReadFiles,
    /// State in the second commit.
    pub after: ReadFiles,
    /// Files that are read only afterwards.
    pub added: Vec<String>,
    /// Files that are read only before.
    pub removed: Vec<String>,
    /// Files that are read in both states with different texts.
    pub edited: Vec<String>,
    /// Files that lose more text than before.
    pub newly_lost: Vec<NewlyLost>,
    /// Number of tokens before the first difference; `None` if the text is the same.
    pub first_changed_token: Option<u64>,
}

/// Files that an agent reads in a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReadFiles {
    /// Files of the project, in the agent's order.
    pub files: Vec<String>,
    /// Bytes that reach the model.
    pub bytes: u64,
    /// Estimated tokens of these bytes.
    pub tokens: u64,
    /// Bytes that do not reach the model.
    pub lost_bytes: u64,
}

/// A file that loses more text than before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NewlyLost {
    /// Path of the file.
    pub path: String,
    /// Number of bytes.
    pub bytes: u64,
}

/// Sums over all agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeSummary {
    /// Directories with a change for any agent.
    pub directories: usize,
    /// Agents with changes.
    pub agents: usize,
    /// Tokens added by the changes, each counted once; negative if more were removed.
    pub tokens_added: i64,
    /// Bytes newly lost by the changes, each counted once.
    pub newly_lost_bytes: u64,
}

impl Changes {
    /// Returns true if no agent is affected.
    pub fn is_empty(&self) -> bool {
        self.agents.iter().all(|agent| agent.changes.is_empty() && agent.refusal.is_none())
    }

    /// Returns true if an agent loses text that it read before or that is new.
    pub fn lose_text(&self) -> bool {
        self.agents.iter().flat_map(|agent| &agent.changes).any(|change| !change.newly_lost.is_empty())
    }
}

/// Reason why states cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// The repository or a commit cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The work tree cannot be walked.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The files cannot be resolved.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

/// Compares what agents read in every directory of a repository. `others` are settings of the agent with their profile,
/// from which those of the other agents are derived.
pub fn changes(
    revisions: &Revisions,
    agents: &[&'static Profile],
    others: &FileSettings,
    names: &Names,
) -> Result<Changes, ChangesError> {
    let (before, after) = State::both(revisions, names)?;
    let counter = Counter::default();
    let mut changed: HashSet<usize> = HashSet::new();
    let mut summary = ChangeSummary::default();
    let mut compared = Vec::with_capacity(agents.len());
    for profile in agents {
        let settings = settings_for(profile, others);
        let before = Side::new(&before, &settings, &counter)?;
        let after = Side::new(&after, &settings, &counter)?;
        let known: HashSet<&(String, String)> = before.problems.iter().collect();
        let refusal = after.problems.iter().find(|problem| !known.contains(problem));
        let of_agent = AgentChanges {
            agent: profile.name,
            version: profile.agent.version,
            changes: group::group(&before, &after, &mut changed),
            refusal: refusal.map(|(directory, reason)| format!("in {directory}: {reason}")),
        };
        summary.agents += usize::from(!of_agent.changes.is_empty());
        for change in &of_agent.changes {
            summary.tokens_added += signed(change.after.tokens) - signed(change.before.tokens);
            summary.newly_lost_bytes += change.newly_lost.iter().map(|lost| lost.bytes).sum::<u64>();
        }
        compared.push(of_agent);
    }
    summary.directories = changed.len();
    let (base, head) = revisions.names();
    Ok(Changes { base, head, agents: compared, summary })
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
