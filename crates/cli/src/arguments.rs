//! Definition of the command line.

mod bridge;
mod check;
mod compare;
mod diff;
mod document;
pub(crate) mod expiry;
mod guard;
mod help;
pub(crate) mod manual;
mod memory;
mod profile;
mod prompt;
mod session;
mod skill;
pub(crate) mod spellings;
mod token;
mod transcript;
mod tree;
mod turn;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::bridge::{Hook, Install, Mcp, McpCommand, ScopeName, Sync};
pub(crate) use self::check::Check;
pub(crate) use self::compare::{CompareArguments, MapArguments};
pub(crate) use self::diff::{DiffArguments, FailOn};
pub(crate) use self::document::{Doc, DocSave, InScope};
pub(crate) use self::guard::{GuardCommand, GuardTest};
pub(crate) use self::help::{HelpExtent, command as command_line, with_help};
pub(crate) use self::memory::{Memory, MemoryAdd};
pub(crate) use self::profile::ProfileCommand;
pub(crate) use self::prompt::{Prompt, PromptDifference, PromptSubject};
pub(crate) use self::session::{Resolve, Session};
pub(crate) use self::skill::{SkillCommand, Trust};
pub(crate) use self::token::Token;
pub(crate) use self::transcript::{Transcript, Why};
pub(crate) use self::tree::{Folder, Thread, Workspace};
pub(crate) use self::turn::{NamedTurn, Turn, TurnStart};
use crate::arguments::expiry::Since;
use crate::config::flag::{FileFlags, ServeFlags};
use crate::output::{Color, Format};

