//! The command line as clap reads it.

mod bridge;
mod check;
mod compare;
mod document;
pub(crate) mod expiry;
mod help;
pub(crate) mod manual;
mod memory;
mod profile;
mod prompt;
mod session;
mod skill;
mod token;
mod tree;
mod turn;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::bridge::{Hook, Install, Mcp, McpCommand, ScopeName, Sync};
pub(crate) use self::check::Check;
pub(crate) use self::compare::{CompareArguments, MapArguments};
pub(crate) use self::document::{Doc, DocSave, InScope};
pub(crate) use self::help::command as command_line;
pub(crate) use self::memory::{Memory, MemoryAdd};
pub(crate) use self::profile::ProfileCommand;
pub(crate) use self::prompt::{Prompt, PromptDifference, PromptSubject};
pub(crate) use self::session::{Resolve, Session};
pub(crate) use self::skill::{SkillCommand, Trust};
pub(crate) use self::token::Token;
pub(crate) use self::tree::{Folder, Thread, Workspace};
pub(crate) use self::turn::{NamedTurn, Turn, TurnStart};
use crate::arguments::expiry::Since;
use crate::config::flag::{FileFlags, ServeFlags};
use crate::output::{Color, Format};

/// Decides what a coding agent reads first, shows why, lets people edit it together, and keeps the proof.
#[derive(Debug, Parser)]
#[command(name = "foreword", version, arg_required_else_help = true)]
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
        /// Exit with 1 when text of a file is lost
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        files: FileFlags,
    },
    /// Look for what is wrong with the instruction files of a tree, for every agent; exit with 1 on errors
    Check(Check),
    /// Compare what agents would each read in a directory
    ///
    /// Exits with 1 when one of them would not start there.
    Compare(CompareArguments),
    /// Print what an agent would read in every directory of a tree
    Map(MapArguments),
    /// Look at the agents whose rules are known
    #[command(subcommand)]
    Profile(ProfileCommand),
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
    /// Answer another agent's command hook: its JSON on standard input, its JSON on standard output
    ///
    /// Says what newly applies to the path that the agent's tool touched, as far as the agent does not load it by itself. The
    /// exit code is 0, or 1 when it cannot run; never 2, which would block the tool.
    Hook(Hook),
    /// Connect another agent with Foreword in its own settings
    ///
    /// The change is shown before it is made.
    Install(Install),
    /// Let agents with other habits find the project's AGENTS.md files
    ///
    /// Each AGENTS.md gets a CLAUDE.md that leads to it, and Gemini CLI's project settings name AGENTS.md. A file with a text of
    /// its own is never touched.
    Sync(Sync),
    /// Serve instructions and documents to an agent, as an MCP server on standard input and output
    Mcp(Mcp),
    /// Look at skills, and check them
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Look at a project's skills, and let them be used as they are now
    Trust(Trust),
    /// Take trust back from the skills at a path and below it
    Untrust {
        /// The project, a directory in it, or the skill
        path: PathBuf,
    },
    /// Make a workspace for a project, and propose a first AGENTS.md from what the repository shows
    ///
    /// The workspace is made without asking, where a gateway runs; AGENTS.md is written once you agree, or with --yes.
    Init(Init),
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
    /// Look at what is remembered for later turns, add to it, and forget
    #[command(subcommand)]
    Memory(Memory),
    /// Make and revoke access tokens
    #[command(subcommand)]
    Token(Token),
    /// Print who came in, who was turned away, and who decided what, oldest first
    Audit {
        /// Since when: how long ago, such as `7 days`, or a time such as `2027-01-31T00:00:00Z`; the last 50 entries when
        /// absent
        #[arg(long, value_name = "TIME")]
        since: Option<Since>,
    },
    /// Follow what changes in a workspace
    Events(Events),
    /// Print the JSON Schemas of the protocol as one document, or write them into a directory
    Schema {
        /// The directory to write them to, a file for each type
        directory: Option<PathBuf>,
    },
    /// Print the configuration that holds, and where each value came from
    Config,
    /// Print the manual page, or write all of them into a directory
    Man {
        /// The directory to write them to, a page for each command
        directory: Option<PathBuf>,
    },
    /// Print the script that lets a shell complete commands, flags and names
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The project's directory; the present one when absent
    pub(crate) directory: Option<PathBuf>,
    /// What to call the workspace; the directory's name when absent
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Write the proposed AGENTS.md without asking; never over one that is there
    #[arg(short, long)]
    pub(crate) yes: bool,
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
    /// Name or id of the workspace; when absent the one whose directory this is, or the only one [env: FOREWORD_WORKSPACE]
    #[arg(short, long)]
    pub(crate) workspace: Option<String>,
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
