//! Where tools come from.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use protocol::{ThreadId, ThreadMode, TurnId, WorkspaceId};

use crate::{Shell, ShellSettings, Toolbox};

/// The round of a turn for which tools are wanted. Hooks are told of a turn, before it has rounds, and in rooms that tools do
/// not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundContext {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// Whether it is a chat or the work of an agent.
    pub mode: ThreadMode,
    /// The workspace's directory; none where it has none.
    pub root: Option<PathBuf>,
    /// Where the turn works; none in a workspace without a directory.
    pub directory: Option<PathBuf>,
    /// Who started the turn.
    pub actor: Option<String>,
    /// Whether they reach this workspace and no other.
    pub is_bound: bool,
    /// Hidden domains that the turn was started with: all their tools count as asked for.
    pub chosen_domains: Vec<String>,
    /// What the user says in it.
    pub input: Option<String>,
    /// Whether anything is remembered that the turn can see; none where nobody has looked in this round.
    pub has_memories: Option<bool>,
    /// Which time the model is asked in this turn, from 1.
    pub round: u32,
    /// What the tools are wanted for.
    pub purpose: RoundPurpose,
    /// Whether the user wants nothing of it remembered.
    pub is_off_the_record: bool,
}

impl RoundContext {
    /// A round of a chat that nobody in particular has started, in a workspace without a directory.
    pub fn of_chat(round: u32) -> Self {
        Self {
            workspace_id: WorkspaceId::new(),
            thread_id: ThreadId::new(),
            turn_id: TurnId::new(),
            mode: ThreadMode::Chat,
            root: None,
            directory: None,
            actor: None,
            is_bound: false,
            chosen_domains: Vec::new(),
            input: None,
            has_memories: None,
            round,
            purpose: RoundPurpose::Turn,
            is_off_the_record: false,
        }
    }
}

/// What the tools of a round are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundPurpose {
    /// A turn, in which they are called.
    Turn,
    /// To be shown to somebody who may only look: nothing is started for that.
    Preview,
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
    match (round.mode, &round.directory) {
        (ThreadMode::Agent, Some(_)) => toolbox.clone(),
        _ => Toolbox::new(),
    }
}
