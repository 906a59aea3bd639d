//! The guard program for tests. A guard is the same program run again, but a test's `main` is not ours, so tests use a separate
//! program.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, bail};

/// Name of the program, and of this package, which contains it.
const NAME: &str = "foreword-sandbox-trial";
const PACKAGE: &str = env!("CARGO_PKG_NAME");
/// Directories of its source, relative to this package.
const SOURCES: &[&str] = &["src", "../sandbox/src"];

/// User id of commands if tests run as root, which commands must not: `nobody`.
pub const OTHER_USER: u32 = 65_534;

/// Returns the ids of processes whose arguments contain a text.
pub fn processes_with(text: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        // A process may end between the listing and this read. Its arguments then count as empty.
        let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(text)
    })
    .collect()
}

/// Returns the path of the program. It is normally built with the workspace's tests; if it is missing or older than its source,
/// because only some tests were built, it is built now.
pub fn guard_program() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let of_tests = test.parent().context("a test without a directory")?;
    let directory = if of_tests.ends_with("deps") { of_tests.parent().unwrap_or(of_tests) } else { of_tests };
    let program = directory.join(NAME);
    if is_fresh(&program)? {
        return Ok(program);
    }
    // Tests run as separate processes, so a file lock makes the others wait for one build.
    let lock = File::create(directory.join(format!("{NAME}.lock")))?;
    lock.lock()?;
    if !is_fresh(&program)? {
        build(directory)?;
        // Cargo does not rewrite a file that would be identical, which would look outdated forever.
        File::open(&program)?.set_modified(SystemTime::now())?;
    }
    Ok(program)
}

/// Returns true if the program exists and is not older than its source.
fn is_fresh(program: &Path) -> anyhow::Result<bool> {
    let Ok(built) = program.metadata().and_then(|metadata| metadata.modified()) else { return Ok(false) };
    for source in SOURCES {
        if newest(&own_directory().join(source))? > built {
            return Ok(false);
        }
    }
    Ok(true)
}

fn own_directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the latest modification time below a directory.
fn newest(directory: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        // The modification time of a directory is ignored, since it does not change when a file in it is
        // edited.
        let written = if metadata.is_dir() { self::newest(&entry.path())? } else { metadata.modified()? };
        newest = newest.max(written);
    }
    Ok(newest)
}

fn build(directory: &Path) -> anyhow::Result<()> {
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        // Cargo names the directory of the profile `dev` differently from the profile itself.
        None | Some("debug") => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", PACKAGE, "--bin", NAME, "--profile", profile]);
    cargo.arg("--manifest-path").arg(own_directory().join("Cargo.toml"));
    cargo.arg("--target-dir").arg(directory.parent().context("a build without a directory")?);
    let status = cargo.status().context("failed to start cargo")?;
    if !status.success() {
        bail!("failed to build {PACKAGE}: {status}");
    }
    Ok(())
}
