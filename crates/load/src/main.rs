//! `load [--minutes N] [--connections N] [--workspaces N] [--rate N] [--seed N] [--database sqlite|postgres] [--program PATH]`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command tells its user what came of it")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use load::Load;
use measure::Machine;
use test_postgres::{Cluster, Options};

const USAGE: &str = "load [--minutes N] [--connections N] [--workspaces N] [--rate N] [--seed N] \
                     [--database sqlite|postgres] [--program PATH]";

#[tokio::main]
async fn main() -> ExitCode {
    let load = match read(std::env::args().skip(1)) {
        Ok(load) => load,
        Err(error) => {
            eprintln!("error: {error:#}\nhint: {USAGE}");
            return ExitCode::from(2);
        }
    };
    let (program, database) =
        (load.program.clone(), if load.postgres.is_some() { "PostgreSQL" } else { "SQLite" });
    match load.run().await {
        Ok(report) => {
            println!("{}, on {database}\n{}\n{report}", program.display(), Machine::this());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn read(words: impl IntoIterator<Item = String>) -> anyhow::Result<Load> {
    // Both are built into the same directory.
    let beside = std::env::current_exe()?.with_file_name(format!("foreword{}", std::env::consts::EXE_SUFFIX));
    let mut load = Load {
        program: beside,
        postgres: None,
        connections: 1_000,
        workspaces: 100,
        rate: 500,
        time: Duration::from_secs(60),
        seed: 1,
    };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--minutes" => load.time = Duration::from_secs_f64(value()?.parse::<f64>()? * 60.0),
            "--connections" => load.connections = value()?.parse()?,
            "--workspaces" => load.workspaces = value()?.parse()?,
            "--rate" => load.rate = value()?.parse()?,
            "--seed" => load.seed = value()?.parse()?,
            "--program" => load.program = PathBuf::from(value()?),
            "--database" => match value()?.as_str() {
                "sqlite" => load.postgres = None,
                "postgres" => load.postgres = Some(Cluster::start(Options::default())?),
                other => bail!("`{other}` is no database: sqlite or postgres"),
            },
            other => bail!("`{other}` is not known"),
        }
    }
    ensure!(load.workspaces > 0 && load.connections >= load.workspaces, "each workspace needs a connection");
    Ok(load)
}
