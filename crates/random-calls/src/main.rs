//! `random-calls [--minutes N] [--seed N]`: half of the time on SQLite, half on PostgreSQL. Exit code 1 when an answer is not as
//! it must be.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command tells its user what came of it")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use gateway::Database;
use random_calls::RandomCalls;
use test_postgres::{Cluster, Options};

struct Arguments {
    minutes: u64,
    seed: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("error: {error:#}\nhint: random-calls [--minutes N] [--seed N]");
            return ExitCode::from(2);
        }
    };
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
    let cluster = Cluster::start(Options::fast())?;
    let database = Some(Database::Postgres(cluster.create_database()?));
    let postgres = RandomCalls { database, seed: seed.wrapping_add(1), time };
    println!("PostgreSQL\n{}", postgres.run().await.context("on PostgreSQL")?);
    Ok(())
}

fn read(words: impl IntoIterator<Item = String>) -> anyhow::Result<Arguments> {
    let mut arguments = Arguments { minutes: 10, seed: 1 };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a number"));
        match word.as_str() {
            "--minutes" => arguments.minutes = value()?.parse()?,
            "--seed" => arguments.seed = value()?.parse()?,
            other => bail!("`{other}` is not known"),
        }
    }
    Ok(arguments)
}
