//! Runs a command with a throw-away PostgreSQL server for its tests:
//!
//! ```text
//! with-postgres cargo nextest run
//! ```
//!
//! Without it every test process would start a server of its own.

use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context as _, bail};
use test_postgres::{Cluster, Options, SERVER_VARIABLE};

fn main() -> anyhow::Result<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else { bail!("usage: with-postgres COMMAND [ARGUMENT]...") };
    let cluster = Cluster::start(Options::fast())?;
    let status = Command::new(&program)
        .args(words)
        .env(SERVER_VARIABLE, cluster.url("postgres"))
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    drop(cluster);
    Ok(exit_code(status))
}

/// Returns the command's exit code, or the one that a shell reports after a signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
