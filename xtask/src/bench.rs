//! `cargo xtask bench NAME`: one benchmark, in the release profile; and a check that all of them still run.

use std::ffi::OsString;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::{prerequisites, process};

/// A benchmark: `benches/NAME.rs` or `benches/NAME/main.rs` of a package.
struct Benchmark {
    name: &'static str,
    package: &'static str,
    /// One that belongs to it and lives in another package: `benches/NAME.rs` there, and the package. It is run after
    /// it with the same arguments.
    then: Option<(&'static str, &'static str)>,
    database: Database,
}

/// What it needs around it.
enum Database {
    /// A throw-away PostgreSQL; SQLite needs nothing.
    Postgres,
    /// Nothing but files.
    None,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "instructions",
        package: "foreword-instructions",
        then: None,
        database: Database::None,
    },
    Benchmark { name: "check", package: "foreword-check", then: None, database: Database::None },
    Benchmark {
        name: "prompt",
        package: "foreword-prompt",
        then: Some(("prefix", "stress")),
        database: Database::None,
    },
    Benchmark { name: "skills", package: "foreword-skills", then: None, database: Database::None },
    Benchmark { name: "mcp", package: "foreword-mcp", then: None, database: Database::None },
    Benchmark { name: "sandbox", package: "foreword-sandbox", then: None, database: Database::None },
    Benchmark { name: "store", package: "foreword-store", then: None, database: Database::Postgres },
    Benchmark { name: "gateway", package: "foreword-gateway", then: None, database: Database::Postgres },
    Benchmark { name: "turn", package: "foreword-gateway", then: None, database: Database::Postgres },
];

/// The names that may be asked for.
pub(crate) fn names() -> Vec<&'static str> {
    BENCHMARKS.iter().map(|benchmark| benchmark.name).collect()
}

/// Runs a benchmark.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<()> {
    let benchmark = BENCHMARKS
        .iter()
        .find(|benchmark| benchmark.name == name)
        .with_context(|| format!("there is no benchmark `{name}`; there are {}", names().join(", ")))?;
    if let Database::Postgres = benchmark.database {
        // The benchmark starts a server of its own: that of the tests does not wait for the disk.
        prerequisites::ensure()?;
    }
    for (name, package) in [(name, benchmark.package)].into_iter().chain(benchmark.then) {
        let mut command = process::cargo();
        command.args(["bench", "--package", package, "--bench", name, "--"]).args(arguments);
        process::run(&mut command)?;
    }
    Ok(())
}

/// Runs every benchmark for a moment, as the tests are built: what it prints means nothing, and that it does is the check.
pub(crate) fn check() -> Result<()> {
    prerequisites::ensure()?;
    let mut command = process::cargo();
    command.args(["test", "--workspace", "--all-features", "--quiet"]);
    for benchmark in BENCHMARKS {
        let names = [benchmark.name].into_iter().chain(benchmark.then.map(|(name, _)| name));
        command.args(names.flat_map(|name| ["--bench", name]));
    }
    process::run(command.stdout(Stdio::null()))
}
