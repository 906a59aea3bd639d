//! `cargo xtask attack`, `torture`, `load`, `random-calls` and `simulate`: the long forms of the stress tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::{prerequisites, process};

#[derive(Args)]
pub(crate) struct LoadArguments {
    /// Minutes at the steady rate; the steps past the limits come on top
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Number of connected clients
    #[arg(long, default_value_t = 1_000)]
    connections: u32,
    /// Number of workspaces the clients share
    #[arg(long, default_value_t = 100)]
    workspaces: u32,
    /// Calls a second of all clients together
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// Seed of the random choices; the same seed gives the same calls
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Database of the gateway
    #[arg(long, value_parser = ["sqlite", "postgres"], default_value = "sqlite")]
    database: String,
    /// The `foreword` program; built when absent
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Breaks gateways and databases while clients save; fails if an acknowledged save is lost or stored twice.
pub(crate) fn torture(minutes: u64, seed: u64) -> Result<()> {
    prerequisites::ensure()?;
    // The stress program starts the gateway that is next to it, and Cargo does not build that as a dependency.
    process::run(process::cargo().args(["build", "--quiet", "--package", "foreword"]))?;
    process::run(stress("torture", &[]).args([
        "--minutes",
        &minutes.to_string(),
        "--seed",
        &seed.to_string(),
    ]))
}

/// Attacks gateways with scripts; fails if an attack gets through.
pub(crate) fn attack(only: &str, program: Option<&Path>) -> Result<()> {
    prerequisites::ensure()?;
    if program.is_none() {
        process::run(process::cargo().args(["build", "--quiet", "--package", "foreword"]))?;
    }
    let mut command = stress("attack", &[]);
    command.args(["--only", only]);
    if let Some(program) = program {
        // The command runs in the repository's directory, so a relative path would not resolve there.
        command.arg("--program").arg(std::path::absolute(program)?);
    }
    process::run(&mut command)
}

/// Calls every method with random parameters; fails if an answer breaks a rule.
pub(crate) fn random_calls(minutes: u64, seed: u64) -> Result<()> {
    let mut command = stress("random-calls", &[]);
    process::run(command.args(["--minutes", &minutes.to_string(), "--seed", &seed.to_string()]))
}

/// Runs random turns; fails if a request breaks an invariant.
pub(crate) fn simulate(turns: u32, seed: u64) -> Result<()> {
    process::run(stress("simulate", &[]).args(["--turns", &turns.to_string(), "--seed", &seed.to_string()]))
}

/// Puts a gateway under load. Both programs are optimized builds, because times are measured.
pub(crate) fn load(arguments: &LoadArguments) -> Result<()> {
    if arguments.program.is_none() {
        process::run(process::cargo().args(["build", "--quiet", "--release", "--package", "foreword"]))?;
    }
    let mut command = stress("load", &["--release"]);
    let numbers = [
        ("--minutes", arguments.minutes.to_string()),
        ("--connections", arguments.connections.to_string()),
        ("--workspaces", arguments.workspaces.to_string()),
        ("--rate", arguments.rate.to_string()),
        ("--seed", arguments.seed.to_string()),
    ];
    for (name, number) in numbers {
        command.args([name, &number]);
    }
    command.args(["--database", &arguments.database]);
    if let Some(program) = &arguments.program {
        // The command runs in the repository's directory, so a relative path would not resolve there.
        command.arg("--program").arg(std::path::absolute(program)?);
    }
    process::run(&mut command)
}

/// Returns the command that builds and runs a program of the `stress` crate.
fn stress(program: &str, build: &[&str]) -> Command {
    let mut command = process::cargo();
    command.args(["run", "--quiet"]).args(build).args(["--package", "stress", "--bin", program, "--"]);
    command
}
