//! `cargo xtask size`: prints the cost of a cold build and the size of the result.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::process::{cargo, judge, shown};
use crate::{desktop, metadata, prerequisites, print_status};

/// Number of crates to list, most expensive first.
const LISTED: usize = 15;
/// Clock ticks per second in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

/// A compilation unit in cargo's timing report.
#[derive(Deserialize)]
struct Unit {
    name: String,
    target: String,
    duration: f64,
}

/// Program to build.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Measured {
    Command,
    Desktop,
}

impl Measured {
    /// Returns cargo's arguments for the package.
    fn package(self) -> Vec<&'static str> {
        match self {
            Self::Command => vec!["--package", "foreword"],
            Self::Desktop => desktop::MANIFEST.to_vec(),
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Command => "foreword",
            Self::Desktop => "foreword-desktop",
        }
    }
}

/// Builds in an empty directory and prints the figures.
pub(crate) fn run(measured: Measured, profile: &str) -> Result<()> {
    if matches!(measured, Measured::Desktop) {
        prerequisites::ensure_for_desktop()?;
    }
    // A directory of its own, because only a build from nothing shows the whole cost.
    let directory = metadata::read()?.target_directory.join("size");
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let started = Instant::now();
    // Wall-clock time depends on the number of cores, so the processor time is printed as well.
    let used = processor_seconds();
    let mut build = cargo();
    build.arg("build").args(measured.package()).args(["--quiet", "--timings", "--profile", profile]);
    build.arg("--target-dir").arg(&directory);
    print_status(shown(&build));
    let status = build.status().context("failed to start cargo")?;
    judge(&build, status)?;
    let seconds = started.elapsed().as_secs_f64();

    let program = directory.join(profile).join(measured.program());
    let stripped = directory.join("stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&stripped).arg(&program).stdin(Stdio::null());
    let status = strip.status().context("failed to start strip")?;
    judge(&strip, status)?;

    let mut units = units(&directory.join("cargo-timings/cargo-timing.html"))?;
    let mut crates: Vec<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
    crates.sort_unstable();
    crates.dedup();
    print_status(format!("profile {profile}: {} crates in {seconds:.0} seconds", crates.len()));
    if let (Some(before), Some(after)) = (used, processor_seconds()) {
        print_status(format!("{:.0} seconds of processor time", after - before));
    }
    print_status(format!("binary {}, stripped {}", megabytes(&program)?, megabytes(&stripped)?));
    units.sort_by(|a, b| b.duration.total_cmp(&a.duration));
    for unit in units.iter().take(LISTED) {
        print_status(format!("{:6.1} s  {}{}", unit.duration, unit.name, unit.target));
    }
    Ok(())
}

fn megabytes(path: &Path) -> Result<String> {
    let bytes = fs::metadata(path).with_context(|| format!("failed to look at {}", path.display()))?.len();
    Ok(format!("{:.1} MB", bytes as f64 / 1e6))
}

/// Returns the processor time of finished child processes, if the system reports it.
fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name in parentheses may contain anything, so fields are counted after it: the first one there is
    // field 3 of the manual page.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(16)? + ticks(17)?) / TICKS)
}

fn units(report: &Path) -> Result<Vec<Unit>> {
    let text = fs::read_to_string(report).with_context(|| format!("failed to read {}", report.display()))?;
    read_units(&text).with_context(|| format!("{} has no table of units", report.display()))
}

/// Parses the table embedded in cargo's HTML report.
fn read_units(text: &str) -> Option<Vec<Unit>> {
    // Stable cargo writes its timings as a page only, so the data is taken from the script within the page.
    let table = text.split_once("UNIT_DATA = ")?.1;
    serde_json::Deserializer::from_str(table).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_cargos_report() {
        let report = r#"<script>const UNIT_DATA = [{"i":0,"name":"a","version":"1","mode":"todo","target":" (bin)","start":0,
            "duration":1.5,"unlocked_units":[]}];
            const CONCURRENCY_DATA = [];</script>"#;
        let units = read_units(report).unwrap();
        assert_eq!(
            (units[0].name.as_str(), units[0].target.as_str(), units[0].duration),
            ("a", " (bin)", 1.5)
        );
        assert!(read_units("nothing").is_none());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processor_time_is_counted() {
        let before = processor_seconds().unwrap();
        let status =
            Command::new("sh").args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).status();
        assert!(status.unwrap().success());
        assert!(processor_seconds().unwrap() > before);
    }
}
