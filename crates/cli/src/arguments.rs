//! The command line as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use protocol::{Role, ThreadMode};

use crate::config::flag::{FileFlags, ServeFlags};
use crate::expiry::Expiry;
use crate::output::{Color, Format};
use crate::words::one_of;

/// Decides what a coding agent reads first, shows why, lets people edit it together, and keeps the proof.
#[derive(Debug, Parser)]
#[command(name = "foreword", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Read this configuration file instead of the one in the home directory
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where configuration and your own instruction files are [env: FOREWORD_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Where the gateway keeps its database and token [env: FOREWORD_DATA]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// How to print data
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value = "auto")]
    pub(crate) color: Color,
    /// Say more on standard error; twice for even more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print exactly the instruction text an agent started in a directory would get
    Show {
        /// The directory
        path: Option<PathBuf>,
        #[command(flatten)]
        files: FileFlags,
    },
    /// Explain which instruction files are used there, which are not, and why
    Explain {
        /// The directory
        path: Option<PathBuf>,
        /// List candidates that are not there, too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        files: FileFlags,
    },
    /// Say what newly applies to paths, for a session that is kept in a file
    Resolve(Resolve),
    /// Look at a session that is kept in a file
    #[command(subcommand)]
    Session(Session),
    /// Explain, and again whenever something that matters changes
    Watch {
        /// The directory
        path: Option<PathBuf>,
        #[command(flatten)]
        files: FileFlags,
    },
    /// Start the gateway
    Serve(Serve),
    /// Say what runs, where, and with what
    Status,
    /// Check a set-up and say what to mend
    Doctor,
    /// Copy the embedded database into a file, while a gateway may use it
    Backup {
        /// The file to make
        file: PathBuf,
        /// Overwrite a file that is already there
        #[arg(long)]
        force: bool,
    },
    /// Put a backup into a data directory that has no database
    Restore {
        /// The backup
        file: PathBuf,
        /// Let the tokens in it stay valid; without this all are revoked
        #[arg(long)]
        keep_tokens: bool,
    },
    /// Make and look at workspaces
    #[command(subcommand)]
    Workspace(Workspace),
    /// Arrange the folders of a thread tree
    #[command(subcommand)]
    Folder(Folder),
    /// Make, arrange and look at threads
    #[command(subcommand)]
    Thread(Thread),
    /// Read and edit AGENTS.md documents
    #[command(subcommand)]
    Doc(Doc),
    /// Ask a model in a thread, and see how turns went
    #[command(subcommand)]
    Turn(Turn),
    /// Print the prompt of a thread's next turn or of a directory, without asking a model
    #[command(subcommand)]
    Prompt(Prompt),
    /// Make and revoke access tokens
    #[command(subcommand)]
    Token(Token),
    /// Follow what changes in a workspace
    Events(Events),
    /// Write the JSON Schemas of the protocol
    Schema {
        /// Directory to write them to
        #[arg(default_value = "schemas")]
        directory: PathBuf,
    },
    /// Print the configuration that holds, and where each value came from
    Config,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    /// Print exactly the text
    Show {
        /// Print only this section
        #[arg(long, value_name = "ID")]
        section: Option<String>,
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// List its sections with their sizes, beside tools, history and the share of the model's window
    Sections {
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// Print what it consists of, and from which sources
    Manifest {
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// Say what changed since a turn, and which file and line is to blame
    Diff(PromptDifference),
}

impl Prompt {
    /// The directory of a prompt without a thread, if it is not the present one.
    pub(crate) fn directory(&self) -> Option<&str> {
        let (thread, cwd) = match self {
            Self::Show { subject, .. } | Self::Sections { subject } | Self::Manifest { subject } => {
                (&subject.thread, &subject.cwd)
            }
            Self::Diff(difference) => (&difference.thread, &difference.cwd),
        };
        cwd.as_deref().filter(|_| thread.is_none())
    }
}

/// The prompt a command is about.
#[derive(Debug, Args)]
pub(crate) struct PromptSubject {
    /// The thread; without one the prompt is that of a new thread in a directory, and no gateway is needed
    pub(crate) thread: Option<String>,
    /// The directory the turn would work in; with a thread inside the workspace's own and counted from it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// What the user would say, for hooks that look at it
    #[arg(long, value_name = "TEXT", requires = "thread")]
    pub(crate) input: Option<String>,
    /// Leave out what the thread remembers: the prompt of a new thread in its place
    #[arg(long, requires = "thread")]
    pub(crate) fresh: bool,
    /// The prompt of this past turn, byte for byte
    #[arg(long, value_name = "TURN", requires = "thread", conflicts_with_all = ["cwd", "input", "fresh"])]
    pub(crate) turn: Option<String>,
    /// With --turn: the round; else the last one
    #[arg(long, value_name = "N", requires = "turn")]
    pub(crate) round: Option<u32>,
    /// Without a thread: how it would answer
    #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "agent", conflicts_with = "thread")]
    pub(crate) mode: ThreadMode,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}

#[derive(Debug, Args)]
pub(crate) struct PromptDifference {
    /// The thread; without one a directory, and no gateway is needed
    pub(crate) thread: Option<String>,
    /// The earlier turn, else the thread's last one; without a thread a file, as `prompt show --format json` prints it
    #[arg(long, value_name = "TURN|FILE")]
    pub(crate) since: Option<String>,
    /// The later turn, instead of the next one
    #[arg(long, value_name = "TURN", requires = "thread", conflicts_with_all = ["cwd", "fresh"])]
    pub(crate) until: Option<String>,
    /// The directory the next turn would work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Compare with the prompt of a new thread instead of the next turn's
    #[arg(long, requires = "thread")]
    pub(crate) fresh: bool,
    /// Without a thread: how it would answer
    #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "agent", conflicts_with = "thread")]
    pub(crate) mode: ThreadMode,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The file that keeps the session; made at first use
    #[arg(long, value_name = "FILE")]
    pub(crate) session: PathBuf,
    /// Where a new session starts
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Only look: what is printed does not count as delivered
    #[arg(long)]
    pub(crate) peek: bool,
    /// The paths a tool is about to touch
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// Print what a session remembers
    Show {
        /// The session's file
        file: PathBuf,
    },
    /// Print what a resumed session would be told: what differs now
    Diff {
        /// The session's file
        file: PathBuf,
        /// Where it is resumed; its own directory when absent
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Remember that it was told, so that it is not told again
        #[arg(long)]
        confirm: bool,
        #[command(flatten)]
        files: FileFlags,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) flags: ServeFlags,
    /// Accept another database, or an empty one, in the place of the one that the data directory was used with
    #[arg(long)]
    pub(crate) new_database: bool,
    /// Speak JSON-RPC on standard input and output; beside a running gateway, pass everything on to it
    #[arg(long)]
    pub(crate) stdio: bool,
}

/// The workspace a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct InWorkspace {
    /// Name or id of the workspace; not needed when there is only one [env: FOREWORD_WORKSPACE]
    #[arg(short, long)]
    pub(crate) workspace: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// Make a workspace and print its id
    Create {
        /// What to call it
        name: String,
        /// The directory its threads work in
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// List the workspaces
    List,
    /// Show one workspace
    #[command(alias = "show")]
    Get {
        /// Name or id; not needed when there is only one
        workspace: Option<String>,
    },
    /// Change a workspace's name or directory
    Update {
        /// Name or id
        workspace: String,
        /// The new name
        #[arg(long)]
        name: Option<String>,
        /// The directory its threads work in
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Folder {
    /// Make a folder and print its id
    Create {
        /// What to call it
        name: String,
        /// The folder to make it in, by path (a/b) or id; the root when absent
        #[arg(long, value_name = "FOLDER")]
        parent: Option<String>,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// List the folders with their paths
    List {
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show one folder
    #[command(alias = "show")]
    Get {
        /// Path (a/b) or id
        folder: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Give a folder another name
    Rename {
        /// Path (a/b) or id
        folder: String,
        /// The new name
        name: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Move a folder into another one, or to the root
    Move {
        /// Path (a/b) or id
        folder: String,
        /// The folder to move it into; `/` is the root
        to: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Delete a folder; what it holds moves to its parent, its document is archived
    Delete {
        /// Path (a/b) or id
        folder: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// List deleted folders, the last one first
    Deleted {
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Bring a deleted folder back, with the document it had
    Restore {
        /// Path it had (a/b) or id
        folder: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Thread {
    /// Make a thread and print its id
    Create {
        /// What to call it
        title: String,
        /// The folder to make it in, by path (a/b) or id; the root when absent
        #[arg(long)]
        folder: Option<String>,
        /// How it answers: chat without tools, agent with them
        #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "chat")]
        mode: ThreadMode,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Draw the tree: folders, threads and documents
    #[command(alias = "list")]
    Tree {
        /// Only what is below this folder, by path or id
        folder: Option<String>,
        /// How many levels of folders to draw
        #[arg(long)]
        depth: Option<u32>,
        /// At most this many threads of each folder
        #[arg(long)]
        threads: Option<u32>,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show one thread
    #[command(alias = "show")]
    Get {
        /// Id
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Give a thread another title
    Rename {
        /// Id
        thread: String,
        /// The new title
        title: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Move a thread into a folder, or to the root
    Move {
        /// Id
        thread: String,
        /// The folder to move it into; `/` is the root
        to: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Take a thread out of the tree
    Archive {
        /// Id
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Print the conversation: every turn's question and answer, oldest first
    History {
        /// Id
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Turn {
    /// Ask a model, and print its answer as it comes
    Start(TurnStart),
    /// List the turns of a thread, newest first
    List {
        /// The thread
        thread: String,
        /// Most turns to list
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show what was said and done in a turn, and what waits for a decision
    #[command(alias = "get")]
    Show {
        /// The turn
        turn: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Say what made a turn's prompt: sections, sources, files, hooks, tools and history
    Explain {
        /// The turn
        turn: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Follow a running turn from another terminal; Ctrl-C leaves, and the turn goes on
    Watch {
        /// The turn
        turn: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Stop a turn
    Cancel {
        /// The turn
        turn: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Let a tool do what it waits to be allowed to
    Approve {
        /// The turn
        turn: String,
        /// The call, as `turn show` names it
        call: String,
        /// Refuse it instead
        #[arg(long)]
        deny: bool,
        /// Decide only if this is still what would run, as `turn show` and `turn start --wait` print it
        #[arg(long, value_name = "SHA256")]
        digest: Option<String>,
        #[command(flatten)]
        scope: InWorkspace,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TurnStart {
    /// The thread
    pub(crate) thread: String,
    /// What to ask; standard input when absent or `-`
    pub(crate) text: Option<String>,
    /// The directory to work in, inside the workspace's own and counted from it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// The model to ask, instead of model.default of the gateway
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Allow every call that asks, without showing it first
    #[arg(long, conflicts_with = "deny_writes")]
    pub(crate) allow_writes: bool,
    /// Refuse every call that asks
    #[arg(long)]
    pub(crate) deny_writes: bool,
    /// Let calls that ask wait for `foreword turn approve`; without a terminal they are denied otherwise
    #[arg(long, conflicts_with_all = ["allow_writes", "deny_writes"])]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}

/// The scope a document command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct InScope {
    /// The folder, by path (a/b) or id; the workspace root when absent
    #[arg(long)]
    pub(crate) folder: Option<String>,
    #[command(flatten)]
    pub(crate) workspace: InWorkspace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Doc {
    /// Print a scope's own document
    Get {
        #[command(flatten)]
        scope: InScope,
    },
    /// Print the document that is effective for a folder or thread
    Effective {
        /// The thread, by id, instead of a folder
        #[arg(long, conflicts_with = "folder")]
        thread: Option<String>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Save a document from a file or standard input
    Save {
        /// The file; standard input when absent or `-`
        file: Option<PathBuf>,
        /// Save only if this is still the version; 0: only if there is no document yet
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Edit a document in $VISUAL or $EDITOR
    Edit {
        #[command(flatten)]
        scope: InScope,
    },
    /// List the revisions, newest first
    History {
        /// Most revisions to list
        #[arg(long, default_value_t = protocol::limits::DEFAULT_HISTORY_LIMIT)]
        limit: u32,
        /// Only versions below this one
        #[arg(long, value_name = "VERSION")]
        before: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Show what changed between two versions
    Diff {
        /// The older version; the one before the newer when absent
        from: Option<u64>,
        /// The newer version; the newest when absent
        to: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Make an older version's text current again
    Restore {
        /// The version
        version: u64,
        /// Restore only if this is still the current version
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Take a document away; its scope inherits again
    Archive {
        /// Archive only if this is still the version
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and print its secret, this once
    Create {
        /// What to call it; becomes the author of what is done with it
        name: String,
        /// What it allows: a reader may look, an editor may also change folders, threads and documents, an operator may
        /// also run turns and approve calls, an owner may also change workspaces and tokens
        #[arg(long, value_parser = one_of::<Role>(), default_value = "reader")]
        role: Role,
        /// How long it is valid, such as `30 days`, or until when, such as `2027-01-31T00:00:00Z`; until it is revoked
        /// when absent
        #[arg(long, value_name = "TIME")]
        expires: Option<Expiry>,
        /// The only workspace it may touch, by name or id; all when absent
        #[arg(long)]
        workspace: Option<String>,
    },
    /// List the tokens
    List,
    /// Revoke a token
    Revoke {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// First print what happened after this sequence number; 0: everything
    #[arg(long, value_name = "SEQ")]
    pub(crate) since: Option<u64>,
    /// Stop after this many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}
