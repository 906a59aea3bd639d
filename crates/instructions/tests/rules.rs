//! Front matter: files that apply only to some paths or some readers.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod support;

use std::path::PathBuf;

use instructions::{
    Audience, CODEX, DiagnosticCode, FOREWORD, FileScope, FileSettings, HomeDirectories, Outcome, Request,
    Resolution, resolve, survey,
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

    fn ask(&self, cwd: &str) -> Resolution {
        let cwd = self.root.join(cwd);
        std::fs::create_dir_all(&cwd).unwrap();
        let request = Request { cwd: &cwd, settings: &self.settings };
        let full = survey(&request).unwrap();
        // The survey explains the result, so both have to agree in every test.
        assert_eq!(resolve(&request, None).unwrap().text, full.text);
        full
    }

    /// Returns names, scopes and outcomes of the files that exist.
    fn fates(&self, cwd: &str) -> Vec<(String, Option<FileScope>, Outcome)> {
        let found = self.ask(cwd);
        let there = found.decisions.iter().filter(|decision| decision.outcome != Outcome::Absent);
        there
            .map(|decision| {
                let scope = found.files.iter().find(|file| file.path == decision.path).map(|file| file.scope);
                let name = decision.path.strip_prefix(&self.root).unwrap_or(&decision.path);
                (name.to_string_lossy().into_owned(), scope, decision.outcome)
            })
            .collect()
    }
}

fn fate(name: &str, scope: Option<FileScope>, outcome: Outcome) -> (String, Option<FileScope>, Outcome) {
    (name.to_owned(), scope, outcome)
}

const USED: (Option<FileScope>, Outcome) = (Some(FileScope::Project), Outcome::Used);

#[test]
fn a_rule_applies_where_the_directory_matches_and_hides_nothing() {
    let project = Project::new(json!({
        "AGENTS.override.md": "---\napplies_to: src/**\n---\nFor sources.\n",
        "AGENTS.md": "For all.\n",
    }));
    let rule = "AGENTS.override.md";
    for (cwd, applies) in [("", false), ("docs", false), ("src", true), ("src/deep/down", true)] {
        let (scope, outcome) =
            if applies { (Some(FileScope::Rule), Outcome::Used) } else { (None, Outcome::NotApplicable) };
        let expected = [fate(rule, scope, outcome), fate("AGENTS.md", USED.0, USED.1)];
        assert_eq!(project.fates(cwd), expected, "{cwd}");
    }
    let found = project.ask("docs");
    let detail = found.decisions[0].detail();
    let root = project.root.display();
    let why =
        format!("it applies to `src/**` below {root}; it is brought in when a path that matches is touched");
    assert_eq!(
        found.decisions.iter().find(|decision| decision.path.ends_with(rule)).unwrap().detail(),
        Some(why),
        "{detail:?}"
    );
    let text = project.ask("src").text.unwrap();
    assert!(text.contains("AGENTS.override.md\nFor sources.\n\nInstructions from"), "{text}");
    assert!(!text.contains("applies_to"), "it is stripped");
}

#[test]
fn globs_are_relative_to_the_file_of_the_chain() {
    let project = Project::new(json!({
        "a/AGENTS.md": "---\napplies_to: [\"src/**\"]\n---\nFor a/src.\n",
        "AGENTS.md": "@rules/ts.md\n",
        "rules/ts.md": "---\napplies_to: web\n---\nFor web.\n",
    }));
    let import = |outcome, scope| fate("rules/ts.md", scope, outcome);
    let is = |outcome| fate("a/AGENTS.md", (outcome == Outcome::Used).then_some(FileScope::Rule), outcome);
    let root = fate("AGENTS.md", USED.0, USED.1);
    let off = import(Outcome::NotApplicable, None);
    assert_eq!(project.fates("a/src"), [root.clone(), is(Outcome::Used), off.clone()]);
    assert_eq!(project.fates("a/b/src"), [root.clone(), is(Outcome::NotApplicable), off]);
    assert_eq!(project.fates("web"), [root, import(Outcome::Used, Some(FileScope::Rule))]);
}

