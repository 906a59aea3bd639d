//! Sources of tools.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use protocol::{ThreadId, ThreadMode, TokenReach, TurnId, TurnScope, WorkspaceId};

use crate::{Shell, ShellSettings, Toolbox};

/// The round of a turn that tools are collected for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundContext {
    /// The turn.
    pub scope: Arc<TurnScope>,
    /// Number of the round, starting at 1.
    pub round: u32,
}

impl RoundContext {
    /// Returns a round of an anonymous chat in a workspace without a directory.
    pub fn of_chat(round: u32) -> Self {
        let scope = TurnScope {
            turn_id: Some(TurnId::new()),
            reach: TokenReach::Everything,
            ..TurnScope::new(WorkspaceId::new(), ThreadId::new())
        };
        Self { scope: Arc::new(scope), round }
    }

    /// Returns true if the tools are only shown, so that nothing should be started for them.
    pub fn is_preview(&self) -> bool {
        self.scope.turn_id.is_none()
    }
}

/// Offers tools to turns.
///
/// A source is queried at the start of every round, also in chats and in turns without a directory. It may offer different
/// tools in each round, but a changed list invalidates the prefix that a provider has cached: return a clone of the same
/// [`Toolbox`] as long as nothing changes.
pub trait ToolSource: Send + Sync + 'static {
    /// Returns the name used in problems, such as `files`, `shell` or a server's name.
    fn name(&self) -> &str;

    /// Returns the tools for this round. The model waits for them, so slow work belongs in the background.
    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox>;

    /// Returns the time allowed for [`Self::offer`]; after it, the previous offer is used. `None` for the default.
    fn offer_time(&self) -> Option<Duration> {
        None
    }

    /// Returns problems with the offer of this round, such as tools that had to be left out.
    fn problems(&self, round: &RoundContext) -> Vec<String> {
        let _ = round;
        Vec::new()
    }

    /// Returns the domain under which the prompt lists the tools until a model requests them with `request_tools`. `None` if
    /// they are in every request.
    fn hidden_domain(&self) -> Option<&str> {
        None
    }

    /// Returns the reason why an offered tool cannot be used in this turn, for the model. Such a tool is not in the request, and
    /// `request_tools` answers with the reason. A hidden tool stays listed: the list must not depend on who started a turn or
    /// on permissions, because a different list would invalidate the cached prefix.
    fn refusal(&self, round: &RoundContext, tool: &str) -> Option<String> {
        let _ = (round, tool);
        None
    }
}

/// Offers file tools to agents with a directory.
pub struct FileToolSource(Toolbox);

impl FileToolSource {
    /// Creates a source of `read_file`, `list_dir`, `search`, `write_file` and `edit_file`.
    pub fn new() -> Self {
        Self(Toolbox::files())
    }
}

impl Default for FileToolSource {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolSource for FileToolSource {
    fn name(&self) -> &str {
        "files"
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        ready(in_directory(&self.0, round)).boxed()
    }
}

/// Offers `shell` to agents with a directory.
pub struct ShellToolSource(Toolbox);

impl ShellToolSource {
    /// Creates a source of `shell` with these settings.
    pub fn new(settings: ShellSettings) -> Self {
        let mut toolbox = Toolbox::new();
        let added = toolbox.add(Shell::new(settings));
        debug_assert!(added.is_ok(), "our own tool has a name and a schema");
        Self(toolbox)
    }
}

impl ToolSource for ShellToolSource {
    fn name(&self) -> &str {
        "shell"
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        ready(in_directory(&self.0, round)).boxed()
    }
}

/// Returns the toolbox for agents with a directory, and an empty one for chats and turns without a directory.
fn in_directory(toolbox: &Toolbox, round: &RoundContext) -> Toolbox {
    match (round.scope.mode, &round.scope.directory) {
        (ThreadMode::Agent, Some(_)) => toolbox.clone(),
        _ => Toolbox::new(),
    }
}
