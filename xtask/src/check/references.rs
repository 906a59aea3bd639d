//! Checks that files named in pages exist.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Pages that name files of the tree in backticks.
const PAGES: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md"];
/// Beginnings of paths in such pages.
const DIRECTORIES: &[&str] = &["crates/", "desktop/", "docs/", "examples/", "fuzz/", "xtask/"];
/// Parts of a path that stand for the reader's choice.
const PLACEHOLDERS: &[&str] = &["NAME", "…", "*"];

/// Returns a problem for every named path that does not exist.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("failed to read {page}"))?;
        let missing = paths(&text).into_iter().filter(|path| !root.join(path).exists());
        problems.extend(missing.map(|path| format!("{page} names `{path}`, which does not exist")));
    }
    Ok(problems)
}

fn paths(page: &str) -> Vec<String> {
    // Every second part between backticks is code. Commands contain spaces and are skipped.
    let spans = page.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        DIRECTORIES.iter().any(|directory| span.starts_with(directory))
            && !span.contains(char::is_whitespace)
            && !PLACEHOLDERS.iter().any(|part| span.contains(part))
    };
    spans.filter(is_path).map(|span| span.trim_end_matches('/').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_paths_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(problems(&root).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn placeholders_and_other_code_are_skipped() {
        let page = "`crates/a/src/b.rs` and `crates/a/src/`, `fuzz/seeds/NAME/`, `cargo test`, `src/b.rs`";
        assert_eq!(paths(page), ["crates/a/src/b.rs", "crates/a/src"]);
    }
}
