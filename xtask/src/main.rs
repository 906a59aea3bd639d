//! The developer's commands, run as `cargo xtask COMMAND`.
//!
//! Everything a contributor or a build machine does with this repository goes through here, so that both do the
//! same. Its own messages go to stderr and start with `xtask:`. Exit codes: 0 done, 1 a test or a check failed, 2 wrong
//! usage, 3 it could not be done (something is missing or could not be started).
#![expect(clippy::print_stderr, reason = "a command tells its user what it does")]

mod agents;
mod bench;
mod check;
mod desktop;
mod dist;
mod failure;
mod fuzz;
mod gate;
mod generate;
mod language;
mod metadata;
mod prerequisites;
mod process;
mod real_model;
mod size;
mod stress;
mod survey;
mod test;
mod tool;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use dist::Program;
use gate::Gate;
use size::Measured;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The developer's commands")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run all tests on both databases; installs or names what is missing
    Test {
        /// Test the native application instead, in windows without a screen
        #[arg(long)]
        desktop: bool,
        /// Passed on to nextest (or `cargo test`), such as a part of a test's name; doc tests run only without
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
    /// Run one benchmark
    Bench {
        /// Which
        #[arg(value_parser = PossibleValuesParser::new(bench::names()))]
        name: String,
        /// Passed on to the benchmark
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
    /// Feed garbage to the parts that read what others wrote
    Fuzz {
        /// Which; all when absent
        #[arg(value_parser = PossibleValuesParser::new(fuzz::names().iter().copied()))]
        target: Option<String>,
        /// How long each
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
    /// Run turns at random against a real gateway, and check every request that the model gets
    Simulate {
        /// How many turns
        #[arg(long, default_value_t = 1_000)]
        turns: u32,
        /// The seed of the random choices; the same seed gives the same turns
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Kill and freeze gateways and PostgreSQL while clients save, and check that nothing acknowledged is lost
    Torture {
        /// How long, half of it on SQLite and half on PostgreSQL
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// The seed of the random choices; the same seed gives the same faults, though not the same moments
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Call every method as everybody with parameters at random, and check every answer
    RandomCalls {
        /// How long, half of it on SQLite and half on PostgreSQL
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// The seed of the random choices; the same seed gives the same calls
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Install real coding agents and let them run our hook, offline, against a scripted model
    Agents,
    /// Install a small real model and try turns with it through three APIs, offline after the installation
    RealModel,
    /// Install real coding agents and hold our profiles against them, offline, over layouts made at random
    Oracle(agents::OracleArguments),
    /// Print which agent loses what in the repositories that are checked out in a folder; clones nothing
    Survey {
        /// The folder
        folder: PathBuf,
    },
    /// Let many clients call a gateway at a steady rate, measure what it takes, and go past its limits; optimised builds
    Load(stress::LoadArguments),
    /// Write schemas/ and docs/protocol.md from the types of the protocol
    Generate {
        /// Write nothing; fail when a file differs
        #[arg(long)]
        check: bool,
    },
    /// Measure the language of comments and docs
    Language {
        /// Directories or files whose matches to list; the figures of every crate when absent
        paths: Vec<PathBuf>,
    },
    /// Count the instructions of pieces of work under valgrind and hold them against the counts on record
    Gate {
        /// Write the counts down instead
        #[arg(long)]
        record: bool,
    },
    /// Install the command, pack it with completions, man pages and licences, and try the archive in an empty home
    Dist {
        /// The profile to build with
        #[arg(long, default_value = "dist")]
        profile: String,
        /// A command that is built already, to be packed instead
        #[arg(long, value_name = "FILE", conflicts_with = "profile")]
        program: Option<PathBuf>,
    },
    /// Draw the pictures of the native application in the docs anew
    Pictures,
    /// Make a site of the pages with mdBook, and look at its links
    Book,
    /// Build the command from nothing and print what that cost and how large it is; takes minutes
    Size {
        /// The native application instead
        #[arg(long)]
        desktop: bool,
        /// Which profile, such as `dist`
        #[arg(long, default_value = "release")]
        profile: String,
    },
    /// Everything but the tests: formatting, clippy, docs, generated files, the tree's own rules, instruction
    /// counts, dependencies
    Check,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Test { desktop: true, arguments } => desktop::run(root(), &arguments),
        Task::Test { desktop: false, arguments } => test::run(&arguments),
        Task::Bench { name, arguments } => bench::run(&name, &arguments),
        Task::Fuzz { target, seconds } => fuzz::run(target.as_deref(), seconds),
        Task::Simulate { turns, seed } => stress::simulate(turns, seed),
        Task::Torture { minutes, seed } => stress::torture(minutes, seed),
        Task::RandomCalls { minutes, seed } => stress::random_calls(minutes, seed),
        Task::Agents => agents::run(root()),
        Task::RealModel => real_model::run(root()),
        Task::Oracle(arguments) => agents::oracle(root(), &arguments),
        Task::Survey { folder } => survey::run(&folder),
        Task::Load(arguments) => stress::load(&arguments),
        Task::Generate { check: false } => generate::write(root()),
        Task::Generate { check: true } => generate::check(root()),
        Task::Language { paths } => language::print(root(), &paths),
        Task::Gate { record: true } => gate::run(root(), Gate::Record),
        Task::Gate { record: false } => gate::run(root(), Gate::Check),
        Task::Dist { program: Some(program), .. } => dist::run(root(), Program::Built(program)),
        Task::Dist { profile, program: None } => dist::run(root(), Program::Install { profile }),
        Task::Pictures => desktop::draw_pictures(root()),
        Task::Book => check::book::run(root()),
        Task::Size { desktop: true, profile } => size::run(Measured::Desktop, &profile),
        Task::Size { desktop: false, profile } => size::run(Measured::Command, &profile),
        Task::Check => check::run(root()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: error: {error:#}");
            failure::exit_code(&error)
        }
    }
}

/// The repository's directory.
fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Tells the user what is being done.
fn print_status(line: impl std::fmt::Display) {
    eprintln!("xtask: {line}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Arguments;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
