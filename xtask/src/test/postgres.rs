//! A temporary PostgreSQL for another program.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::print_status;
use crate::process::{cargo, judge, shown};

/// Program of `test-postgres` that starts a cluster, runs its arguments as a command, and stops the cluster.
const PROGRAM: &str = "with-postgres";

pub(crate) struct WithPostgres {
    executable: PathBuf,
}

impl WithPostgres {
    /// Builds the program as part of a `cargo build` with these arguments.
    ///
    /// It is then started by its path instead of `cargo run`, so that a cargo inside it sees the same environment and
    /// compiles the same things as one outside.
    pub(crate) fn build(arguments: &[&str]) -> Result<Self> {
        let mut command = cargo();
        command.arg("build").args(arguments);
        print_status(shown(&command));
        // Cargo names the built file in these messages. Its path depends on settings and variables, so it is not
        // guessed.
        command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
        let mut child = command.spawn().context("failed to start cargo")?;
        let mut executable = None;
        if let Some(messages) = child.stdout.take() {
            for line in BufReader::new(messages).lines() {
                executable = executable.or(executable_of(PROGRAM, &line?));
            }
        }
        judge(&command, child.wait()?)?;
        let executable = executable.with_context(|| format!("the build produced no program `{PROGRAM}`"))?;
        Ok(Self { executable })
    }

    /// Returns a command that runs `command` with PostgreSQL.
    pub(crate) fn around(&self, command: &Command) -> Command {
        let mut outer = Command::new(&self.executable);
        outer.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            set(&mut outer, name, value);
        }
        if let Some(directory) = command.get_current_dir() {
            outer.current_dir(directory);
        }
        outer
    }
}

fn set(command: &mut Command, name: &OsStr, value: Option<&OsStr>) {
    match value {
        Some(value) => command.env(name, value),
        None => command.env_remove(name),
    };
}

/// Returns the executable named in one of cargo's messages, ignoring the program's unit tests.
fn executable_of(program: &str, message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_program = message["reason"] == "compiler-artifact"
        && message["target"]["name"] == program
        && message["profile"]["test"] == false;
    is_program.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_distinguished_from_its_unit_tests() {
        let message = |test| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"with-postgres"}},"profile":{{"test":{test}}},"executable":"/t/with-postgres"}}"#
            )
        };
        assert_eq!(executable_of("with-postgres", &message(false)), Some("/t/with-postgres".into()));
        assert_eq!(executable_of("with-postgres", &message(true)), None);
        assert_eq!(executable_of("other", &message(false)), None);
        assert_eq!(executable_of("with-postgres", "   Compiling"), None);
    }

    #[test]
    fn the_inner_command_keeps_arguments_and_environment() {
        let with_postgres = WithPostgres { executable: "/t/with-postgres".into() };
        let mut inner = Command::new("cargo");
        inner.args(["nextest", "run"]).env("A", "1").env_remove("B").current_dir("/");
        let outer = with_postgres.around(&inner);
        assert_eq!(shown(&outer), "with-postgres cargo nextest run");
        assert_eq!(outer.get_envs().count(), 2);
        assert_eq!(outer.get_current_dir(), Some("/".as_ref()));
    }
}
