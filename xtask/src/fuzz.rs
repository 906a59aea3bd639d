//! `cargo xtask fuzz`: feeds random input to the parts that read untrusted files.
//!
//! The targets in `fuzz/` are libFuzzer programs in cargo-fuzz's layout. cargo-fuzz itself needs a nightly compiler for
//! its sanitizers; safe code does not need those, and the coverage that guides libFuzzer works on stable as well.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::process::{cargo, run as run_command, run_at_most};
use crate::{prerequisites, print_status, root};

/// Names of the targets in `fuzz/fuzz_targets/`.
const TARGETS: &[&str] = &["file_body", "session_file", "tree"];

/// Compiler flags that record coverage.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// An input that takes longer counts as a finding.
const LONGEST_INPUT: &str = "-timeout=20";
/// Maximum input size. Odd trees and texts are odd while they are small, and small inputs run faster.
const LARGEST_INPUT: &str = "-max_len=2048";
/// Time for a target to stop after its time is over.
const GRACE: Duration = Duration::from_secs(120);

pub(crate) fn names() -> &'static [&'static str] {
    TARGETS
}

/// Runs one target or all of them.
pub(crate) fn run(target: Option<&str>, seconds: u64) -> Result<()> {
    let wanted: Vec<&str> =
        TARGETS.iter().copied().filter(|name| target.is_none_or(|it| it == *name)).collect();
    prerequisites::ensure_for_fuzzing()?;
    let directory = root().join("fuzz");
    let platform = platform()?;
    let mut build = cargo();
    build.current_dir(&directory).args(["build", "--release", "--target", &platform]);
    // With `--target`, these flags do not apply to build scripts and macros, which cannot be built with them.
    build.env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}")).env_remove("RUSTFLAGS");
    build.env("CARGO_TARGET_DIR", directory.join("target"));
    for name in &wanted {
        build.args(["--bin", name]);
    }
    run_command(&mut build)?;
    for name in wanted {
        let program = directory.join("target").join(&platform).join("release").join(name);
        feed(&directory, name, &program, seconds)?;
    }
    Ok(())
}

/// Runs a target on its seeds and on inputs kept from earlier runs.
fn feed(directory: &Path, name: &str, program: &Path, seconds: u64) -> Result<()> {
    let corpus = directory.join("corpus").join(name);
    let seeds = directory.join("seeds").join(name);
    let artifacts = directory.join("artifacts").join(name);
    for needed in [&corpus, &artifacts] {
        fs::create_dir_all(needed).with_context(|| format!("could not make {}", needed.display()))?;
    }
    let mut command = Command::new(program);
    let mut prefix = OsString::from("-artifact_prefix=");
    prefix.push(artifacts.join(""));
    command.arg(prefix).arg(format!("-max_total_time={seconds}"));
    // By default libFuzzer lets inputs grow slowly, which suits runs of hours and not of seconds. `-len_control=0` uses
    // all lengths from the start.
    command.args([LONGEST_INPUT, LARGEST_INPUT, "-len_control=0", "-verbosity=0", "-print_final_stats=1"]);
    // The first directory is the one that new inputs are written to. The seeds are in the repository and must not
    // change.
    command.arg(&corpus);
    if seeds.is_dir() {
        command.arg(&seeds);
    }
    if env::var_os("TMPDIR").is_none() && Path::new("/dev/shm").is_dir() {
        // Targets create thousands of small directory trees a second, which would wear out a disk.
        command.env("TMPDIR", "/dev/shm");
    }
    // libFuzzer enforces its limits itself, so a process that hangs despite them must be ended from outside.
    let result = run_at_most(&mut command, Duration::from_secs(seconds) + GRACE);
    if result.is_err() {
        print_status(format!(
            "what was found is in {}; give it to {} as an argument",
            artifacts.display(),
            program.display()
        ));
    }
    result
}

/// Returns the target triple.
fn platform() -> Result<String> {
    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--print", "host-tuple"])
        .output()
        .context("could not start rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_listed() {
        let directory = root().join("fuzz/fuzz_targets");
        let mut found: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        assert_eq!(found, TARGETS);
    }
}
