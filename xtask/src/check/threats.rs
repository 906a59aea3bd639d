//! Checks that the tests named in SECURITY.md exist.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Start and end of the list of threats.
const SECTION: &str = "## Threats\n";
const NEXT: &str = "\n## ";

/// Returns threats without a test, and named tests that do not exist.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("SECURITY.md")).context("failed to read SECURITY.md")?;
    let mut sources = String::new();
    read_sources(&root.join("crates"), &mut sources)?;
    Ok(missing(&text, &sources))
}

fn missing(text: &str, sources: &str) -> Vec<String> {
    let Some((_, section)) = text.split_once(SECTION) else {
        return vec!["SECURITY.md has no section `Threats`".to_owned()];
    };
    let section = section.split_once(NEXT).map_or(section, |(section, _)| section);
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    let mut problems = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let threat = cells[0].trim();
        let tests = cells.last().copied().unwrap_or_default();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            problems.push(format!("SECURITY.md names no test for `{threat}`"));
        }
        let is_there = |name: &&str| {
            sources.contains(&format!("fn {name}(")) || sources.contains(&format!("both_databases!({name},"))
        };
        let gone = names.into_iter().filter(|name| !is_there(name));
        problems
            .extend(gone.map(|name| format!("SECURITY.md names the test `{name}`, which does not exist")));
    }
    problems
}

fn read_sources(directory: &Path, sources: &mut String) -> Result<()> {
    let failed = || format!("failed to read {}", directory.display());
    for entry in fs::read_dir(directory).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.is_dir() {
            read_sources(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path);
            sources.push_str(&text.with_context(|| format!("failed to read {}", path.display()))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_named_in_security_md_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(problems(&root).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn missing_tests_are_reported() {
        let text = "## Threats\n\n| threat | answer | tests |\n| --- | --- | --- |\n| a | b | `here` `gone` |\n| c | d | |\n\n## Next\n";
        let problems = missing(text, "fn here() {}");
        assert_eq!(
            problems,
            ["SECURITY.md names the test `gone`, which does not exist", "SECURITY.md names no test for `c`"]
        );
        assert_eq!(missing("", ""), ["SECURITY.md has no section `Threats`"]);
    }
}
