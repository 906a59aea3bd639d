//! Compares the profile `codex` with the real Codex on generated trees. Skipped if the command is not on the PATH.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use instructions::{CODEX, FileSettings, HomeDirectories, Request, resolve};
use serde_json::{Map, Value, json};
use support::Tree;

/// Number of trees. Each one starts the real command.
const TREES: u64 = 60; // more with DIFFERENTIAL_TREES=1000

/// A small generator, so that a tree can be reproduced from its number.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// Draws sizes around the limit, characters on its border, blank files, links and directories.
fn entry(random: &mut Random, limit: usize) -> Value {
    let around = |random: &mut Random| (limit + 3).saturating_sub(random.below(7));
    match random.below(14) {
        0 => json!(""),
        1 => json!(" \n\t"),
        2 => json!("\u{a0}\u{3000}"),
        3 => json!("\u{200b}"),
        4 => json!("\u{feff}text\r\nmore"),
        5 => json!({ "dir": true }),
        6 => json!({ "symlink": random.pick(&["other.md", "nowhere", ".", "../outside.md", "AGENTS.md"]) }),
        7 => json!({ "repeat": ["x", around(random)] }),
        8 => json!({ "repeat": ["é", around(random) / 2 + 1] }),
        9 => json!({ "repeat": ["😀", around(random) / 4 + 1] }),
        10 => json!({ "repeat": [" ", around(random)] }),
        11 => json!({ "base64": "Yf/+YsMoZPCfmGUK" }),
        _ => json!(format!("rule {}\n", random.below(1000))),
    }
}

fn tree(random: &mut Random, limit: usize) -> Value {
    let mut tree = Map::new();
    tree.insert("other.md".into(), json!("the other file\n"));
    match random.below(5) {
        0 => {}
        1 => drop(tree.insert(".git".into(), json!("gitdir: elsewhere"))),
        2 => drop(tree.insert("a/.git".into(), json!({ "dir": true }))),
        3 => drop(tree.insert(".git".into(), json!({ "symlink": "nowhere" }))),
        _ => drop(tree.insert(".git".into(), json!({ "dir": true }))),
    }
    for directory in ["", "a/", "a/b/"] {
        for name in ["AGENTS.override.md", "AGENTS.md", "NOTES.md"] {
            if random.below(3) > 0 {
                tree.insert(format!("{directory}{name}"), entry(random, limit));
            }
        }
    }
    tree.insert("a/b/c".into(), json!({ "dir": true }));
    Value::Object(tree)
}

/// Returns the prompt of the real command.
fn ask_codex(command: &Path, cwd: &Path, home: &Path) -> Option<String> {
    let output = Command::new(command)
        .args(["debug", "prompt-input", "hi"])
        .current_dir(cwd)
        .env("CODEX_HOME", home)
        .output()
        .unwrap();
    let messages: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .find(|text| text.starts_with("# AGENTS.md instructions"))
        .map(str::to_owned)
}

fn on_path(command: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|path| path.join(command))
        .find(|path| path.is_file())
}

#[test]
fn codex_agrees_on_generated_trees() {
    let Some(command) = on_path("codex") else {
        return support::skipped("codex is not on the PATH (npm install -g @openai/codex)");
    };
    let trees =
        std::env::var("DIFFERENTIAL_TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(TREES);
    for number in 0..trees {
        let mut random = Random(number);
        // Small limits make cuts frequent. The last one is the default of Codex.
        let limit = *random.pick(&[16, 40, 64, 32_768]);
        let tree = Tree::new();
        let root = tree.directory("root");
        let home = tree.directory("home");
        let described = self::tree(&mut random, limit);
        tree.fill(&root, &described);
        tree.fill(&tree.directory(""), &json!({ "outside.md": "outside\n" }));
        let global = entry(&mut random, 40);
        if random.below(2) == 0 && global.is_string() {
            tree.fill(&home, &json!({ "AGENTS.md": global }));
        }
        let config = format!(
            "project_doc_max_bytes = {limit}\nproject_doc_fallback_filenames = [\"NOTES.md\", \"a/b.md\", \" \"]\n"
        );
        tree.fill(&home, &json!({ "config.toml": config }));
        let cwd = root.join(random.pick(&["", "a", "a/b", "a/b/c"])).components().collect::<PathBuf>();
        let homes = HomeDirectories::default().with(&CODEX, &home);
        let settings = FileSettings { homes, ..FileSettings::of(&CODEX) };
        let request = Request { cwd: &cwd, settings: &settings };
        let ours = resolve(&request, None).unwrap().text.clone();
        let theirs = ask_codex(&command, &cwd, &home);
        assert_eq!(ours, theirs, "tree {number}, limit {limit}, in {}: {described:#}", cwd.display());
    }
}
