//! The commands, grouped by what they work on.

mod agents;
mod documents;
mod files;
pub(crate) mod gateway;
pub(crate) mod transcripts;
mod turns;

use ::compare::Absent;
use ::gateway::{Existing, RestoredTokens};

use crate::arguments::{Command, McpCommand};
use crate::completion;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::LostText;

pub(crate) async fn run(command: Command, context: Context) -> Result<Exit, Failure> {
    match command {
        Command::Show { path, .. } => files::explain::show(&context, path.as_deref()),
        Command::Explain { path, all, check, .. } => {
            // Named variants instead of booleans: two flags of the same type could be swapped in a call without an
            // error of the compiler.
            let absent = if all { Absent::Listed } else { Absent::LeftOut };
            let lost_text = if check { LostText::Fails } else { LostText::IsReported };
            files::explain::run(&context, path.as_deref(), absent, lost_text)
        }
        Command::Check(arguments) => files::check::run(&context, &arguments),
        Command::Compare(arguments) => files::compare::run(&context, &arguments),
        Command::Diff(arguments) => files::diff::run(&context, &arguments),
        Command::Guard(command) => files::guard::run(&context, &command),
        Command::Map(arguments) => files::map::run(&context, &arguments),
        Command::Why(arguments) => transcripts::why::run(&context, &arguments).await,
        Command::Transcript(command) => transcripts::transcript::run(&context, &command),
        Command::Profile(command) => files::profile::run(&context, &command),
        Command::Resolve(arguments) => files::resolve::run(&context, &arguments),
        Command::Session(command) => files::session::run(&context, &command),
        Command::Watch { path, .. } => files::watch::run(&context, path.as_deref()).await,
        Command::Hook(arguments) => agents::hook::run(&context, &arguments.agent),
        Command::Install(arguments) => agents::install::run(&context, &arguments),
        Command::Mcp(arguments) => match arguments.command {
            Some(McpCommand::Status) => agents::mcp_status::run(&context).await,
            None => agents::mcp::run(context, &arguments).await,
        },
        Command::Sync(arguments) => agents::sync::run(&context, &arguments),
        Command::Skill(command) => agents::skill::run(&context, &command),
        Command::Trust(arguments) => agents::trust::run(&context, &arguments),
        Command::Untrust { path } => agents::trust::untrust(&context, &path),
        Command::Init(arguments) => files::init::run(&context, arguments).await,
        Command::Serve(arguments) => gateway::serve::run(context, arguments).await,
        Command::Console { print } => {
            let action = if print { gateway::console::Action::Print } else { gateway::console::Action::Open };
            gateway::console::run(&context, action).await
        }
        Command::Status => gateway::status::run(&context).await,
        Command::Doctor => gateway::doctor::run(&context).await,
        Command::Backup { file, force } => {
            let existing = if force { Existing::Overwritten } else { Existing::Refused };
            gateway::backup::back_up(&context, &file, existing).await
        }
        Command::Restore { file, keep_tokens } => {
            let tokens = if keep_tokens { RestoredTokens::Kept } else { RestoredTokens::Revoked };
            gateway::backup::restore(&context, &file, tokens).await
        }
        Command::Workspace(command) => documents::workspace::run(context, command).await,
        Command::Folder(command) => documents::folder::run(context, command).await,
        Command::Thread(command) => documents::thread::run(context, command).await,
        Command::Doc(command) => documents::doc::run(context, command).await,
        Command::Turn(command) => turns::turn::run(context, command).await,
        Command::Prompt(arguments) => turns::prompt::run(context, arguments).await,
        Command::Memory(command) => documents::memory::run(context, command).await,
        Command::Token(command) => gateway::token::run(context, command).await,
        Command::Audit { since } => gateway::audit::run(context, since).await,
        Command::Events(arguments) => documents::events::run(context, arguments).await,
        Command::Schema { directory } => gateway::reference::schema(&context, directory.as_deref()),
        Command::Config { command: None } => gateway::reference::config(&context),
        Command::Config { command: Some(command) } => gateway::reference::config_key(&context, &command),
        Command::Man { directory } => gateway::reference::manual(&context, directory.as_deref()),
        Command::Completions { shell } => completion::script(shell),
    }
}
