//! The program that guards commands, for tests whose own program cannot: a guard is the same program run again, and a
//! test's `main` is not ours.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, bail};

/// The program, and the package that it is in: this one.
const NAME: &str = "foreword-sandbox-trial";
const PACKAGE: &str = env!("CARGO_PKG_NAME");
/// Where its source is, from here.
const SOURCES: &[&str] = &["src", "../sandbox/src"];

/// Who commands run as when tests run as root, which commands must not: nobody.
pub const OTHER_USER: u32 = 65_534;

/// Numbers of living processes whose arguments contain a text.
pub fn processes_with(text: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(text)
    })
    .collect()
}

/// Where the program is. It is built with the workspace's tests; where only some of them were built and it is missing or
/// older than its source, it is built now.
pub fn guard_program() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let of_tests = test.parent().context("a test without a directory")?;
    let directory = if of_tests.ends_with("deps") { of_tests.parent().unwrap_or(of_tests) } else { of_tests };
    let program = directory.join(NAME);
    if is_fresh(&program)? {
        return Ok(program);
    }
    // One test builds, the others wait.
    let lock = File::create(directory.join(format!("{NAME}.lock")))?;
    lock.lock()?;
    if !is_fresh(&program)? {
        build(directory)?;
        // Cargo leaves a file alone that would be the same.
        File::open(&program)?.set_modified(SystemTime::now())?;
    }
    Ok(program)
}

/// Whether the program is there, and not older than its source.
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

/// When a file below a directory was last written.
fn newest(directory: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let written = if metadata.is_dir() { self::newest(&entry.path())? } else { metadata.modified()? };
        newest = newest.max(written);
    }
    Ok(newest)
}

fn build(directory: &Path) -> anyhow::Result<()> {
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", PACKAGE, "--bin", NAME, "--profile", profile]);
    cargo.arg("--manifest-path").arg(own_directory().join("Cargo.toml"));
    cargo.arg("--target-dir").arg(directory.parent().context("a build without a directory")?);
    let status = cargo.status().context("could not start cargo")?;
    if !status.success() {
        bail!("{PACKAGE} could not be built: {status}");
    }
    Ok(())
}