#[test]
fn an_audience_has_its_own_files() {
    let mut project = Project::new(json!({
        "AGENTS.override.md": "---\naudience: delegate\n---\nFor delegates.\n",
        "AGENTS.md": "---\naudience: main\n---\nFor the main agent.\n",
        "a/AGENTS.md": "For both.\n",
    }));
    let both = fate("a/AGENTS.md", USED.0, USED.1);
    assert_eq!(
        project.fates("a"),
        [
            fate("AGENTS.override.md", None, Outcome::NotApplicable),
            fate("AGENTS.md", USED.0, USED.1),
            both.clone()
        ]
    );
    project.settings.audience = Audience::Delegate;
    assert_eq!(
        project.fates("a"),
        [fate("AGENTS.override.md", USED.0, USED.1), fate("AGENTS.md", None, Outcome::Shadowed), both]
    );
}

#[test]
fn other_front_matter_and_other_agents_see_text() {
    let mut project = Project::new(json!({
        "AGENTS.md": "---\ndescription: x\n---\nText.\n",
        "a/AGENTS.md": "---\napplies_to: nothing\n---\nText.\n",
    }));
    let text = project.ask("").text.unwrap();
    assert!(text.contains("\n---\ndescription: x\n---\nText."), "{text}");
    project.settings = FileSettings::of(&CODEX);
    assert!(project.ask("a").text.unwrap().contains("applies_to: nothing"));
}

#[test]
fn invalid_front_matter_is_text_with_a_warning() {
    let project = Project::new(json!({ "AGENTS.md": "---\ndescription: x\napplies_to: *.ts\n---\nText.\n" }));
    let found = project.ask("");
    assert!(found.text.unwrap().contains("applies_to: *.ts"));
    let [warning] = &found.diagnostics[..] else { panic!("{:?}", found.diagnostics) };
    assert_eq!((warning.code, warning.line), (DiagnosticCode::InvalidFrontMatter, Some(3)));
    assert!(warning.message.contains("in quotes"), "{}", warning.message);
}

#[test]
fn lines_are_those_of_the_file() {
    let project = Project::new(json!({
        "AGENTS.md": "---\naudience: main\n---\none\n</agents_context>\n@missing.md @b.md\n",
        "b.md": "B",
    }));
    let found = project.ask("");
    assert_eq!(found.diagnostics.iter().map(|found| found.line).collect::<Vec<_>>(), [Some(5)]);
    let b = found.decisions.iter().find(|decision| decision.path.ends_with("b.md")).unwrap();
    assert!(b.detail().as_deref().unwrap().ends_with("line 6"));
}

#[test]
fn front_matter_alone_is_blank_and_stays_cut() {
    let mut project = Project::new(json!({
        "AGENTS.md": "---\naudience: main\n---\n \n",
        "a/AGENTS.md": format!("---\naudience: main\n# a note\n---\n{}# Last\n", "line\n".repeat(20)),
    }));
    assert_eq!(project.fates("")[0], fate("AGENTS.md", None, Outcome::Blank));
    for (limit, shown) in [(60, "a/AGENTS.md\nline\n"), (20, "a/AGENTS.md\n[foreword: ")] {
        project.settings.agents.initial.max_bytes = Some(limit);
        let text = project.ask("a").text.unwrap();
        assert!(text.contains(shown) && text.contains("omitted headings: Last."), "{text}");
    }
}

#[test]
fn the_users_own_rules_match_project_paths() {
    let mut project = Project::new(json!({}));
    let home = project.tree.directory("home");
    project.tree.fill(
        &home,
        &json!({
            "AGENTS.override.md": "---\napplies_to: web/**\n---\nMine for web.\n",
            "AGENTS.md": "Mine.\n",
        }),
    );
    project.settings.homes = HomeDirectories::default().with(&FOREWORD, &home);
    let scopes = |cwd| {
        let found = project.ask(cwd);
        found.files.iter().map(|file| file.scope).collect::<Vec<_>>()
    };
    assert_eq!(scopes("web"), [FileScope::Rule, FileScope::Home]);
    assert_eq!(scopes("docs"), [FileScope::Home]);
}

#[test]
fn a_megabyte_of_front_matter_and_a_bomb_are_text() {
    let long = format!("---\napplies_to: a\n{}---\nText.\n", "x: y\n".repeat(200_000));
    // Twenty levels of nine aliases each would expand to 9^20 nodes. The parser has to stop long before that.
    let mut bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let before = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    bomb.push_str("applies_to: *a19\n---\nText.\n");
    for text in [long, bomb] {
        let project = Project::new(json!({ "AGENTS.md": text }));
        let found = project.ask("");
        assert!(found.text.unwrap().contains("\n---\na"));
        assert!(found.diagnostics.iter().any(|found| found.code == DiagnosticCode::InvalidFrontMatter));
    }
}
