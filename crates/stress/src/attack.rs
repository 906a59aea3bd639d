//! Scripted attacks against real gateway processes: by clients, commands, files and faults.
//!
//! Every attack counts its attempts and checks the outcome from outside, never by what the gateway reports about itself.
//! SECURITY.md quotes the table that `cargo xtask attack` prints.

mod access;
mod commands;
mod disk;
mod flood;
mod http;
mod stage;

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

/// A run of all attacks.
#[derive(Debug, Clone)]
pub struct Attack {
    /// The `foreword` program.
    pub program: PathBuf,
    /// Part of the names of the attacks to run; empty for all.
    pub only: String,
}

/// Result of one attack.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub attempts: usize,
    /// Measured values, for the table.
    pub figures: String,
    /// Attempts that succeeded, described for a reader.
    pub breaches: Vec<String>,
}

impl Outcome {
    fn new(attempts: usize, figures: impl Into<String>, breaches: Vec<String>) -> Self {
        Self { attempts, figures: figures.into(), breaches }
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Outcome>> + Send + 'a>>;

/// An attack and its description.
struct Scripted {
    name: &'static str,
    shown: &'static str,
    run: fn(&Attack) -> Running<'_>,
}

const SCRIPTED: &[Scripted] = &[
    Scripted {
        name: "mcp-unread",
        shown: "one reader sends batches of 64 `document_get` to `/mcp` and reads no answer",
        run: |attack| Box::pin(flood::unread_batches(attack, flood::Endpoint::Mcp)),
    },
    Scripted {
        name: "rpc-unread",
        shown: "one reader sends batches of 64 documents to `/rpc` and reads no answer",
        run: |attack| Box::pin(flood::unread_batches(attack, flood::Endpoint::Rpc)),
    },
    Scripted {
        name: "websocket-unread",
        shown: "the same over WebSockets",
        run: |attack| Box::pin(flood::unread_websockets(attack)),
    },
    Scripted {
        name: "mcp-pings",
        shown: "another client's `ping` during 30 concurrent batches",
        run: |attack| Box::pin(flood::pings_during_batches(attack)),
    },
    Scripted {
        name: "mcp-sessions",
        shown: "32 tokens open 32 `/mcp` sessions each; then an owner and a new reader start one",
        run: |attack| Box::pin(flood::sessions(attack)),
    },
    Scripted {
        name: "mcp-names",
        shown: "one reader starts sessions with client names of 256 KiB",
        run: |attack| Box::pin(flood::long_names(attack)),
    },
    Scripted {
        name: "tokens",
        shown: "made up, altered, expired and revoked tokens at every route",
        run: |attack| Box::pin(access::tokens(attack)),
    },
    Scripted {
        name: "workspaces",
        shown: "every method with a token of another workspace",
        run: |attack| Box::pin(access::workspaces(attack)),
    },
    Scripted {
        name: "hosts",
        shown: "foreign `Host` and `Origin` headers, single and repeated",
        run: |attack| Box::pin(access::hosts(attack)),
    },
    Scripted {
        name: "planted-files",
        shown: "`write_file` to settings, hooks and rules of agents",
        run: |attack| Box::pin(commands::planted_files(attack)),
    },
    Scripted {
        name: "planted-isolated",
        shown: "the same by commands at level `isolated`",
        run: |attack| Box::pin(commands::planted_by_commands(attack, "isolated")),
    },
    Scripted {
        name: "planted-confined",
        shown: "the same by commands at level `confined`",
        run: |attack| Box::pin(commands::planted_by_commands(attack, "confined")),
    },
    Scripted {
        name: "processes",
        shown: "`prlimit`, `renice`, `taskset`, `ionice`, `chrt` and `kill` on the gateway at level `confined`",
        run: |attack| Box::pin(commands::processes(attack)),
    },
    Scripted {
        name: "killed-during-command",
        shown: "the gateway is killed while a command has changed AGENTS.md and a Git hook",
        run: |attack| Box::pin(commands::killed_during_command(attack)),
    },
    Scripted {
        name: "damaged-pages",
        shown: "pages of the SQLite file are overwritten; then start, `/readyz` and saves",
        run: |attack| Box::pin(disk::damaged_pages(attack)),
    },
];

/// Results of a run.
#[derive(Debug)]
pub struct Report(Vec<(&'static str, &'static str, Result<Outcome, String>)>);

impl Attack {
    /// Runs the attacks one after another, each against a gateway of its own.
    pub async fn run(&self) -> Report {
        let mut results = Vec::new();
        for scripted in SCRIPTED.iter().filter(|scripted| scripted.name.contains(&self.only)) {
            let outcome = (scripted.run)(self).await.map_err(|error| format!("{error:#}"));
            results.push((scripted.name, scripted.shown, outcome));
        }
        Report(results)
    }
}

impl Report {
    /// Returns true if every attack ran and none succeeded.
    pub fn is_held(&self) -> bool {
        self.0.iter().all(|(_, _, result)| result.as_ref().is_ok_and(|outcome| outcome.breaches.is_empty()))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| attack | attempts | got through | measured |\n| --- | --- | --- | --- |")?;
        for (_, shown, result) in &self.0 {
            match result {
                Ok(Outcome { attempts, figures, breaches }) => {
                    writeln!(formatter, "| {shown} | {attempts} | {} | {figures} |", breaches.len())?;
                }
                Err(error) => writeln!(formatter, "| {shown} | | | not run: {error} |")?,
            }
        }
        for (name, _, result) in &self.0 {
            for breach in result.iter().flat_map(|outcome| &outcome.breaches).take(20) {
                writeln!(formatter, "{name}: {breach}")?;
            }
        }
        Ok(())
    }
}
