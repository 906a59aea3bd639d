//! `cargo xtask bench NAME`: runs one benchmark in the release profile. Also checks that all benchmarks still run.

use std::ffi::OsString;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::{prerequisites, process};

/// A benchmark in `benches/NAME.rs` or `benches/NAME/main.rs` of a package.
struct Benchmark {
    name: &'static str,
    package: &'static str,
    /// Related benchmark in another package, run afterwards with the same arguments: name and package.
    then: Option<(&'static str, &'static str)>,
    database: Database,
}

/// Database a benchmark needs.
enum Database {
    /// A temporary PostgreSQL server.
    Postgres,
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
    Benchmark { name: "why", package: "foreword-transcripts", then: None, database: Database::None },
    Benchmark { name: "skills", package: "foreword-skills", then: None, database: Database::None },
    Benchmark { name: "mcp", package: "foreword-mcp", then: None, database: Database::None },
    Benchmark { name: "sandbox", package: "foreword-sandbox", then: None, database: Database::None },
    Benchmark { name: "store", package: "foreword-store", then: None, database: Database::Postgres },
    Benchmark { name: "gateway", package: "foreword-gateway", then: None, database: Database::Postgres },
    Benchmark { name: "turn", package: "foreword-gateway", then: None, database: Database::Postgres },
];

pub(crate) fn names() -> Vec<&'static str> {
    BENCHMARKS.iter().map(|benchmark| benchmark.name).collect()
}

pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<()> {
    let benchmark = BENCHMARKS
        .iter()
        .find(|benchmark| benchmark.name == name)
        .with_context(|| format!("there is no benchmark `{name}`; there are {}", names().join(", ")))?;
    if let Database::Postgres = benchmark.database {
        // The benchmark starts its own server, because the server of the tests runs without fsync.
        prerequisites::ensure()?;
    }
    for (name, package) in [(name, benchmark.package)].into_iter().chain(benchmark.then) {
        let mut command = process::cargo();
        command.args(["bench", "--package", package, "--bench", name, "--"]).args(arguments);
        process::run(&mut command)?;
    }
    Ok(())
}

/// Runs every benchmark briefly in the tests' profile. The figures are meaningless; the check is that none fails.
pub(crate) fn check() -> Result<()> {
    prerequisites::ensure()?;
    let mut command = process::cargo();
    // The same packages and features as in the tests, so that the dependencies are already compiled.
    command.args(["test", "--workspace", "--all-features", "--quiet"]);
    for benchmark in BENCHMARKS {
        let names = [benchmark.name].into_iter().chain(benchmark.then.map(|(name, _)| name));
        command.args(names.flat_map(|name| ["--bench", name]));
    }
    process::run(command.stdout(Stdio::null()))
}
