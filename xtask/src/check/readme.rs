//! Checks that the README's two commands are the ones that CI relies on.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::failure::check_failed;
use crate::print_status;

/// Command that starts a gateway from a fresh checkout.
const SERVE: &str = "cargo run --release --locked -- serve";
/// Command that runs every test, shared with the CI script.
const TEST: &str = "cargo xtask test";
const CI_SCRIPT: &str = ".ci/run";

/// Fails if the README lacks one of the commands, or if CI does not run the test command from the README.
pub(crate) fn check(root: &Path) -> Result<()> {
    let read =
        |name: &str| fs::read_to_string(root.join(name)).with_context(|| format!("failed to read {name}"));
    let problems = problems(&read("README.md")?, &read(CI_SCRIPT)?);
    for problem in &problems {
        print_status(format!("README: {problem}"));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(check_failed("the commands in README.md and .ci/run differ"))
}

fn problems(readme: &str, script: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for command in [SERVE, TEST] {
        if !has_command(readme, command) {
            problems.push(format!("README.md does not show `{command}`"));
        }
    }
    // The script runs its steps through a function that prints them, so the command follows the word `step`. An exact
    // match matters: with additional arguments CI would test something else than a reader of the README does.
    if !script.lines().any(|line| line.strip_prefix("step ").is_some_and(|step| step.trim_end() == TEST)) {
        problems.push(format!("{CI_SCRIPT} does not run `{TEST}`"));
    }
    problems
}

/// Returns true if a line consists of a command and an optional comment.
fn has_command(text: &str, command: &str) -> bool {
    text.lines().any(|line| line.split(" #").next().unwrap_or_default().trim_end() == command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_and_ci_agree() {
        let root = crate::root();
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        assert_eq!(problems(&read("README.md"), &read(CI_SCRIPT)), Vec::<String>::new());
    }

    #[test]
    fn differing_commands_are_reported() {
        let readme = format!("{SERVE}  # starts it\n{TEST}\n");
        assert_eq!(problems(&readme, "step cargo xtask test\n"), Vec::<String>::new());
        assert_eq!(problems(&readme, "step cargo xtask test --desktop\n").len(), 1);
        assert_eq!(problems("", "step cargo xtask test\n").len(), 2);
    }
}
