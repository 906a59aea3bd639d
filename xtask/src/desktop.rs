//! `cargo xtask test --desktop`: tests of the native application, a separate workspace, and screenshots for the docs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::process::{self, cargo};
use crate::{prerequisites, print_status, test};

pub(crate) const MANIFEST: &[&str] = &["--manifest-path", "desktop/Cargo.toml", "--locked"];
/// Scripts that need real windows: two windows and the command edit one document, one window is killed while its user
/// types, and one keeps a token in a keyring.
const SCRIPTS: &[&str] = &["two-windows", "crash", "keyring"];
/// Time limit of a script, generous for slow machines.
const AT_MOST: Duration = Duration::from_secs(300);

/// Clippy's arguments in the form its driver reads from a variable.
// The driver is called directly instead of through `cargo clippy`, which would set this variable itself.
const STRICT: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Runs the tests in headless windows, compiled by clippy, then real windows on a virtual screen. With arguments, runs
/// only the tests they select.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> Result<()> {
    let started = Instant::now();
    prerequisites::ensure_for_desktop()?;
    let program = build_command(root)?;
    let mut tests = cargo();
    // The windows talk to a real gateway, so the tests need the command from this tree and not an installed one.
    tests.arg("test").args(MANIFEST).env("FOREWORD_PROGRAM", &program).args(arguments);
    if arguments.is_empty() {
        // Clippy checks what is compiled for the tests. A separate clippy run would compile the whole toolkit again.
        tests.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", STRICT);
    }
    process::run(&mut tests)?;
    if arguments.is_empty() {
        for script in SCRIPTS {
            let mut windows = Command::new(root.join("desktop").join(script));
            windows.env("FOREWORD_PROGRAM", &program);
            // A window that waits for a click that never comes would otherwise block a build machine for hours.
            process::run_at_most(&mut windows, AT_MOST)?;
        }
    }
    print_status(format!("passed in {} seconds: the native application", started.elapsed().as_secs()));
    Ok(())
}

pub(crate) fn draw_pictures(root: &Path) -> Result<()> {
    prerequisites::ensure_for_desktop()?;
    let program = build_command(root)?;
    let mut draw = cargo();
    draw.arg("test").args(MANIFEST).args(["--test", "desktop", "pictures"]);
    process::run(draw.env("FOREWORD_PROGRAM", program).env("UPDATE_DOCS", "1"))
}

/// Builds the command that serves as the windows' gateway.
fn build_command(root: &Path) -> Result<PathBuf> {
    let mut build = cargo();
    build.arg("build");
    if prerequisites::is_ci() {
        // The same features as in the main test run; otherwise most of the workspace would be compiled again.
        build.args(test::EVERYTHING).args(test::TARGETS);
    } else {
        build.args(["-p", "foreword"]);
    }
    process::run(&mut build)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug/foreword"))
}
