//! `cargo xtask agents`: the real agents run our hook, offline.

use anyhow::Result;

use crate::process;

/// What npm installs, as the profiles were checked against them.
const PACKAGES: &[&str] = &[
    "@anthropic-ai/claude-code@2.1.325",
    "@openai/codex@0.166.0",
    "@qwen-code/qwen-code@0.24.4",
    "@modelcontextprotocol/sdk@1.32.2",
];
/// Where the tests look for them.
const VARIABLE: &str = "FOREWORD_TEST_AGENTS";

/// Installs the agents beside the build and runs the tests that need them.
pub(crate) fn run(root: &std::path::Path) -> Result<()> {
    let directory = root.join("target").join("agents");
    std::fs::create_dir_all(&directory)?;
    let mut npm = std::process::Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&directory).args(PACKAGES);
    process::run(&mut npm)?;
    let mut tests = process::cargo();
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
    process::run(tests.env(VARIABLE, &directory))
}
