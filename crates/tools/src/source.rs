//! Where tools come from.

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
/// A source is asked at the start of every round, in chats and in turns without a directory too. It may offer other
/// tools than in the round before, but a changed list costs the prefix that a provider has cached: offer the same
/// [`Toolbox`], cloned, as long as nothing changed.
pub trait ToolSource: Send + Sync + 'static {
    /// What it is called where it fails: `files`, `shell`, a server's name.
    fn name(&self) -> &str;

    /// The tools for this round. The model waits for it, so what takes long belongs into the background.
    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox>;

    /// How long it may take to say what it offers; then what it offered last is kept. None: as long as any.
    fn offer_time(&self) -> Option<Duration> {
        None
    }

    /// What is wrong with what it offers in this round, for the records of it: tools that it had to leave out, and why.
    fn problems(&self, round: &RoundContext) -> Vec<String> {
        let _ = round;
        Vec::new()
    }

    /// The domain under which the prompt lists its tools until a model asks for them with `request_tools`. None: they are
    /// in every request.
    fn hidden_domain(&self) -> Option<&str> {
        None
    }

    /// Why a tool that it offers cannot be used in this turn, for the model. Such a tool is not in the request, and
    /// `request_tools` answers with the reason. A hidden one stays listed: what a prompt lists does not depend on who
    /// started a turn or on what that one allows, because another list would cost the cached prefix.
    fn refusal(&self, round: &RoundContext, tool: &str) -> Option<String> {
        let _ = (round, tool);
        None
    }
}

/// Offers the tools for files where an agent has a directory.
pub struct FileTools(Toolbox);

impl FileTools {
    /// A source of `read_file`, `list_dir`, `search`, `write_file` and `edit_file`.
    pub fn new() -> Self {
        Self(Toolbox::files())
    }
}

impl Default for FileTools {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolSource for FileTools {
    fn name(&self) -> &str {
        "files"
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        ready(in_directory(&self.0, round)).boxed()
    }
}

/// Offers `shell` where an agent has a directory.
pub struct ShellTools(Toolbox);

impl ShellTools {
    /// A source of `shell` with these settings.
    pub fn new(settings: ShellSettings) -> Self {
        let mut toolbox = Toolbox::new();
        let added = toolbox.add(Shell::new(settings));
        debug_assert!(added.is_ok(), "our own tool has a name and a schema");
        Self(toolbox)
    }
}

impl ToolSource for ShellTools {
    fn name(&self) -> &str {
        "shell"
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        ready(in_directory(&self.0, round)).boxed()
    }
}

/// Chats work on no files, and neither does a turn without a directory.
fn in_directory(toolbox: &Toolbox, round: &RoundContext) -> Toolbox {
    match (round.scope.mode, &round.scope.directory) {
        (ThreadMode::Agent, Some(_)) => toolbox.clone(),
        _ => Toolbox::new(),
    }
}
