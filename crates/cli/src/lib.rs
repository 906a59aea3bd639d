//! The `foreword` command: parses arguments, calls the crates, prints results.
//!
//! A library with one function, so that it compiles in parallel with its dependencies. A binary would wait for them.

mod arguments;
mod command;
mod completion;
mod config;
mod confirm;
mod context;
mod editor;
mod enum_names;
mod failure;
mod files;
mod output;
mod shell_quote;
mod signals;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, Command, HelpExtent, command_line, spellings, with_help};
use crate::config::variable::LOG_VARIABLE;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    // Must run before any thread is started or anything is logged, because it may replace this process.
    if let Some(exit) = sandbox::run_if_asked() {
        return exit;
    }
    completion::answer_if_asked();
    // clap has checked the matches against the same definition, so conversion errors are usage errors.
    let words = spellings::rewritten(std::env::args_os());
    let matches = command_line_for(&words).try_get_matches_from(&words);
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        // clap would exit with 2, which agents take as an order to block the tool call.
        Err(error) if error.use_stderr() && is_hook(std::env::args_os()) => {
            let _ = error.print();
            return Exit::CheckFailed.into();
        }
        Err(error) => error.exit(),
    };
    let is_hook = matches!(arguments.command, Command::Hook(_));
    arguments.globals.color.apply();
    let output = Output::new(arguments.globals.format).quiet(arguments.globals.quiet);
    match run(arguments, output) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output.failure(&failure);
            // Agents treat any other code as more than a hook that cannot run; 2 would even block the tool call.
            if is_hook { Exit::CheckFailed.into() } else { failure.exit.into() }
        }
    }
}

/// Returns true if a rejected command line was meant for `foreword hook`.
fn is_hook(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.collect();
    spellings::command(&words).is_some_and(|place| words[place] == "hook")
}

/// Returns the command line that reads these words. `help --all` is the help of one with all commands.
fn command_line_for(words: &[OsString]) -> clap::Command {
    let is_all = matches!(words, [_, help, all] if help == "help" && all == "--all");
    if !is_all {
        return command_line();
    }
    let mut command = with_help(HelpExtent::All);
    // Failing to print to a closed stream is not worth a message.
    let _ = command.print_help();
    std::process::exit(0)
}

fn run(arguments: Arguments, output: Output) -> Result<Exit, Failure> {
    start_log(arguments.globals.verbose, output);
    let context = match Context::new(&arguments, output) {
        // `doctor` exists to report a broken configuration, so only other commands fail here.
        Err(failure) if !matches!(arguments.command, Command::Doctor) => return Err(failure),
        context => context,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused_by(Exit::Failed, "could not start", error))?;
    let exit = runtime.block_on(async {
        match context {
            Ok(context) => command::run(arguments.command, context).await,
            Err(failure) => {
                let directories = context::find_directories(&arguments.globals).ok();
                command::gateway::doctor::without_configuration(output, directories.as_ref(), &failure).await
            }
        }
    });
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Log targets that are always disabled.
const SILENT: &[&str] = &["rmcp=off"];

/// Starts logging to standard error: warnings by default, more with `-v`, or as set by `FOREWORD_LOG`.
fn start_log(verbose: u8, output: Output) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let default = || EnvFilter::new(format!("{level},sqlx=warn"));
    let filter = match std::env::var(LOG_VARIABLE) {
        Ok(wanted) if !wanted.is_empty() => EnvFilter::try_new(&wanted).unwrap_or_else(|error| {
            let message = format!("environment variable `{LOG_VARIABLE}` has no effect: {error}");
            output.warning(&message, Some("give a level, such as `info`, or `gateway=debug`"));
            default()
        }),
        _ => default(),
    };
    // This overrides every filter: the MCP library logs whole responses, which may contain keys.
    let filter =
        SILENT.iter().filter_map(|target| target.parse().ok()).fold(filter, EnvFilter::add_directive);
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never)
        .try_init();
}
