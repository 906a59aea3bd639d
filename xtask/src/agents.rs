//! `cargo xtask agents` and `cargo xtask oracle`: tests against the real agents, offline.

mod conformance;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use crate::counterparts::Counterparts;
use crate::process;

/// npm packages in the versions the profiles were verified against.
// Exact versions: a newer agent may read other files, which would look like a fault in a profile.
const PACKAGES: &[&str] = &[
    "@anthropic-ai/claude-code@2.1.325",
    "@github/copilot@1.0.102",
    "@google/gemini-cli@0.61.0",
    conformance::SUITE,
    conformance::NODE,
    "@mariozechner/pi-coding-agent@0.73.1",
    "@modelcontextprotocol/sdk@1.32.2",
    "@openai/codex@0.166.0",
    "@qwen-code/qwen-code@0.24.4",
    "opencode-ai@1.18.33",
];
/// Variable that passes the installation directory to the tests.
const VARIABLE: &str = "FOREWORD_TEST_AGENTS";

#[derive(Debug, Args)]
pub(crate) struct OracleArguments {
    /// Number of layouts per agent
    #[arg(long, default_value_t = 30)]
    layouts: u64,
    /// Seed of the random choices; the same seed gives the same layouts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only test this agent, named by its profile (repeatable)
    #[arg(long)]
    agent: Vec<String>,
}

/// Installs the agents into the target directory, and runs the tests that need them and the conformance suite.
pub(crate) fn run(root: &Path) -> Result<()> {
    let agents = install(root)?;
    let mut tests = process::cargo();
    // These tests are ignored by default, because they need the installed agents and take minutes.
    tests.args([
        "nextest",
        "run",
        "--package",
        "foreword",
        "--run-ignored",
        "only",
        "-E",
        "test(real_agents::)",
    ]);
    let mut counterparts = Counterparts::new(root, "agents")?;
    counterparts.pass_to(&mut tests);
    let tested = process::run(tests.env(VARIABLE, &agents));
    let conforms = conformance::run(root, &agents, &mut counterparts);
    counterparts.print()?;
    tested.and(conforms)
}

/// Compares every profile with the agent itself over random layouts.
pub(crate) fn oracle(root: &Path, arguments: &OracleArguments) -> Result<()> {
    let agents = install(root)?;
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--package", "foreword-compare", "--example", "oracle", "--"]);
    command.arg("--agents").arg(agents).arg("--notes").arg(root.join("target").join("oracle"));
    command.args(["--layouts", &arguments.layouts.to_string(), "--seed", &arguments.seed.to_string()]);
    for agent in &arguments.agent {
        command.args(["--agent", agent]);
    }
    process::run(&mut command)
}

fn install(root: &Path) -> Result<PathBuf> {
    let directory = root.join("target").join("agents");
    std::fs::create_dir_all(&directory)?;
    let mut npm = std::process::Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&directory).args(PACKAGES);
    process::run(&mut npm)?;
    Ok(directory)
}
