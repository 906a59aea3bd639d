//! `simulate --turns N --seed N`: turns at random, each request checked. Exit code 1 when an invariant is broken.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command tells its user what came of it")]

use std::process::ExitCode;
use std::time::Instant;

use simulation::Simulation;

#[tokio::main]
async fn main() -> ExitCode {
    let simulation = match read(std::env::args().skip(1)) {
        Ok(simulation) => simulation,
        Err(error) => {
            eprintln!("error: {error:#}\nhint: simulate [--turns N] [--seed N]");
            return ExitCode::from(2);
        }
    };
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

fn read(words: impl IntoIterator<Item = String>) -> anyhow::Result<Simulation> {
    let mut simulation = Simulation { turns: 1_000, seed: 1 };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| anyhow::anyhow!("`{word}` needs a number"));
        match word.as_str() {
            "--turns" => simulation.turns = value()?.parse()?,
            "--seed" => simulation.seed = value()?.parse()?,
            other => anyhow::bail!("`{other}` is not known"),
        }
    }
    Ok(simulation)
}
