//! `simulate --turns N --seed N`: runs random turns and checks every request. Exits with 1 if an invariant is violated.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints its results")]

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use stress::simulation::Simulation;

/// Run random turns and check every request
#[derive(Parser)]
struct Arguments {
    /// Number of turns
    #[arg(long, default_value_t = 1_000)]
    turns: u32,
    /// Seed of the random choices
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
