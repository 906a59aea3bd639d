//! `cargo xtask gate`: counts instructions under valgrind and compares them with recorded counts. Unlike times, counts
//! do not depend on how busy the machine is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::failure::check_failed;
use crate::process::{self, cargo, find_on_path};
use crate::tool::CheckOutcome;
use crate::{prerequisites, print_status};

/// Recorded counts, one `piece = instructions` per line.
const RECORD: &str = "xtask/gate/counts.toml";
/// Permitted increase over the record. Other versions of libc use different instructions to copy memory.
const TOLERANCE: f64 = 0.10;
/// Each piece runs this many times in two separate runs; the difference leaves out its setup.
const FEW: u64 = 10;
const MANY: u64 = 60;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Compare with the record.
    Check,
    /// Write the record.
    Record,
}

pub(crate) fn run(root: &Path, gate: Gate) -> Result<()> {
    match check(root, gate)? {
        CheckOutcome::Passed => Ok(()),
        CheckOutcome::Skipped(reason) => bail!("{reason}"),
    }
}

/// Counts the instructions of every piece.
pub(crate) fn check(root: &Path, gate: Gate) -> Result<CheckOutcome> {
    if find_on_path("valgrind").is_none() {
        if !prerequisites::is_ci() {
            return Ok(CheckOutcome::Skipped(
                "valgrind is not installed (apt-get install valgrind)".to_owned(),
            ));
        }
        prerequisites::install(&["valgrind"])?;
    }
    process::run(cargo().args(["build", "--release", "--package", "gate"]))?;
    let program = target(root).join("release/gate");
    let path = root.join(RECORD);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let record: BTreeMap<String, u64> =
        toml::from_str(&text).with_context(|| format!("{} is broken", path.display()))?;
    let mut counted = BTreeMap::new();
    let mut over = Vec::new();
    // The record decides which pieces run, so a new piece is counted only after a line for it has been added.
    for (piece, recorded) in &record {
        let count =
            (instructions(&program, piece, MANY)? - instructions(&program, piece, FEW)?) / (MANY - FEW);
        let ratio = count as f64 / *recorded as f64;
        print_status(format!("{piece}: {count} instructions, {ratio:.2} times the recorded {recorded}"));
        if ratio > 1.0 + TOLERANCE {
            over.push(format!("{piece} ({ratio:.2} times)"));
        }
        counted.insert(piece, count);
    }
    if gate == Gate::Record {
        let lines: String = counted.iter().map(|(piece, count)| format!("{piece} = {count}\n")).collect();
        // The comment at the top is written by hand and kept.
        let comment: String = text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .fold(String::new(), |comment, line| comment + line + "\n");
        fs::write(&path, format!("{comment}{lines}"))?;
        print_status(format!("wrote {RECORD}"));
        return Ok(CheckOutcome::Passed);
    }
    match over.as_slice() {
        [] => Ok(CheckOutcome::Passed),
        over => Err(check_failed(format!(
            "more instructions than recorded: {}; reduce them, or explain them in a commit with `cargo xtask gate --record`",
            over.join(", ")
        ))),
    }
}

fn instructions(program: &Path, piece: &str, times: u64) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    // Only the total is needed, so the profile itself is discarded.
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let output = valgrind.arg(program).arg(piece).arg(times.to_string()).output()?;
    let output_text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("`{piece}` failed under valgrind: {output_text}");
    }
    collected(&output_text).with_context(|| format!("valgrind printed no count: {output_text}"))
}

/// Returns the number in valgrind's line `==7== Collected : 1234`.
fn collected(output: &str) -> Option<u64> {
    output.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_parsed_from_valgrind_output() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 28346773\n"), Some(28_346_773));
        assert_eq!(collected("==1== nothing\n"), None);
    }
}
