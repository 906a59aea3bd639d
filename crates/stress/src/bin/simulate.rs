//! `simulate --turns N --seed N`: turns at random, each request checked. Exit code 1 when an invariant is broken.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command tells its user what came of it")]

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use stress::simulation::Simulation;

/// Runs turns at random, and checks each request
#[derive(Parser)]
struct Arguments {
    /// How many
    #[arg(long, default_value_t = 1_000)]
    turns: u32,
    /// The seed of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { turns, seed } = Arguments::parse();
    let simulation = Simulation { turns, seed };
    let begun = Instant::now();
    match simulation.run().await {
        Ok(report) => {
            println!("{report}\n{} seconds", begun.elapsed().as_secs());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
