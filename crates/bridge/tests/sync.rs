//! Files written next to a tree of AGENTS.md files.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::path::{Path, PathBuf};

use bridge::sync::{self, Means, Plan};
use bridge::{Content, Journal};
use instructions::{CLAUDE_CODE, FileSettings, GEMINI_CLI, Request, resolve};
use tempfile::TempDir;

struct Tree {
    _directory: TempDir,
    root: PathBuf,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("repo");
        let tree = Self { _directory: directory, root };
        tree.write(".git/HEAD", "");
        files.iter().for_each(|(name, text)| tree.write(name, text));
        tree
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn plan(&self, means: Means) -> Plan {
        sync::plan(&self.root, means, &FileSettings::default())
    }

    fn journal<T>(&self, then: impl FnOnce(&Journal<'_>) -> T) -> T {
        let directory = self.root.with_file_name("journal");
        then(&Journal { directory: &directory, reason: sync::REASON })
    }

    fn make(&self, means: Means) -> usize {
        let plan = self.plan(means);
        self.journal(|journal| plan.changes.iter().for_each(|change| journal.apply(change).unwrap()));
        plan.changes.len()
    }

    fn undo(&self) {
        self.journal(|journal| {
            for (change, _) in sync::undoing(&self.root, journal).unwrap() {
                journal.undo(&change).unwrap();
            }
        });
    }

    fn names(&self, plan: &Plan) -> Vec<String> {
        let name = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        plan.changes.iter().map(|change| name(&change.path)).collect()
    }
}

const TREE: &[(&str, &str)] = &[
    ("AGENTS.md", "ROOT\n"),
    ("a/AGENTS.md", "A\n"),
    ("a/b/x.rs", ""),
    // Ignored by Git, so this directory must get no file.
    ("target/AGENTS.md", "BUILT\n"),
    (".gitignore", "target\n"),
];

#[test]
fn sync_links_claude_files_and_configures_gemini() {
    let tree = Tree::new(TREE);
    assert_eq!(tree.names(&tree.plan(Means::Link)), ["CLAUDE.md", "a/CLAUDE.md", ".gemini/settings.json"]);
    tree.make(Means::Link);
    assert_eq!(tree.root.join("a/CLAUDE.md").read_link().unwrap(), Path::new("AGENTS.md"));
    let settings = std::fs::read_to_string(tree.root.join(".gemini/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["context"]["fileName"], serde_json::json!(["AGENTS.md", "GEMINI.md"]));
    let plan = tree.plan(Means::Link);
    assert!(plan.changes.is_empty() && plan.kept.is_empty(), "{plan:?}");
    assert!(tree.plan(Means::Import).changes.is_empty(), "what leads there is enough");
    // Our own profile of Gemini CLI must agree that the written settings make it read AGENTS.md.
    let settings = FileSettings::of(&GEMINI_CLI);
    let read = resolve(&Request { cwd: &tree.root, settings: &settings }, None).unwrap();
    assert!(read.text.as_deref().is_some_and(|text| text.contains("ROOT")), "{read:?}");
    tree.undo();
    assert_eq!(tree.names(&tree.plan(Means::Link)).len(), 3);
    assert!(!tree.root.join(".gemini").exists());
}

/// The reason for links: Claude Code would not follow an import if it was started further down.
#[test]
fn claude_code_gets_all_of_them_wherever_it_is_started() {
    let tree = Tree::new(TREE);
    tree.make(Means::Link);
    let cwd = tree.root.join("a/b");
    let settings = FileSettings::of(&CLAUDE_CODE);
    let text = resolve(&Request { cwd: &cwd, settings: &settings }, None).unwrap().text.clone().unwrap();
    assert!(text.contains("ROOT") && text.contains("\nA\n"), "{text}");
}

#[test]
fn imports_are_one_line() {
    let tree = Tree::new(TREE);
    tree.make(Means::Import);
    assert_eq!(std::fs::read_to_string(tree.root.join("CLAUDE.md")).unwrap(), "@AGENTS.md\n");
    let plan = tree.plan(Means::Link);
    assert!(plan.changes.is_empty());
    let lost = "imports AGENTS.md, which Claude Code does not follow where it is started further down";
    assert_eq!(kept(&plan), [(tree.root.join("CLAUDE.md"), lost)]);
    assert!(tree.plan(Means::Import).kept.is_empty(), "somebody has chosen it");
    tree.undo();
    assert!(!tree.root.join("CLAUDE.md").exists());
}

#[test]
fn somebodys_own_text_stays() {
    let tree = Tree::new(TREE);
    tree.write("CLAUDE.md", "My own rules.\n");
    // An import within other text is enough for Claude Code, so this file needs nothing.
    tree.write("a/CLAUDE.md", "# Mine\n\nSee @AGENTS.md\n");
    let plan = tree.plan(Means::Link);
    assert_eq!(tree.names(&plan), [".gemini/settings.json"]);
    assert_eq!(
        kept(&plan),
        [(
            tree.root.join("CLAUDE.md"),
            "has its own text, so the AGENTS.md beside it is not read by Claude Code"
        )]
    );
}

#[test]
fn settings_keep_what_they_have() {
    for (before, after) in [
        ("{\n  // mine\n  \"context\": { \"fileName\": \"NOTES.md\" }\n}\n", "[\"AGENTS.md\", \"NOTES.md\"]"),
        ("{ \"context\": { \"fileName\": [\"GEMINI.md\"], \"x\": 1 } }\n", "[\"GEMINI.md\", \"AGENTS.md\"]"),
    ] {
        let tree = Tree::new(TREE);
        tree.write(".gemini/settings.json", before);
        tree.make(Means::Link);
        let text = std::fs::read_to_string(tree.root.join(".gemini/settings.json")).unwrap();
        assert!(text.contains(after), "{text}");
        tree.undo();
        assert_eq!(std::fs::read_to_string(tree.root.join(".gemini/settings.json")).unwrap(), before);
    }
    let tree = Tree::new(TREE);
    tree.write(".gemini/settings.json", "{ nonsense");
    let plan = tree.plan(Means::Link);
    assert_eq!(tree.names(&plan), ["CLAUDE.md", "a/CLAUDE.md"]);
    assert!(
        plan.problems[0].to_string().contains(".gemini/settings.json was left unchanged: 1:"),
        "{plan:?}"
    );
}

fn kept(plan: &Plan) -> Vec<(PathBuf, &str)> {
    plan.kept.iter().map(|kept| (kept.path.clone(), kept.reason.as_str())).collect()
}

/// A new CLAUDE.md at the root would hide every AGENTS.md that gets none.
#[test]
fn hidden_directories_and_ignored_files_count() {
    let tree = Tree::new(&[
        ("AGENTS.md", "ROOT\n"),
        (".github/AGENTS.md", "GITHUB\n"),
        ("own/AGENTS.md", "OWN\n"),
        (".gitignore", "own/AGENTS.md\nCLAUDE.md\n"),
        (".ignore", "own\n"),
    ]);
    assert_eq!(
        tree.names(&tree.plan(Means::Link)),
        ["CLAUDE.md", ".github/CLAUDE.md", "own/CLAUDE.md", ".gemini/settings.json"]
    );
}

#[test]
fn other_repositories_and_packages_are_left_alone() {
    let tree = Tree::new(&[
        ("AGENTS.md", "ROOT\n"),
        ("nested/.git/HEAD", ""),
        ("nested/AGENTS.md", "NESTED\n"),
        ("submodule/.git", "gitdir: ../.git/modules/submodule\n"),
        ("submodule/AGENTS.md", "SUBMODULE\n"),
        ("node_modules/package/AGENTS.md", "PACKAGE\n"),
    ]);
    assert_eq!(tree.names(&tree.plan(Means::Link)), ["CLAUDE.md", ".gemini/settings.json"]);
}

#[test]
fn one_strange_file_stops_nothing() {
    let tree = Tree::new(&[
        ("AGENTS.md", "R\n"),
        ("a/AGENTS.md", "A\n"),
        ("b/AGENTS.md", "B\n"),
        ("c/AGENTS.md", "C\n"),
    ]);
    // Latin-1 text, a directory and a broken link: none of them can be replaced safely, and none may stop the other
    // changes.
    std::fs::write(tree.root.join("a/CLAUDE.md"), b"caf\xe9\n").unwrap();
    std::fs::create_dir(tree.root.join("b/CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("nothing", tree.root.join("c/CLAUDE.md")).unwrap();
    let plan = tree.plan(Means::Link);
    assert_eq!(tree.names(&plan), ["CLAUDE.md", ".gemini/settings.json"]);
    let reasons: Vec<&str> = plan.kept.iter().map(|kept| kept.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "is left unchanged because it is not UTF-8, so the AGENTS.md beside it is not read by Claude Code",
            "is left unchanged because it is not a file, so the AGENTS.md beside it is not read by Claude Code",
            "is a broken link, so the AGENTS.md beside it is not read by Claude Code"
        ]
    );
}

#[test]
fn a_pipe_as_ignore_file_does_not_block() {
    let tree = Tree::new(&[("AGENTS.md", "R\n"), ("a/AGENTS.md", "A\n")]);
    // Opening a pipe without a writer blocks forever.
    let status = std::process::Command::new("mkfifo").arg(tree.root.join("a/.gitignore")).status().unwrap();
    assert!(status.success());
    assert_eq!(tree.names(&tree.plan(Means::Link)), ["CLAUDE.md", ".gemini/settings.json"]);
}

#[test]
fn settings_outside_of_the_project_are_not_changed() {
    let tree = Tree::new(TREE);
    let outside = tree.root.with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, tree.root.join(".gemini")).unwrap();
    let plan = tree.plan(Means::Link);
    assert_eq!(tree.names(&plan), ["CLAUDE.md", "a/CLAUDE.md"]);
    assert!(
        plan.problems[0].to_string().ends_with("outside/settings.json, outside of the project"),
        "{plan:?}"
    );
}

#[test]
fn after_somebodys_change_only_our_name_goes() {
    let tree = Tree::new(TREE);
    tree.make(Means::Link);
    let text = std::fs::read_to_string(tree.root.join(".gemini/settings.json")).unwrap();
    tree.write(".gemini/settings.json", &text.replacen('{', "{\n  \"theme\": \"dark\",", 1));
    tree.undo();
    let text = std::fs::read_to_string(tree.root.join(".gemini/settings.json")).unwrap();
    let left: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(left, serde_json::json!({ "theme": "dark" }));
}

#[test]
fn dangling_links_are_removed() {
    let tree = Tree::new(TREE);
    tree.make(Means::Link);
    std::fs::remove_file(tree.root.join("a/AGENTS.md")).unwrap();
    let plan = tree.plan(Means::Link);
    assert_eq!(tree.names(&plan), ["a/CLAUDE.md"]);
    assert_eq!(plan.changes[0].after, Content::Absent);
    tree.make(Means::Link);
    assert!(tree.root.join("a/CLAUDE.md").symlink_metadata().is_err());
}

#[test]
fn traps_are_left_alone() {
    let tree = Tree::new(&[("AGENTS.md", " \n"), ("a/AGENTS.md", "A\n")]);
    std::os::unix::fs::symlink("loop", tree.root.join("loop")).unwrap();
    std::fs::create_dir_all(tree.root.join("d/AGENTS.md")).unwrap();
    let status = std::process::Command::new("mkfifo").arg(tree.root.join("a/b")).status().unwrap();
    assert!(status.success());
    assert_eq!(tree.names(&tree.plan(Means::Link)), ["a/CLAUDE.md", ".gemini/settings.json"]);
}
