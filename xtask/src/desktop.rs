//! `cargo xtask test --desktop`: the native application, a workspace of its own; and the pictures of it in the docs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::process::{self, cargo};
use crate::{prerequisites, print_status, test};

pub(crate) const MANIFEST: &[&str] = &["--manifest-path", "desktop/Cargo.toml", "--locked"];
/// What real windows are needed for: two of them and the command edit one document for a minute; one is killed while somebody
/// types; one keeps a token in a keyring.
const SCRIPTS: &[&str] = &["two-windows", "crash", "keyring"];
/// The rest is for a slow machine.
const AT_MOST: Duration = Duration::from_secs(300);

/// Clippy's arguments as its driver reads them from a variable.
const STRICT: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Runs the tests in windows without a screen, compiled by clippy, then real windows on a screen in memory. With
/// arguments only the tests they select.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> Result<()> {
    let started = Instant::now();
    prerequisites::ensure_for_desktop()?;
    let program = build_command(root)?;
    let mut tests = cargo();
    tests.arg("test").args(MANIFEST).env("FOREWORD_PROGRAM", &program).args(arguments);
    if arguments.is_empty() {
        // Clippy looks at what is compiled for the tests anyway: its own pass would go through the whole toolkit again.
        tests.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", STRICT);
    }
    process::run(&mut tests)?;
    if arguments.is_empty() {
        for script in SCRIPTS {
            let mut windows = Command::new(root.join("desktop").join(script));
            windows.env("FOREWORD_PROGRAM", &program);
            process::run_at_most(&mut windows, AT_MOST)?;
        }
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
    let mut build = cargo();
    build.arg("build");
    if prerequisites::is_ci() {
        // As the tests built it before: with other features most of it would be compiled again.
        build.args(test::EVERYTHING).args(test::TARGETS);
    } else {
        build.args(["-p", "foreword"]);
    }
    process::run(&mut build)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug/foreword"))
}
