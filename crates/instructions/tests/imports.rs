//! Imports: the included files, their order, and the outcomes of the others.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use instructions::{
    AgentsConfig, CODELIA, CODEX, Cache, DiagnosticCode, FOREWORD, FileScope, FileSettings, HomeDirectories,
    Outcome, Request, Resolution, resolve, survey,
};
use serde_json::{Value, json};
use support::Tree;

struct Project {
    tree: Tree,
    root: PathBuf,
    settings: FileSettings,
}

impl Project {
    fn new(files: Value) -> Self {
        let tree = Tree::new();
        let root = tree.directory("root");
        tree.fill(&root, &json!({ ".git": { "dir": true } }));
        tree.fill(&root, &files);
        Self { tree, root, settings: FileSettings::default() }
    }

    /// Resolves a directory, and checks that a survey and a cache agree.
    fn ask(&self, cwd: &str) -> Resolution {
        let cwd = self.root.join(cwd);
        let request = Request { cwd: &cwd, settings: &self.settings };
        let lean = resolve(&request, None).unwrap();
        let full = survey(&request).unwrap();
        assert_eq!((&lean.text, &lean.files), (&full.text, &full.files));
        assert_eq!(resolve(&request, Some(&Cache::new())).unwrap(), lean);
        full
    }

    /// Returns the files of an answer with their scopes, in the order of the text.
    fn files(&self, found: &Resolution) -> Vec<String> {
        let scope = |scope| match scope {
            FileScope::Home => "home",
            FileScope::Project => "project",
            FileScope::Import => "import",
            FileScope::Rule => "rule",
        };
        found.files.iter().map(|file| format!("{} {}", scope(file.scope), self.name(&file.path))).collect()
    }

