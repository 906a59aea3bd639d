//! `cargo xtask gate`: counts the instructions of pieces of work under valgrind and holds them against the counts
//! on record, because a busy machine changes times but not counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::failure::check_failed;
use crate::process::{self, cargo, find_on_path};
use crate::tool::Outcome;
use crate::{prerequisites, print_status};

/// Counts on record, a line each: `piece = instructions`.
const RECORD: &str = "xtask/gate/counts.toml";
/// How much more than on record is let pass: other versions of libc copy memory with other instructions.
const TOLERANCE: f64 = 0.10;
/// A piece of work is done this often, and this often again; the difference is the work without its preparation.
const FEW: u64 = 10;
const MANY: u64 = 60;

/// What to do with the counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Hold them against the record.
    Check,
    /// Write them down.
    Record,
}

/// The command itself.
pub(crate) fn run(root: &Path, gate: Gate) -> Result<()> {
    match check(root, gate)? {
        Outcome::Passed => Ok(()),
        Outcome::Skipped(reason) => bail!("{reason}"),
    }
}

/// Counts every piece of work.
pub(crate) fn check(root: &Path, gate: Gate) -> Result<Outcome> {
    if find_on_path("valgrind").is_none() {
        if !prerequisites::is_ci() {
            return Ok(Outcome::Skipped("valgrind is not installed (apt-get install valgrind)".to_owned()));
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
    for (piece, recorded) in &record {
        let count =
            (instructions(&program, piece, MANY)? - instructions(&program, piece, FEW)?) / (MANY - FEW);
        let ratio = count as f64 / *recorded as f64;
        print_status(format!("{piece}: {count} instructions, {ratio:.2} times the {recorded} on record"));
        if ratio > 1.0 + TOLERANCE {
            over.push(format!("{piece} ({ratio:.2} times)"));
        }
        counted.insert(piece, count);
    }
    if gate == Gate::Record {
        let lines: String = counted.iter().map(|(piece, count)| format!("{piece} = {count}\n")).collect();
        let comment: String = text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .fold(String::new(), |comment, line| comment + line + "\n");
        fs::write(&path, format!("{comment}{lines}"))?;
        print_status(format!("wrote {RECORD}"));
        return Ok(Outcome::Passed);
    }
    match over.as_slice() {
        [] => Ok(Outcome::Passed),
        over => Err(check_failed(format!(
            "more instructions than on record: {}; make it cheaper, or say why in a commit with `cargo xtask gate --record`",
            over.join(", ")
        ))),
    }
}

fn instructions(program: &Path, piece: &str, times: u64) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let output = valgrind.arg(program).arg(piece).arg(times.to_string()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("`{piece}` failed under valgrind: {said}");
    }
    collected(&said).with_context(|| format!("valgrind did not say what it counted: {said}"))
}

/// The number in valgrind's line `==7== Collected : 1234`.
fn collected(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_what_valgrind_says() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 28346773\n"), Some(28_346_773));
        assert_eq!(collected("==1== nothing\n"), None);
    }
}
