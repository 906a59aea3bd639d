//! Effects of a trusted project's settings files on Codex. Each line was verified with version 0.166.0.

mod support;

use instructions::{CODEX, FileSettings, HomeDirectories, Request, resolve};
use serde_json::{Value, json};
use support::Tree;

const TRUSTED: &str = "[projects.\"{R}\"]\ntrust_level = \"trusted\"\n";
const UNTRUSTED: &str = "[projects.\"{R}\"]\ntrust_level = \"untrusted\"\n";

/// Returns the project's text, or the error, for a working directory `a` below the root.
fn ask(repository: &Value, own: &str, files: &Value) -> String {
    let tree = Tree::new();
    let parent = tree.directory("");
    tree.fill(&parent, &json!({ "repo/AGENTS.md": "ROOT ROOT ROOT\n", "repo/a/AGENTS.md": "A A A A A\n" }));
    tree.fill(&parent, &json!({ "home/config.toml": own, "repo/.git": repository }));
    tree.fill(&parent, files);
    let homes = HomeDirectories::default().with(&CODEX, parent.join("home"));
    let settings = FileSettings { homes, ..FileSettings::of(&CODEX) };
    let cwd = parent.join("repo/a");
    match resolve(&Request { cwd: &cwd, settings: &settings }, None) {
        Ok(resolution) => {
            resolution.files.iter().map(|file| file.text.as_str()).collect::<Vec<_>>().join("|")
        }
        Err(error) => error.to_string().replace(&*parent.to_string_lossy(), "~"),
    }
}

#[test]
fn a_trusted_projects_own_settings_count() {
    let whole = "ROOT ROOT ROOT\n|A A A A A\n";
    let limit = "project_doc_max_bytes = 8\n";
    let nested = "project_doc_max_bytes = 20\n";
    for (own, files, expected) in [
        (TRUSTED, json!({}), whole),
        (TRUSTED, json!({ "repo/.codex/config.toml": limit }), "ROOT ROO"),
        ("", json!({ "repo/.codex/config.toml": limit }), whole),
        (UNTRUSTED, json!({ "repo/.codex/config.toml": limit }), ""),
        (
            TRUSTED,
            json!({ "repo/.codex/config.toml": limit, "repo/a/.codex/config.toml": nested }),
            "ROOT ROOT ROOT\n|A A A",
        ),
        (
            "[projects.\"{R}/a\"]\ntrust_level = \"trusted\"\n",
            json!({ "repo/.codex/config.toml": limit, "repo/a/.codex/config.toml": nested }),
            "ROOT ROOT ROOT\n|A A A",
        ),
        // The root is known before the project's settings are read, so markers in them have no effect.
        (TRUSTED, json!({ "repo/.codex/config.toml": "project_root_markers = []\n" }), whole),
        (TRUSTED, json!({ "repo/.codex/config.toml": UNTRUSTED }), ""),
        (TRUSTED, json!({ "repo/.codex": "a file" }), whole),
        // Settings of a project that is not trusted are not even parsed, so an error in them does no harm.
        ("", json!({ "repo/.codex/config.toml": "x = [\n" }), whole),
        (UNTRUSTED, json!({ "repo/.codex/config.toml": "x = [\n" }), ""),
    ] {
        assert_eq!(ask(&json!({ "git": true }), own, &files), expected, "{own}{files}");
    }
}

#[test]
fn without_a_repository_only_the_working_directory_counts() {
    let own = "[projects.\"{R}/a\"]\ntrust_level = \"trusted\"\n";
    let files = json!({
        "repo/.codex/config.toml": "project_doc_max_bytes = 3\n",
        "repo/a/.codex/config.toml": "project_doc_max_bytes = 4\n",
    });
    assert_eq!(ask(&json!({ "symlink": "nowhere" }), own, &files), "A A ");
    assert_eq!(ask(&json!({ "symlink": "nowhere" }), TRUSTED, &files), "A A A A A\n");
}

#[test]
fn settings_that_keep_codex_from_starting() {
    for (text, message) in [
        (json!("x = [\n"), "unclosed array"),
        (json!("project_doc_max_bytes = \"x\"\n"), "invalid type"),
        (json!("project_root_markers = \"x\"\n"), "invalid type"),
        (json!({ "dir": true }), "it is not a file"),
    ] {
        let said = ask(&json!({ "git": true }), TRUSTED, &json!({ "repo/.codex/config.toml": text }));
        let start = "codex would not start with ~/repo/.codex/config.toml: ";
        assert!(said.starts_with(start) && said.contains(message), "{text}: {said}");
    }
}
