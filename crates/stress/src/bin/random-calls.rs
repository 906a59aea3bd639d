//! `random-calls [--minutes N] [--seed N]`: half of the time on SQLite, half on PostgreSQL. Exits with 1 if an answer
//! breaks a rule.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints its results")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use gateway::Database;
use stress::random_calls::RandomCalls;
use test_postgres::{Cluster, Options};

/// Call every method with random parameters: half of the time on SQLite, half on PostgreSQL
#[derive(Parser)]
struct Arguments {
    /// Minutes to run
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Seed of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let time = Duration::from_secs(arguments.minutes * 60 / 2);
    let seed = arguments.seed;
    let sqlite = RandomCalls { database: None, seed, time };
    println!("SQLite\n{}\n", sqlite.run().await.context("on SQLite")?);
    // Nothing is killed here, so the server may run without fsync.
    let cluster = Cluster::start(Options::fast())?;
    let database = Some(Database::Postgres(cluster.create_database()?));
    let postgres = RandomCalls { database, seed: seed.wrapping_add(1), time };
    println!("PostgreSQL\n{}", postgres.run().await.context("on PostgreSQL")?);
    Ok(())
}