    /// Returns the outcomes of files that are not used.
    fn rest(&self, found: &Resolution) -> Vec<(String, Outcome)> {
        let rest = found
            .decisions
            .iter()
            .filter(|decision| !matches!(decision.outcome, Outcome::Used | Outcome::Absent));
        rest.map(|decision| (self.name(&decision.path), decision.outcome)).collect()
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn check(&self, cwd: &str, files: &[&str], rest: &[(&str, Outcome)]) -> Resolution {
        let found = self.ask(cwd);
        assert_eq!(self.files(&found), files);
        let rest: Vec<(String, Outcome)> =
            rest.iter().map(|(name, fate)| ((*name).to_owned(), *fate)).collect();
        assert_eq!(self.rest(&found), rest);
        found
    }
}

#[test]
fn an_import_has_a_block_after_its_importer() {
    let project = Project::new(json!({
        "AGENTS.md": "See @docs/style.md and @missing.md, me@example.com.\n",
        "docs/style.md": "Style. More in @deep/naming.md.\n",
        "docs/deep/naming.md": "Naming.\n",
        "a/AGENTS.md": "In a.\n",
    }));
    let found = project.check(
        "a",
        &["project AGENTS.md", "import docs/style.md", "import docs/deep/naming.md", "project a/AGENTS.md"],
        &[],
    );
    let root = project.root.display();
    assert_eq!(
        found.text.unwrap(),
        format!(
            "<agents_context scope=\"initial\">\n\
             Instructions from: {root}/AGENTS.md\n\
             See @docs/style.md and @missing.md, me@example.com.\n\n\
             Instructions from: {root}/docs/style.md\n\
             Style. More in @deep/naming.md.\n\n\
             Instructions from: {root}/docs/deep/naming.md\n\
             Naming.\n\n\
             Instructions from: {root}/a/AGENTS.md\n\
             In a.\n\
             </agents_context>"
        )
    );
    let style = found.decisions.iter().find(|decision| decision.path.ends_with("style.md")).unwrap();
    assert_eq!(style.detail().as_deref(), Some(&*format!("imported by {root}/AGENTS.md, line 1")));
}

#[test]
fn agents_without_imports_keep_them_as_text() {
    let mut project = Project::new(json!({ "AGENTS.md": "@a.md\n", "a.md": "A.\n" }));
    for profile in [&CODEX, &CODELIA] {
        project.settings = FileSettings::of(profile);
        project.check("", &["project AGENTS.md"], &[]);
    }
}

#[test]
fn settings_switch_imports_off() {
    let mut project = Project::new(json!({ "AGENTS.md": "@a.md @none.md\n", "a.md": "A.\n" }));
    // The setting of a workspace.
    let patch: AgentsConfig = serde_json::from_value(json!({ "imports": false })).unwrap();
    project.settings.apply(&patch).unwrap();
    project.check("", &["project AGENTS.md"], &[("a.md", Outcome::Disabled)]);
}

#[test]
fn each_file_is_used_once_and_cycles_end() {
    let project = Project::new(json!({
        "AGENTS.md": "@AGENTS.md @one.md @two.md @link.md\n",
        "one.md": "One: @two.md\n",
        "two.md": "Two: @one.md @./two.md\n",
        "link.md": { "symlink": "one.md" },
    }));
    project.check(
        "",
        &["project AGENTS.md", "import one.md", "import two.md"],
        &[
            ("AGENTS.md", Outcome::Duplicate),
            ("one.md", Outcome::Duplicate),
            ("two.md", Outcome::Duplicate),
            ("two.md", Outcome::Duplicate),
            ("link.md", Outcome::Duplicate),
        ],
    );
}

#[test]
fn a_file_of_the_chain_keeps_its_position() {
    let project = Project::new(json!({
        "AGENTS.md": "Root. @a/AGENTS.md @CLAUDE.md\n",
        "CLAUDE.md": "@AGENTS.md\n",
        "a/AGENTS.md": "In a. @../AGENTS.md\n",
    }));
    project.check(
        "a",
        &["project AGENTS.md", "import CLAUDE.md", "project a/AGENTS.md"],
        &[
            ("a/AGENTS.md", Outcome::Duplicate),
            ("AGENTS.md", Outcome::Duplicate),
            ("AGENTS.md", Outcome::Duplicate),
        ],
    );
    // From another file it is an ordinary import.
    project.check(
        "",
        &["project AGENTS.md", "import a/AGENTS.md", "import CLAUDE.md"],
        &[("AGENTS.md", Outcome::Duplicate), ("AGENTS.md", Outcome::Duplicate)],
    );
}

#[test]
fn imports_are_followed_five_deep() {
    let project = Project::new(json!({
        "AGENTS.md": "0 @1.md\n", "1.md": "1 @2.md\n", "2.md": "2 @3.md\n", "3.md": "3 @4.md\n",
        "4.md": "4 @5.md\n", "5.md": "5 @6.md\n", "6.md": "6\n",
    }));
    let five =
        ["project AGENTS.md", "import 1.md", "import 2.md", "import 3.md", "import 4.md", "import 5.md"];
    let found = project.check("", &five, &[("6.md", Outcome::TooDeep)]);
    let deep = found.decisions.last().unwrap().detail().unwrap();
    assert!(deep.contains("5.md, line 1, which is 5 imports deep already"), "{deep}");
    // A shorter path of imports includes it.
    fs::write(project.root.join("AGENTS.md"), "0 @1.md @6.md\n").unwrap();
    let six: Vec<&str> = five.into_iter().chain(["import 6.md"]).collect();
    project.check("", &six, &[]);
}

#[test]
fn imports_outside_the_root_and_non_files_are_rejected() {
    let project = Project::new(json!({
        "AGENTS.md": "@../outside.md @a/../../outside.md @out.md @out/secret.md @dir @fifo @loop.md @blank.md\n\
                      @zero @in.md\n@dangling.md @AGENTS.md/x @/etc/passwd @~/x.md",
        "out.md": { "symlink": "../outside.md" },
        "out": { "symlink": "../elsewhere" },
        "dir": { "dir": true },
        "fifo": { "fifo": true },
        "loop.md": { "symlink": "loop.md" },
        "blank.md": " \n",
        "zero": { "symlink": "/dev/zero" },
        "target.md": "In.\n",
        "in.md": { "symlink": "{P}/root/target.md" },
        "dangling.md": { "symlink": "nowhere" },
    }));
    let base = project.tree.directory("");
    project
        .tree
        .fill(&base, &json!({ "outside.md": "classified", "elsewhere/secret.md": "also classified" }));
    let outside = base.join("outside.md").to_string_lossy().into_owned();
    let found = project.check(
        "",
        &["project AGENTS.md", "import in.md"],
        &[
            (&outside, Outcome::OutsideRoot),
            (&outside, Outcome::OutsideRoot),
            ("out.md", Outcome::OutsideRoot),
            ("out/secret.md", Outcome::OutsideRoot),
            ("dir", Outcome::NotAFile),
            ("fifo", Outcome::NotAFile),
            ("loop.md", Outcome::Unreadable),
            ("blank.md", Outcome::Blank),
            ("zero", Outcome::OutsideRoot),
        ],
    );
    assert!(!found.text.unwrap().contains("classified"));
    let mut project = project;
    project.settings.agents.follow_external_links = Some(true);
    let found = project.ask("");
    let files = project.files(&found);
    assert_eq!(files, ["project AGENTS.md", "import out.md", "import out/secret.md", "import in.md"]);
    assert_eq!(
        project.rest(&found)[..2].iter().map(|(_, fate)| *fate).collect::<Vec<_>>(),
        [Outcome::OutsideRoot; 2]
    );
}

#[test]
fn without_a_root_imports_stay_in_the_directory() {
    let tree = Tree::new();
    let cwd = tree.directory("a/b");
    tree.fill(&cwd, &json!({ "AGENTS.md": "@../x.md @y.md", "y.md": "Y." , "../x.md": "X." }));
    let settings = FileSettings::default();
    let found = survey(&Request { cwd: &cwd, settings: &settings }).unwrap();
    assert_eq!(found.root, None);
    let paths: Vec<&Path> = found.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(paths, [cwd.join("AGENTS.md"), cwd.join("y.md")]);
    assert!(found.decisions.iter().any(|decision| decision.outcome == Outcome::OutsideRoot));
}

#[test]
fn the_users_own_files_import_from_their_directory() {
    let mut project = Project::new(json!({ "AGENTS.md": "Root.\n", "x.md": "X.\n" }));
    let home = project.tree.directory("home");
    project.tree.fill(
        &home,
        &json!({ "AGENTS.md": "Mine. @style.md @../root/x.md @out.md\n", "style.md": "Style.\n".repeat(6_000),
                 "out.md": { "symlink": "../root/x.md" } }),
    );
    project.settings.homes = HomeDirectories::default().with(&FOREWORD, &home);
    let found = project.ask("");
    let mine = home.join("AGENTS.md");
    let style = home.join("style.md");
    let files: Vec<(FileScope, &Path, bool)> =
        found.files.iter().map(|file| (file.scope, file.path.as_path(), file.truncated)).collect();
    assert_eq!(
        files,
        [
            (FileScope::Home, mine.as_path(), false),
            (FileScope::Import, style.as_path(), false),
            (FileScope::Project, project.root.join("AGENTS.md").as_path(), false),
        ],
        "what is the user's own is not limited"
    );
    let fates: Vec<Outcome> = project.rest(&found).into_iter().map(|(_, fate)| fate).collect();
    assert_eq!(fates, [Outcome::OutsideRoot, Outcome::OutsideRoot]);
}

/// The file is the user's own, wherever the link leads.
#[test]
fn the_users_own_file_may_be_a_link_to_anywhere() {
    let mut project = Project::new(json!({ "AGENTS.md": "Root.\n" }));
    let home = project.tree.directory("home");
    let base = project.tree.directory("");
    project.tree.fill(&base, &json!({ "dotfiles/mine.md": "Mine.\n" }));
    project.tree.fill(&home, &json!({ "AGENTS.md": { "symlink": "../dotfiles/mine.md" } }));
    project.settings.homes = HomeDirectories::default().with(&FOREWORD, &home);
    let found = project.ask("");
    let scopes: Vec<FileScope> = found.files.iter().map(|file| file.scope).collect();
    assert_eq!(scopes, [FileScope::Home, FileScope::Project]);
    assert!(found.text.unwrap().contains("Mine."));
}

#[test]
fn imports_share_the_limit_and_are_dropped_first() {
    let mut project = Project::new(json!({
        "AGENTS.md": "Root. @big.md\n",
        "big.md": "line\n".repeat(10),
        "a/AGENTS.md": "Near. @near.md\n",
        "a/near.md": "line\n".repeat(4),
    }));
    project.settings.agents.initial.max_bytes = Some(60);
    let found = project.check(
        "a",
        &["project AGENTS.md", "import big.md", "project a/AGENTS.md", "import a/near.md"],
        &[("big.md", Outcome::Truncated)],
    );
    let kept: Vec<u64> = found.files.iter().map(|file| file.kept_bytes).collect();
    assert_eq!(kept, [14, 10, 15, 20]);
    assert!(found.text.unwrap().contains("big.md for the rest.]"));
}

#[test]
fn other_encodings_and_line_ends_hide_no_import() {
    let project = Project::new(json!({
        "AGENTS.md": "\u{feff}@a.md\r\n@b.md\r\n",
        "a.md": { "base64": "/v8gQGMubWQK" },
        "b.md": "B\r\n",
        "c.md": "C\n",
    }));
    let found = project.check("", &["project AGENTS.md", "import a.md", "import c.md", "import b.md"], &[]);
    assert_eq!(
        found.diagnostics.iter().map(|found| found.code).collect::<Vec<_>>(),
        [DiagnosticCode::InvalidUtf8]
    );
}

#[test]
fn ten_thousand_imports_end_with_one_warning() {
    let project = Project::new(json!({}));
    let missing: String = (0..10_000).map(|number| format!("@missing/{number}.md\n")).collect();
    fs::write(project.root.join("AGENTS.md"), &missing).unwrap();
    let found = project.check("", &["project AGENTS.md"], &[("AGENTS.md", Outcome::Truncated)]);
    let warnings = |found: &Resolution| {
        let warnings = found.diagnostics.iter().map(|found| (found.code, found.line));
        warnings.collect::<Vec<_>>()
    };
    assert_eq!(warnings(&found), [(DiagnosticCode::TooManyImports, Some(4_097))]);
    // Missing and existing files have limits of their own: looking for a missing file is cheap, reading an existing one
    // is not.
    let present: String = (0..1_000).map(|number| format!("@{number}.md\n")).collect();
    fs::write(project.root.join("AGENTS.md"), &present).unwrap();
    for number in 0..1_000 {
        fs::write(project.root.join(format!("{number}.md")), "x\n").unwrap();
    }
    let found = project.ask("");
    assert_eq!(
        (found.files.len(), warnings(&found)),
        (257, vec![(DiagnosticCode::TooManyImports, Some(257))])
    );
}

#[test]
fn a_file_that_only_imports_or_repeats_is_noted() {
    let project = Project::new(json!({
        "AGENTS.md": "@docs/rules.md\n",
        "docs/rules.md": "Rules.\n",
        "CLAUDE.md": "<!-- one home -->\n@AGENTS.md\n",
        "GEMINI.md": "@docs/rules.md and more\n",
        "QWEN.md": "Rules.\n",
        "a/AGENTS.md": "Rules.\n",
    }));
    let found = project.ask("a");
    let detail = |name: &str| {
        let decision = found.decisions.iter().find(|decision| project.name(&decision.path) == name).unwrap();
        decision.detail().unwrap().replace(&format!("{}/", project.root.display()), "")
    };
    assert_eq!(detail("AGENTS.md"), "it only imports docs/rules.md");
    assert!(detail("CLAUDE.md").ends_with("it only imports AGENTS.md, which is read"));
    assert!(detail("GEMINI.md").ends_with("copy what should count into AGENTS.md"));
    assert!(detail("QWEN.md").ends_with("it repeats docs/rules.md, which is read"));
    assert_eq!(detail("a/AGENTS.md"), "it repeats docs/rules.md");
}

/// Private files are never read, whatever the root is: not by name, not as an import, not through a link.
#[test]
fn private_files_are_never_instructions() {
    let mut project = Project::new(json!({
        "AGENTS.md": "@data/owner.token @key.txt @other-name.txt @docs/style.md\n",
        "docs/style.md": "Style.\n",
        "data/owner.token": "secret\n",
        "data/AGENTS.md": "inside\n",
        "key.txt": "key\n",
        "a/AGENTS.md": { "symlink": "../key.txt" },
    }));
    std::fs::hard_link(project.root.join("key.txt"), project.root.join("other-name.txt")).unwrap();
    project.settings.private_paths = vec![project.root.join("data"), project.root.join("key.txt")];
    let outside = Outcome::OutsideRoot;
    let kept = [("data/owner.token", outside), ("key.txt", outside), ("other-name.txt", outside)];
    let used = ["project AGENTS.md", "import docs/style.md"];
    let found = project.check("", &used, &kept);
    assert!(!found.text.unwrap().contains("secret"));
    // A private file counts as outside, so that the answer does not reveal what the path contains.
    let linked = [&[("a/AGENTS.md", outside)], &kept[..]].concat();
    project.check("a", &used, &linked);
    let inside = [&[("data/AGENTS.md", outside)], &kept[..]].concat();
    project.check("data", &used, &inside);
    // The same holds if the root is a symlink.
    let link = project.tree.directory("links").join("root");
    std::os::unix::fs::symlink(&project.root, &link).unwrap();
    project.root = link;
    assert_eq!(project.files(&project.ask("")), used);
}
