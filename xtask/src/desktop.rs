//! `cargo xtask test --desktop`: the native application, a workspace of its own; and the pictures of it in the docs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::process::{self, cargo};
use crate::{prerequisites, print_status};

const MANIFEST: &[&str] = &["--manifest-path", "desktop/Cargo.toml", "--locked"];
/// Two real windows and the command edit one document for a minute; the rest is for a slow machine.
const TWO_WINDOWS: Duration = Duration::from_secs(300);

/// Runs clippy, the tests in windows without a screen, and two real windows on a screen in memory. With arguments only the
/// tests they select.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> Result<()> {
    let started = Instant::now();
    prerequisites::ensure_for_desktop()?;
    let program = build_command(root)?;
    let mut tests = cargo();
    tests.arg("test").args(MANIFEST).env("FOREWORD_PROGRAM", &program).args(arguments);
    process::run(&mut tests)?;
    if arguments.is_empty() {
        let strict = ["--all-targets", "--", "-D", "warnings"];
        process::run(cargo().arg("clippy").args(MANIFEST).args(strict))?;
        let mut two_windows = Command::new(root.join("desktop/two-windows"));
        two_windows.env("FOREWORD_PROGRAM", &program);
        process::run_at_most(&mut two_windows, TWO_WINDOWS)?;
    }
    print_status(format!("passed in {} seconds: the native application", started.elapsed().as_secs()));
    Ok(())
}

/// Draws the pictures of the docs.
pub(crate) fn draw_pictures(root: &Path) -> Result<()> {
    prerequisites::ensure_for_desktop()?;
    let program = build_command(root)?;
    let mut draw = cargo();
    draw.arg("test").args(MANIFEST).args(["--test", "desktop", "pictures"]);
    process::run(draw.env("FOREWORD_PROGRAM", program).env("UPDATE_DOCS", "1"))
}

/// The command that the windows' gateways run.
fn build_command(root: &Path) -> Result<PathBuf> {
    process::run(cargo().args(["build", "-p", "foreword"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug/foreword"))
}
