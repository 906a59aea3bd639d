//! `cargo xtask load`: many clients of one gateway.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::process;

#[derive(Args)]
pub(crate) struct LoadArguments {
    /// How long at the steady rate; what happens past the limits comes on top
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// How many clients are connected
    #[arg(long, default_value_t = 1_000)]
    connections: u32,
    /// How many workspaces they are in
    #[arg(long, default_value_t = 100)]
    workspaces: u32,
    /// Calls a second of all clients together
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// The seed of the random choices; the same seed gives the same calls
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the gateway keeps its data
    #[arg(long, value_parser = ["sqlite", "postgres"], default_value = "sqlite")]
    database: String,
    /// The `foreword` program; one is built when absent
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Builds what is needed, optimised, because times are measured, and runs it.
pub(crate) fn run(arguments: &LoadArguments) -> Result<()> {
    if arguments.program.is_none() {
        process::run(process::cargo().args(["build", "--quiet", "--release", "--package", "foreword"]))?;
    }
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--release", "--package", "load", "--"]);
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
        // The command runs in the repository's directory.
        command.arg("--program").arg(std::path::absolute(program)?);
    }
    process::run(&mut command)
}
