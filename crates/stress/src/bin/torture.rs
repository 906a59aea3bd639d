//! `torture [--minutes N] [--seed N]`: half of the time on SQLite, half on PostgreSQL. Exits with 1 if an acknowledged
//! save is lost.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints its results")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use stress::torture::{Database, Torture};
use test_postgres::{Cluster, Options};

/// Kill and freeze gateways while clients save: half of the time on SQLite, half on PostgreSQL
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
            eprintln!("error: {error:#}\nhint: the seed was {}", arguments.seed);
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // Cargo builds both programs into the same directory.
    let program =
        std::env::current_exe()?.with_file_name(format!("foreword{}", std::env::consts::EXE_SUFFIX));
    let time = Duration::from_secs(arguments.minutes * 60 / 2);
    let seed = arguments.seed;
    let sqlite = Torture { program: program.clone(), database: Database::Sqlite, time, seed };
    println!("SQLite, one gateway\n{}\n", sqlite.run().await.context("on SQLite")?);
    // With fsync, unlike in most tests: without it a crash of the server may lose commits, and the check would report
    // them.
    let database = Database::Postgres(Cluster::start(Options::default())?);
    let postgres = Torture { program, database, time, seed };
    println!("PostgreSQL, three gateways\n{}", postgres.run().await.context("on PostgreSQL")?);
    Ok(())
}
