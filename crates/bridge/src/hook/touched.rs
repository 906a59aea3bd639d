//! Paths touched by a tool call, taken from its arguments and result.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use instructions::path::normalise;
use serde_json::Value;

use super::event::ToolUse;

/// Keys whose values are paths.
const PATHS: &[&str] = &[
    "absolute_path",
    "dir_path",
    "directory",
    "file",
    "filePath",
    "file_path",
    "filename",
    "files",
    "notebook_path",
    "path",
    "paths",
    "target_file",
    "workdir",
    "working_directory",
];
/// Keys whose values are shell commands.
pub(super) const COMMANDS: &[&str] = &["command", "cmd", "script"];
/// Keys in results whose values are files found by a search.
const HITS: &[&str] = &["filenames"];
/// Prefixes of patch lines that name files.
const PATCHED: &[&str] = &["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];

/// Limits per call: paths, and words of a command that are checked.
const MAX_PATHS: usize = 64;
const MAX_WORDS: usize = 256;
/// Maximum nesting of arguments.
const MAX_DEPTH: usize = 4;
/// Longest path the system accepts.
const MAX_PATH_BYTES: usize = 4_095;

/// Returns the absolute paths of a call without duplicates.
pub(super) fn paths(tool: &ToolUse, cwd: &Path) -> Vec<PathBuf> {
    let mut found = TouchedPaths { cwd, paths: BTreeSet::new() };
    found.look(&tool.input, None, MAX_DEPTH);
    // Only lists of file names: contents and error messages in a result mention paths that were not touched.
    if let Value::Object(fields) = &tool.response {
        let hits = fields.iter().filter(|(key, _)| HITS.contains(&key.as_str()));
        hits.for_each(|(_, value)| found.look(value, Some(Meaning::Path), 1));
    }
    found.paths.into_iter().collect()
}

/// Returns true if a text is a patch that names its files.
pub(super) fn is_patch_text(text: &str) -> bool {
    text.contains(PATCHED[0]) || text.contains("*** Begin Patch")
}

/// Returns true if the arguments contain a patch.
pub(super) fn is_patch(input: &Value) -> bool {
    match input {
        Value::String(text) => is_patch_text(text),
        Value::Array(values) => values.iter().any(is_patch),
        Value::Object(fields) => fields.values().any(|value| value.as_str().is_some_and(is_patch_text)),
        _ => false,
    }
}

#[derive(Clone, Copy)]
enum Meaning {
    Path,
    Command,
}

struct TouchedPaths<'a> {
    cwd: &'a Path,
    paths: BTreeSet<PathBuf>,
}

impl TouchedPaths<'_> {
    fn look(&mut self, value: &Value, meaning: Option<Meaning>, depth: usize) {
        match value {
            // Agents pass patches as `command` or as `input`, so the content decides and not the key. A patch must not
            // be treated as a command: the words of its lines may happen to be files.
            Value::String(text) if is_patch_text(text) => {
                let named =
                    |line: &str| PATCHED.iter().find_map(|start| line.strip_prefix(start).map(str::to_owned));
                text.lines().filter_map(named).for_each(|path| self.add(path.trim()));
            }
            Value::String(text) => match meaning {
                Some(Meaning::Path) => self.add(text),
                Some(Meaning::Command) => self.add_words(text),
                None => {}
            },
            Value::Array(values) if depth > 0 => {
                values.iter().for_each(|value| self.look(value, meaning, depth - 1));
            }
            Value::Object(fields) if depth > 0 => {
                for (key, value) in fields {
                    let meaning = match key.as_str() {
                        key if PATHS.contains(&key) => Some(Meaning::Path),
                        key if COMMANDS.contains(&key) => Some(Meaning::Command),
                        _ => None,
                    };
                    self.look(value, meaning, depth - 1);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, path: &str) {
        if !path.is_empty()
            && path.len() <= MAX_PATH_BYTES
            && !path.contains('\0')
            && self.paths.len() < MAX_PATHS
        {
            self.paths.insert(normalise(Path::new(path), self.cwd));
        }
    }

    /// Adds the words of a command that are existing paths. This is a guess, and a wrong one costs nothing.
    fn add_words(&mut self, command: &str) {
        let separates = |character: char| {
            character.is_whitespace()
                || matches!(character, '"' | '\'' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '=' | '`')
        };
        for word in command.split(separates).filter(|word| !word.is_empty()).take(MAX_WORDS) {
            let is_path = word.len() <= MAX_PATH_BYTES && !word.starts_with('-') && !word.contains('\0');
            if is_path && self.cwd.join(word).symlink_metadata().is_ok() {
                self.add(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(input: Value, response: Value, expected: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        let cwd = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(cwd.join("sub/deep")).unwrap();
        std::fs::write(cwd.join("sub/a b.rs"), "").unwrap();
        std::fs::write(cwd.join("sub/x.rs"), "").unwrap();
        let tool = ToolUse { name: "T".into(), input, response };
        let found = paths(&tool, &cwd);
        let shown: Vec<String> =
            found.iter().map(|path| path.strip_prefix(&cwd).unwrap_or(path).display().to_string()).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn paths_in_arguments_are_found() {
        check(json!({ "file_path": "sub/x.rs" }), Value::Null, &["sub/x.rs"]);
        check(json!({ "file_path": "/etc/passwd", "content": "sub" }), Value::Null, &["/etc/passwd"]);
        check(
            json!({ "edits": [{ "path": "sub/new.rs" }, { "path": "b" }] }),
            Value::Null,
            &["b", "sub/new.rs"],
        );
        check(json!({ "paths": ["a", "sub/../b"] }), Value::Null, &["a", "b"]);
        check(json!({ "path": 7, "file": null }), Value::Null, &[]);
        check(json!("sub/x.rs"), Value::Null, &[]);
    }

    #[test]
    fn existing_paths_in_commands_are_found() {
        check(json!({ "command": "cd sub && cat x.rs; ls sub/deep>out" }), Value::Null, &["sub", "sub/deep"]);
        check(
            json!({ "command": ["bash", "-lc", "cat sub/x.rs"], "workdir": "sub" }),
            Value::Null,
            &["sub", "sub/x.rs"],
        );
        check(json!({ "command": "echo nothing here" }), Value::Null, &[]);
    }

    #[test]
    fn files_in_patches_are_found() {
        let patch = "*** Begin Patch\n*** Update File: sub/x.rs\n@@\n-a\n+b\n*** Add File: sub/a b.rs\n+c\n*** End Patch";
        check(json!({ "command": patch }), Value::Null, &["sub/a b.rs", "sub/x.rs"]);
        check(json!({ "input": patch }), Value::Null, &["sub/a b.rs", "sub/x.rs"]);
    }

    #[test]
    fn search_results_are_found() {
        let response = json!({ "filenames": ["sub/x.rs"], "content": "sub/deep" });
        check(json!({ "pattern": "x" }), response, &["sub/x.rs"]);
    }

    #[test]
    fn the_number_of_paths_is_limited() {
        let many: Vec<String> = (0..10_000).map(|number| format!("f{number}")).collect();
        let tool = ToolUse { name: "T".into(), input: json!({ "paths": many }), response: Value::Null };
        assert_eq!(paths(&tool, Path::new("/")).len(), MAX_PATHS);
    }
}
