//! The scope of a turn, shared by hooks, tools and delegation.

use std::path::PathBuf;

use serde::Deserialize;

use crate::{ThreadId, ThreadMode, TurnId, WorkspaceId};

/// The workspace, thread, directory and user that a turn belongs to.
///
/// It is made once per turn and shared behind an `Arc`. Hooks, sources of tools and calls embed it and add only the
/// fields that they alone need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnScope {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn; `None` for a preview of the next one.
    // A preview runs the same hooks as a turn, before there is anything to store, so they cannot rely on an
    // id.
    pub turn_id: Option<TurnId>,
    /// The mode of the thread.
    pub mode: ThreadMode,
    /// The root directory of the workspace; `None` if it has none.
    pub root: Option<PathBuf>,
    /// The directory the turn works in; `None` if the workspace has none.
    pub directory: Option<PathBuf>,
    /// Name of the user who started the turn.
    pub actor: Option<String>,
    /// The workspaces that the user's token gives access to.
    pub reach: TokenReach,
    /// Slugs of the skills selected for the turn.
    pub skills: Vec<String>,
    /// Hidden tool domains that are visible from the first round on.
    pub tool_domains: Vec<String>,
    /// The user's input.
    pub input: Option<String>,
    /// Context that the calling program supplies with the input. It is data.
    pub context: Option<String>,
    /// Words with which the user asked to remember nothing of the turn; `None` if they did not ask.
    pub off_the_record: Option<String>,
    /// True if there is memory that the turn can see; `None` if that was not checked.
    // Three states, because a preview can skip the query: unknown must not be shown as empty.
    pub has_memories: Option<bool>,
}

impl TurnScope {
    /// Creates the scope of a thread; everything else is empty.
    pub fn new(workspace_id: WorkspaceId, thread_id: ThreadId) -> Self {
        Self {
            workspace_id,
            thread_id,
            turn_id: None,
            mode: ThreadMode::default(),
            root: None,
            directory: None,
            actor: None,
            reach: TokenReach::default(),
            skills: Vec::new(),
            tool_domains: Vec::new(),
            input: None,
            context: None,
            off_the_record: None,
            has_memories: None,
        }
    }

    /// Returns true if the user can access this workspace only.
    pub fn is_bound(&self) -> bool {
        self.reach == TokenReach::Workspace
    }

    /// Returns the user whose private memory is visible to the turn.
    pub fn memory_owner(&self) -> Option<&str> {
        // The rule lives in `TokenReach`, so that the gateway can apply it to calls that belong to no turn.
        self.reach.memory_owner(self.actor.as_deref())
    }
}

/// The instructions that a delegated turn reads besides its goal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegateInstructions {
    /// None: the goal, the working directory and the tools are all it has.
    // Instructions are written for the agent that a user talks to. A delegate that follows them too may, for example, start to
    // talk to a user whom it cannot reach.
    #[default]
    None,
    /// The instruction files of its directory, and skills.
    Directory,
    /// The same and the thread's document.
    Full,
}

/// The workspaces that a token gives access to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenReach {
    /// One workspace.
    // The narrower reach is the default: a scope that was filled in incompletely must not reveal private
    // memory.
    #[default]
    Workspace,
    /// All workspaces, and what they share: the model's identity.
    Everything,
}

impl TokenReach {
    /// Returns the user whose private memory is visible. A token bound to a workspace sees none, because its name
    /// alone does not identify a user.
    pub fn memory_owner(self, actor: Option<&str>) -> Option<&str> {
        actor.filter(|_| self == TokenReach::Everything)
    }
}
