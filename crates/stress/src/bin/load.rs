//! `load`: puts a gateway process under the steady load of many clients.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints its results")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::ensure;
use clap::{Parser, ValueEnum};
use measure::Machine;
use stress::load::Load;
use test_postgres::{Cluster, Options};

/// Put a gateway under the steady load of many clients
#[derive(Parser)]
struct Arguments {
    /// Minutes to run
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Number of clients
    #[arg(long, default_value_t = 1_000)]
    connections: usize,
    /// Number of workspaces the clients share
    #[arg(long, default_value_t = 100)]
    workspaces: usize,
    /// Calls per second
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// Seed of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Database of the gateway
    #[arg(long, value_enum, default_value_t = Database::Sqlite)]
    database: Database,
    /// The gateway's program; by default the one next to this program
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Database {
    Sqlite,
    Postgres,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = async {
        let load = prepare(Arguments::parse())?;
        let program = load.program.clone();
        let database = if load.postgres.is_some() { "PostgreSQL" } else { "SQLite" };
        let report = load.run().await?;
        println!("{}, on {database}\n{}\n{report}", program.display(), Machine::this());
        anyhow::Ok(())
    };
    match done.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(arguments: Arguments) -> anyhow::Result<Load> {
    let Arguments { minutes, connections, workspaces, rate, seed, database, program } = arguments;
    ensure!(workspaces > 0 && connections >= workspaces, "each workspace needs a connection");
    Ok(Load {
        program: match program {
            Some(program) => program,
            // Cargo builds both programs into the same directory.
            None => {
                std::env::current_exe()?.with_file_name(format!("foreword{}", std::env::consts::EXE_SUFFIX))
            }
        },
        postgres: match database {
            Database::Sqlite => None,
            Database::Postgres => Some(Cluster::start(Options::default())?),
        },
        connections,
        workspaces,
        rate,
        time: Duration::from_secs_f64(minutes * 60.0),
        seed,
    })
}
