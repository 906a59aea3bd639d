//! Developer commands, run as `cargo xtask COMMAND`.
//!
//! Contributors and build machines use the same commands. Messages go to stderr and start with `xtask:`. Exit codes:
//! 0 success, 1 a test or check failed, 2 wrong usage, 3 the command could not run because something is missing.
#![expect(clippy::print_stderr, reason = "a command reports what it does")]

mod agents;
mod bench;
mod check;
mod console;
mod counterparts;
mod desktop;
mod dist;
mod failure;
mod fuzz;
mod gate;
mod generate;
mod language;
mod metadata;
mod missing_paths;
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

use console::Build;
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
    /// Run all tests on both databases; installs or lists missing prerequisites
    Test {
        /// Test the native application instead, in headless windows
        #[arg(long)]
        desktop: bool,
        /// Test the web console instead, in a headless browser
        #[arg(long, conflicts_with = "desktop")]
        console: bool,
        /// Arguments for nextest (or `cargo test`), such as part of a test's name; without any, doc tests run too
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
    /// Build the files of the web console; needs Node
    Console {
        /// Write nothing; fail if a fresh build differs from the committed files
        #[arg(long)]
        check: bool,
    },
    /// Run one benchmark
    Bench {
        /// Name of the benchmark
        #[arg(value_parser = PossibleValuesParser::new(bench::names()))]
        name: String,
        /// Arguments for the benchmark
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
    /// Fuzz the parts that read untrusted files
    Fuzz {
        /// Name of the target; all by default
        #[arg(value_parser = PossibleValuesParser::new(fuzz::names().iter().copied()))]
        target: Option<String>,
        /// Seconds per target
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
    /// Run random turns against a real gateway and check every request to the model
    Simulate {
        /// Number of turns
        #[arg(long, default_value_t = 1_000)]
        turns: u32,
        /// Seed of the random choices; the same seed gives the same turns
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Kill and freeze gateways and PostgreSQL while clients save; check that no acknowledged save is lost
    Torture {
        /// Minutes to run, half of them on SQLite and half on PostgreSQL
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// Seed of the random choices; the same seed gives the same faults, though not the same moments
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Attack real gateways with scripts; prints the table of attempts and results
    Attack {
        /// Run only attacks whose name contains this text
        #[arg(long, default_value = "")]
        only: String,
        /// The `foreword` program; built when absent
        #[arg(long)]
        program: Option<PathBuf>,
    },
    /// Call every method in every role with random parameters and check every answer
    RandomCalls {
        /// Minutes to run, half of them on SQLite and half on PostgreSQL
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// Seed of the random choices; the same seed gives the same calls
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Install real coding agents and test our hook with them, offline, against a scripted model
    Agents,
    /// Install a small real model and try turns with it through three APIs, offline after the installation
    RealModel,
    /// Install real coding agents and compare our profiles with them, offline, over random layouts
    Oracle(agents::OracleArguments),
    /// Print which agents lose text in the repositories in a folder; clones nothing
    Survey {
        /// Folder with checked-out repositories
        folder: PathBuf,
    },
    /// Print the findings of FW008 in the repositories in a folder and the share of wrong ones; clones nothing
    MissingPaths {
        /// Folder with checked-out repositories, each named `OWNER+NAME@COMMIT`
        folder: PathBuf,
    },
    /// Measure a gateway under the load of many clients, up to and past its limits; optimized builds
    Load(stress::LoadArguments),
    /// Write schemas/ and docs/protocol.md from the types of the protocol
    Generate {
        /// Write nothing; fail if a file differs
        #[arg(long)]
        check: bool,
    },
    /// Measure the language of comments and docs
    Language {
        /// Directories or files whose matches to list; the figures of every crate when absent
        paths: Vec<PathBuf>,
    },
    /// Count instructions under valgrind and compare them with the recorded counts
    Gate {
        /// Record the counts instead
        #[arg(long)]
        record: bool,
    },
    /// Build the release archive with completions, man pages and licenses, and try it in an empty home
    Dist {
        /// Build profile
        #[arg(long, default_value = "dist")]
        profile: String,
        /// Package this command instead of building one
        #[arg(long, value_name = "FILE", conflicts_with = "profile")]
        program: Option<PathBuf>,
    },
    /// Update the screenshots of the native application in the docs
    Pictures,
    /// Build the site with mdBook and check its links
    Book,
    /// Print the cost of a cold build and the size of the command; takes minutes
    Size {
        /// Build the native application instead
        #[arg(long)]
        desktop: bool,
        /// Build profile, such as `dist`
        #[arg(long, default_value = "release")]
        profile: String,
    },
    /// Run every check that is not a test: formatting, clippy, docs, generated files, the tree's own rules,
    /// instruction counts, dependencies
    Check,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Test { desktop: true, arguments, .. } => desktop::run(root(), &arguments),
        Task::Test { console: true, arguments, .. } => console::run_tests(root(), &arguments),
        Task::Test { arguments, .. } => test::run(&arguments),
        Task::Console { check: false } => console::build(root(), Build::Write),
        Task::Console { check: true } => console::build(root(), Build::Check),
        Task::Bench { name, arguments } => bench::run(&name, &arguments),
        Task::Fuzz { target, seconds } => fuzz::run(target.as_deref(), seconds),
        Task::Simulate { turns, seed } => stress::simulate(turns, seed),
        Task::Torture { minutes, seed } => stress::torture(minutes, seed),
        Task::Attack { only, program } => stress::attack(&only, program.as_deref()),
        Task::RandomCalls { minutes, seed } => stress::random_calls(minutes, seed),
        Task::Agents => agents::run(root()),
        Task::RealModel => real_model::run(root()),
        Task::Oracle(arguments) => agents::oracle(root(), &arguments),
        Task::Survey { folder } => survey::run(&folder),
        Task::MissingPaths { folder } => missing_paths::run(&folder),
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

// Fixed when this program is built, so the commands work from any directory of the tree.
fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

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
