//! The commands.

mod audit;
mod backup;
mod check;
mod compare;
mod doc;
pub(crate) mod doctor;
mod events;
mod explain;
mod folder;
mod hook;
mod init;
mod install;
mod map;
mod mcp;
mod mcp_status;
mod memory;
mod profile;
mod prompt;
pub(crate) mod reference;
mod resolve;
mod serve;
mod session;
mod skill;
mod status;
mod sync;
mod thread;
mod token;
mod trust;
mod turn;
mod watch;
mod workspace;

use ::compare::Absent;
use gateway::{Existing, RestoredTokens};

use crate::arguments::{Command, McpCommand};
use crate::completion;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::LostText;

pub(crate) async fn run(command: Command, context: Context) -> Result<Exit, Failure> {
    match command {
        Command::Show { path, .. } => explain::show(&context, path.as_deref()),
        Command::Explain { path, all, check, .. } => {
            let absent = if all { Absent::Listed } else { Absent::LeftOut };
            let lost_text = if check { LostText::Fails } else { LostText::IsReported };
            explain::run(&context, path.as_deref(), absent, lost_text)
        }
        Command::Check(arguments) => check::run(&context, &arguments),
        Command::Compare(arguments) => compare::run(&context, &arguments),
        Command::Map(arguments) => map::run(&context, &arguments),
        Command::Profile(command) => profile::run(&context, &command),
        Command::Resolve(arguments) => resolve::run(&context, &arguments),
        Command::Session(command) => session::run(&context, &command),
        Command::Watch { path, .. } => watch::run(&context, path.as_deref()).await,
        Command::Hook(arguments) => hook::run(&context, &arguments.agent),
        Command::Install(arguments) => install::run(&context, &arguments),
        Command::Mcp(arguments) => match arguments.command {
            Some(McpCommand::Status) => mcp_status::run(&context).await,
            None => mcp::run(&context, &arguments).await,
        },
        Command::Sync(arguments) => sync::run(&context, &arguments),
        Command::Skill(command) => skill::run(&context, &command),
        Command::Trust(arguments) => trust::run(&context, &arguments),
        Command::Untrust { path } => trust::untrust(&context, &path),
        Command::Init(arguments) => init::run(&context, arguments).await,
        Command::Serve(arguments) => serve::run(context, arguments).await,
        Command::Status => status::run(&context).await,
        Command::Doctor => doctor::run(&context).await,
        Command::Backup { file, force } => {
            let existing = if force { Existing::Overwritten } else { Existing::Refused };
            backup::back_up(&context, &file, existing).await
        }
        Command::Restore { file, keep_tokens } => {
            let tokens = if keep_tokens { RestoredTokens::Kept } else { RestoredTokens::Revoked };
            backup::restore(&context, &file, tokens).await
        }
        Command::Workspace(command) => workspace::run(context, command).await,
        Command::Folder(command) => folder::run(context, command).await,
        Command::Thread(command) => thread::run(context, command).await,
        Command::Doc(command) => doc::run(context, command).await,
        Command::Turn(command) => turn::run(context, command).await,
        Command::Prompt(arguments) => prompt::run(context, arguments).await,
        Command::Memory(command) => memory::run(context, command).await,
        Command::Token(command) => token::run(context, command).await,
        Command::Audit { since } => audit::run(context, since).await,
        Command::Events(arguments) => events::run(context, arguments).await,
        Command::Schema { directory } => reference::schema(&context, directory.as_deref()),
        Command::Config => reference::config(&context),
        Command::Man { directory } => reference::manual(&context, directory.as_deref()),
        Command::Completions { shell } => completion::script(shell),
    }
}