/// Show, explain, edit and verify the instructions that coding agents read first
#[derive(Debug, Parser)]
#[command(name = "foreword", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Read this configuration file instead of the one in the home directory
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Directory of the configuration and your own instruction files [env: FOREWORD_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Directory of the gateway's database and token [env: FOREWORD_DATA]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Output format
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// When to use colors
    #[arg(long, global = true, value_enum, default_value = "auto")]
    pub(crate) color: Color,
    /// Print no notes, only data, warnings and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Increase verbosity (repeatable)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print exactly the instruction text that an agent started in a directory gets
    Show {
        /// Directory to start in
        path: Option<PathBuf>,
        #[command(flatten)]
        files: FileFlags,
    },
    /// Explain which instruction files an agent uses in a directory, and why
    Explain {
        /// Directory to explain
        path: Option<PathBuf>,
        /// Include candidates that do not exist
        #[arg(long)]
        all: bool,
        /// Exit with 1 if text of a file is lost
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        files: FileFlags,
    },
    /// Check a tree's instruction files for every agent
    ///
    /// Exits with 1 on errors.
    Check(Check),
    /// Compare what agents read in a directory
    ///
    /// Exits with 1 if one of them would not start there.
    Compare(CompareArguments),
    /// Show what an agent reads in every directory of a tree
    Map(MapArguments),
    /// Explain why an agent ignored a rule, from the transcripts on this machine
    ///
    /// Exits with 0 if the rule was in front of the model in every session, and with 1 otherwise. --verbose adds the evidence.
    Why(Why),
    /// List and show the sessions that agents left on this machine
    #[command(subcommand)]
    Transcript(Transcript),
    /// Compare what agents read between two commits, or a commit and the work tree
    ///
    /// Covers every directory of the Git repository, and needs no checkout. With `--fail-on lost`, exits with 1 if an agent
    /// loses text.
    Diff(DiffArguments),
    /// List and test guards, the enforced rules of instruction files
    #[command(subcommand)]
    Guard(GuardCommand),
    /// List and describe supported agents
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Show what newly applies to paths, for a session kept in a file
    Resolve(Resolve),
    /// Inspect a session kept in a file
    #[command(subcommand)]
    Session(Session),
    /// Explain a directory again whenever something relevant changes
    Watch {
        /// Directory to watch
        path: Option<PathBuf>,
        #[command(flatten)]
        files: FileFlags,
    },
    /// Run as another agent's command hook
    ///
    /// Reads the hook's JSON from standard input and prints the instructions that newly apply to the path of the tool call,
    /// unless the agent loads them itself. Exits with 0, or with 1 if it cannot run; never with 2, which would block the tool.
    Hook(Hook),
    /// Add Foreword to another agent's settings
    ///
    /// Shows the change before making it.
    Install(Install),
    /// Make a project's AGENTS.md files visible to other agents
    ///
    /// Adds a CLAUDE.md link beside each AGENTS.md, and names AGENTS.md in Gemini CLI's project settings. Files with their own
    /// text are never changed.
    Sync(Sync),
    /// Serve instructions and documents as an MCP server over standard input and output
    Mcp(Mcp),
    /// List, show and check skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Trust a project's skills in their current state
    Trust(Trust),
    /// Revoke trust for skills under a path
    Untrust {
        /// Project, directory in it, or skill
        path: PathBuf,
    },
    /// Create a workspace for a project and propose a first AGENTS.md
    ///
    /// The workspace is created if a gateway is running. AGENTS.md is written after you confirm, or with --yes.
    Init(Init),
    /// Start the gateway
    Serve(Serve),
    /// Open the gateway's web console in a browser, signed in with your token
    Console {
        /// Print the address instead; it works once, within a minute
        #[arg(long)]
        print: bool,
    },
    /// Show the gateway's status
    Status,
    /// Diagnose the installation
    Doctor,
    /// Back up the embedded database, even while a gateway uses it
    Backup {
        /// File to create
        file: PathBuf,
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
    },
    /// Restore a backup into a data directory without a database
    Restore {
        /// Backup file
        file: PathBuf,
        /// Keep the tokens in the backup valid; by default all are revoked
        #[arg(long)]
        keep_tokens: bool,
    },
    /// Manage workspaces
    #[command(subcommand)]
    Workspace(Workspace),
    /// Manage the folders of the thread tree
    #[command(subcommand)]
    Folder(Folder),
    /// Manage threads
    #[command(subcommand)]
    Thread(Thread),
    /// Read and edit AGENTS.md documents
    #[command(subcommand)]
    Doc(Doc),
    /// Run turns and inspect them
    #[command(subcommand)]
    Turn(Turn),
    /// Print the prompt of a thread's next turn, or of a directory
    #[command(subcommand)]
    Prompt(Prompt),
    /// Manage memories
    #[command(subcommand)]
    Memory(Memory),
    /// Manage access tokens
    #[command(subcommand)]
    Token(Token),
    /// Print the audit log, oldest first
    Audit {
        /// Start time, as an age such as `7 days` or a time such as `2027-01-31T00:00:00Z` [default: the last 50 entries]
        #[arg(long, value_name = "TIME")]
        since: Option<Since>,
    },
    /// Follow the changes of a workspace
    Events(Events),
    /// Print the JSON Schemas of the protocol, or write them to a directory
    Schema {
        /// Directory for one file per type
        directory: Option<PathBuf>,
    },
    /// Print the effective configuration and its sources
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Print the manual page, or write all pages to a directory
    Man {
        /// Directory for one page per command; `-` prints
        directory: Option<PathBuf>,
    },
    /// Print the completion script of a shell
    Completions {
        /// Shell to complete in
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the value of a key
    Get {
        /// Key, such as `agents.profile`
        key: String,
    },
    /// Show where to set a key; configuration files are edited by hand
    Set {
        /// Key, such as `agents.profile`
        key: String,
        /// Value
        value: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Directory of the project [default: the current directory]
    pub(crate) directory: Option<PathBuf>,
    /// Name of the workspace [default: the directory's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Write the proposed AGENTS.md without asking; never overwrites one
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) flags: ServeFlags,
    /// Accept another or an empty database than the data directory was used with
    #[arg(long)]
    pub(crate) new_database: bool,
    /// Speak JSON-RPC on standard input and output; forwards to the gateway if one is running
    #[arg(long)]
    pub(crate) stdio: bool,
}

/// Workspace of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct InWorkspace {
    /// Name or id of the workspace [default: the one of this directory, or the only one] [env: FOREWORD_WORKSPACE]
    #[arg(short, long)]
    pub(crate) workspace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Start after this sequence number; 0 prints all changes
    #[arg(long, value_name = "SEQ")]
    pub(crate) since: Option<u64>,
    /// Stop after this many changes
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}
