//! Paths and commands that pages name: the paths must exist, and CI must run the commands of the quick start.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Pages that name files of the tree in backticks.
const PAGES: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md"];
/// Beginnings of paths in such pages.
const DIRECTORIES: &[&str] = &["crates/", "desktop/", "docs/", "examples/", "fuzz/", "xtask/"];
/// Parts of a path that stand for the reader's choice.
const PLACEHOLDERS: &[&str] = &["NAME", "…", "*"];
const SECTION: &str = "## Quick start\n";
const CI: &str = ".ci/run";

/// Returns every named path that does not exist, and every test command of the quick start that CI does not run.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let read =
        |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("failed to read {path}"));
    let mut problems = Vec::new();
    for page in PAGES {
        let missing = paths(&read(page)?).into_iter().filter(|path| !root.join(path).exists());
        problems.extend(missing.map(|path| format!("{page} names `{path}`, which does not exist")));
    }
    problems.extend(commands_missing_in_ci(&read("README.md")?, &read(CI)?));
    Ok(problems)
}

fn paths(page: &str) -> Vec<String> {
    let spans = page.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        DIRECTORIES.iter().any(|directory| span.starts_with(directory))
            && !span.contains(char::is_whitespace)
            && !PLACEHOLDERS.iter().any(|part| span.contains(part))
    };
    spans.filter(is_path).map(|span| span.trim_end_matches('/').to_owned()).collect()
}

fn commands_missing_in_ci(readme: &str, ci: &str) -> Vec<String> {
    let Some((_, section)) = readme.split_once(SECTION) else {
        return vec!["README.md has no section `Quick start`".to_owned()];
    };
    let block = section.split("```").nth(1).unwrap_or_default();
    let commands: Vec<&str> = block
        .lines()
        .filter_map(|line| line.split('#').next().map(str::trim))
        .filter(|command| command.starts_with("cargo xtask"))
        .collect();
    if commands.is_empty() {
        return vec!["README.md names no `cargo xtask` command in its quick start".to_owned()];
    }
    let runs = |command: &str| ci.lines().any(|line| line.trim() == format!("step {command}"));
    let missing = commands.into_iter().filter(|command| !runs(command));
    missing.map(|command| format!("README.md names `{command}`, which {CI} does not run")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_name_what_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(problems(&root).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn placeholders_and_other_code_are_no_paths() {
        let page = "`crates/a/src/b.rs` and `crates/a/src/`, `fuzz/seeds/NAME/`, `cargo test`, `src/b.rs`";
        assert_eq!(paths(page), ["crates/a/src/b.rs", "crates/a/src"]);
    }

    #[test]
    fn ci_runs_the_tests_of_the_quick_start() {
        let readme =
            "## Quick start\n\n```sh\ncargo run -- serve # a gateway\ncargo xtask test   # all\n```\n";
        assert_eq!(commands_missing_in_ci(readme, "step cargo xtask test\n"), Vec::<String>::new());
        assert_eq!(
            commands_missing_in_ci(readme, "step cargo xtask check\n"),
            ["README.md names `cargo xtask test`, which .ci/run does not run"]
        );
    }
}
