//! The commands.

mod doc;
mod events;
mod explain;
mod folder;
mod prompt;
pub(crate) mod reference;
mod resolve;
mod serve;
mod session;
mod thread;
mod token;
mod turn;
mod watch;
mod workspace;

use crate::arguments::Command;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::Absent;

pub(crate) async fn run(command: Command, context: Context) -> Result<Exit, Failure> {
    match command {
        Command::Show { path, .. } => explain::show(&context, path.as_deref()),
        Command::Explain { path, all, .. } => {
            explain::run(&context, path.as_deref(), if all { Absent::Listed } else { Absent::LeftOut })
        }
        Command::Resolve(arguments) => resolve::run(&context, &arguments),
        Command::Session(command) => session::run(&context, &command),
        Command::Watch { path, .. } => watch::run(&context, path.as_deref()).await,
        Command::Serve(arguments) => serve::run(context, arguments).await,
        Command::Workspace(command) => workspace::run(context, command).await,
        Command::Folder(command) => folder::run(context, command).await,
        Command::Thread(command) => thread::run(context, command).await,
        Command::Doc(command) => doc::run(context, command).await,
        Command::Turn(command) => turn::run(context, command).await,
        Command::Prompt(arguments) => prompt::run(context, arguments).await,
        Command::Token(command) => token::run(context, command).await,
        Command::Events(arguments) => events::run(context, arguments).await,
        Command::Schema { directory } => reference::schema(&context, &directory),
        Command::Config => reference::config(&context),
        Command::Completions { shell } => reference::completions(shell),
    }
}
