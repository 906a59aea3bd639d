//! The commands, one file each.

mod completions;
mod configuration;
mod doc;
mod events;
mod folder;
mod schema;
mod serve;
mod thread;
mod token;
mod workspace;

use crate::arguments::Command;
use crate::context::Context;
use crate::failure::{Exit, Failure};

/// Runs a command.
pub(crate) async fn run(command: Command, context: Context) -> Result<Exit, Failure> {
    match command {
        Command::Serve(arguments) => serve::run(context, arguments).await,
        Command::Workspace(command) => workspace::run(context, command).await,
        Command::Folder(command) => folder::run(context, command).await,
        Command::Thread(command) => thread::run(context, command).await,
        Command::Doc(command) => doc::run(context, command).await,
        Command::Token(command) => token::run(context, command).await,
        Command::Events(arguments) => events::run(context, arguments).await,
        Command::Schema { directory } => schema::run(&context, &directory),
        Command::Config => configuration::run(&context),
        Command::Completions { shell } => completions::run(shell),
    }
}
