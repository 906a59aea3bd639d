//! Effects of the settings of Gemini CLI and Qwen Code on the names that they read. Each line of the tables was
//! verified with versions 0.61.0 and 0.24.4.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod support;

use std::path::{Path, PathBuf};

use instructions::{
    CLAUDE_CODE, DiagnosticCode, FileSettings, GEMINI_CLI, HomeDirectories, LinkBounds, OPENCODE, Outcome,
    Profile, ProjectBounds, QWEN_CODE, Request, Resolution, ResolveError, survey, survey_reading,
};
use serde_json::{Value, json};
use support::Tree;

struct Asked {
    parent: PathBuf,
    _tree: Tree,
    settings: FileSettings,
}

/// A repository with a directory `a`. Every name exists in both and in the agent's own directory.
fn asked(profile: &'static Profile, files: &Value) -> Asked {
    let tree = Tree::new();
    let parent = tree.directory("");
    tree.fill(&parent, &json!({ "repo/.git": { "git": true }, "repo/a/x.txt": "", "repo/a/b/x.txt": "" }));
    let own = HomeDirectories::find(Some(parent.join("home")), |_| None);
    let home = own.of(profile).unwrap().to_owned();
    tree.directory("home");
    for name in ["AGENTS.md", "GEMINI.md", "QWEN.md", "TEAM.md"] {
        tree.fill(&parent, &json!({ format!("repo/{name}"): format!("root {name}\n") }));
        tree.fill(&parent, &json!({ format!("repo/a/{name}"): format!("a {name}\n") }));
        tree.fill(&parent, &json!({ format!("repo/a/b/{name}"): format!("b {name}\n") }));
        tree.fill(&home, &json!({ name: format!("own {name}\n") }));
    }
    tree.fill(&parent, files);
    let settings = FileSettings { homes: own, ..FileSettings::of(profile) };
    Asked { parent, _tree: tree, settings }
}

impl Asked {
    fn at(&self, cwd: &str) -> Result<Resolution, ResolveError> {
        survey(&Request { cwd: &self.parent.join(cwd), settings: &self.settings })
    }
}

/// Returns the texts of the included files in order.
fn texts(resolution: &Resolution) -> String {
    resolution.files.iter().map(|file| file.text.trim()).collect::<Vec<_>>().join(" | ")
}

const GEMINI_OWN: &str = "home/.gemini/settings.json";
const GEMINI_AT_ROOT: &str = "repo/.gemini/settings.json";
const GEMINI_AT_CWD: &str = "repo/a/.gemini/settings.json";

#[test]
fn gemini_reads_the_names_of_its_settings_and_its_own() {
    let alone = "own GEMINI.md | root GEMINI.md | a GEMINI.md";
    let both = "own AGENTS.md | own GEMINI.md | root AGENTS.md | root GEMINI.md | a AGENTS.md | a GEMINI.md";
    let with_team = "own TEAM.md | own GEMINI.md | root GEMINI.md | root TEAM.md | a GEMINI.md | a TEAM.md";
    let list = json!({ "context": { "fileName": ["AGENTS.md", "GEMINI.md"] } }).to_string();
    let one = json!({ "context": { "fileName": " ./TEAM.md " } }).to_string();
    let nothing = json!({ "context": { "fileName": [] } }).to_string();
    for (files, expected) in [
        (json!({}), alone),
        (json!({ GEMINI_OWN: list }), both),
        (json!({ GEMINI_AT_CWD: list }), both),
        // Only the settings of the working directory count.
        (json!({ GEMINI_AT_ROOT: list }), alone),
        (json!({ GEMINI_OWN: one }), with_team),
        (json!({ GEMINI_OWN: one, GEMINI_AT_CWD: list }), both),
        (json!({ GEMINI_OWN: list, GEMINI_AT_CWD: one }), with_team),
        (json!({ GEMINI_OWN: list, GEMINI_AT_CWD: nothing }), alone),
        (json!({ GEMINI_OWN: nothing }), alone),
        (json!({ GEMINI_OWN: format!("// mine\n{{ /* \" */ {}", &list[1..]) }), both),
    ] {
        let asked = asked(&GEMINI_CLI, &files);
        assert_eq!(texts(&asked.at("repo/a").unwrap()), expected, "{files}");
    }
}

#[test]
fn a_decision_names_the_setting_behind_a_file() {
    let setting = json!({ "context": { "fileName": "TEAM.md" } }).to_string();
    let asked = asked(&GEMINI_CLI, &json!({ GEMINI_AT_CWD: setting }));
    let resolution = asked.at("repo/a").unwrap();
    let of = |name: &str| {
        let decided = |path: &Path| path == asked.parent.join("repo").join(name);
        resolution.decisions.iter().find(|decision| decided(&decision.path)).unwrap()
    };
    let heading = "# Contextual Instructions (TEAM.md, GEMINI.md)\n";
    assert!(resolution.blocks[0].text.starts_with(heading), "{}", resolution.blocks[0].text);
    let why = of("TEAM.md").detail().unwrap();
    assert!(
        why.contains("`context.fileName` in") && why.contains("a/.gemini/settings.json names it"),
        "{why}"
    );
    assert_eq!((of("GEMINI.md").outcome, of("GEMINI.md").detail()), (Outcome::Used, None));
    assert_eq!(of("AGENTS.md").outcome, Outcome::Ignored);
}

#[test]
fn gemini_loads_the_same_names_in_nested_directories() {
    let setting = json!({ "context": { "fileName": "TEAM.md" } }).to_string();
    let asked = asked(&GEMINI_CLI, &json!({ GEMINI_OWN: setting }));
    let request = Request { cwd: &asked.parent.join("repo/a"), settings: &asked.settings };
    let reading = survey_reading(&request, &asked.parent.join("repo/a/b/x.txt")).unwrap().unwrap();
    assert_eq!(texts(&reading), "b TEAM.md | b GEMINI.md");
}

#[test]
fn qwen_reads_the_file_names_in_its_settings() {
    let own = "home/.qwen/settings.json";
    let alone = "own QWEN.md | root QWEN.md | a QWEN.md | own AGENTS.md | root AGENTS.md | a AGENTS.md";
    let team = "own TEAM.md | root TEAM.md | a TEAM.md";
    let turned = "own AGENTS.md | root AGENTS.md | a AGENTS.md | own QWEN.md | root QWEN.md | a QWEN.md";
    for (files, expected) in [
        (json!({}), alone),
        (json!({ own: r#"{"context": {"fileName": "TEAM.md"}}"# }), team),
        (json!({ own: r#"{"context": {"fileName": ["AGENTS.md", "QWEN.md"]}}"# }), turned),
        (json!({ "repo/a/.qwen/settings.json": r#"{"context": {"fileName": "TEAM.md"}}"# }), team),
        (json!({ "repo/.qwen/settings.json": r#"{"context": {"fileName": "TEAM.md"}}"# }), alone),
        (
            json!({
                own: r#"{"context": {"fileName": "TEAM.md"}}"#,
                "repo/a/.qwen/settings.json": r#"{"context": {"fileName": []}}"#,
            }),
            alone,
        ),
        // A project's broken settings count as empty.
        (json!({ "repo/a/.qwen/settings.json": r#"{"context": {"#}), alone),
    ] {
        let asked = asked(&QWEN_CODE, &files);
        assert_eq!(texts(&asked.at("repo/a").unwrap()), expected, "{files}");
    }
}

#[test]
fn settings_that_keep_an_agent_from_starting() {
    for (profile, path, text, message) in [
        (&GEMINI_CLI, GEMINI_OWN, json!("{"), "EOF while parsing"),
        (&GEMINI_CLI, GEMINI_OWN, json!(""), "EOF while parsing"),
        (&GEMINI_CLI, GEMINI_OWN, json!("[]"), "invalid type"),
        (&GEMINI_CLI, GEMINI_OWN, json!("{\"a\": 1,}"), "trailing comma"),
        (&GEMINI_CLI, GEMINI_OWN, json!("\u{feff}{}"), "expected value"),
        (&GEMINI_CLI, GEMINI_OWN, json!({ "fifo": true }), "it is a pipe"),
        (&GEMINI_CLI, GEMINI_AT_CWD, json!("{ x }"), "key must be a string"),
        (&GEMINI_CLI, "home/.gemini/trustedFolders.json", json!("{"), "EOF while parsing"),
        (&QWEN_CODE, "home/.qwen/settings.json", json!("{"), "EOF while parsing"),
    ] {
        let asked = asked(profile, &json!({ path: text }));
        let error = asked.at("repo/a").unwrap_err().to_string();
        let start = format!("{} would not start with {}: ", profile.name, asked.parent.join(path).display());
        assert!(error.starts_with(&start) && error.contains(message), "{text}: {error}");
    }
    let marked = json!({ "home/.qwen/settings.json": "\u{feff}{ /* a mark is no harm */ }" });
    assert!(asked(&QWEN_CODE, &marked).at("repo/a").is_ok());
}

#[test]
fn settings_of_an_untrusted_folder_are_ignored() {
    let folders = |level: &str| json!({ "{R}/a": level, "{R}": "TRUST_FOLDER" }).to_string();
    let file = "home/.gemini/trustedFolders.json";
    let list = json!({ "context": { "fileName": "TEAM.md" } }).to_string();
    let asked_with = |settings: &str, level: &str| {
        asked(
            &GEMINI_CLI,
            &json!({ file: folders(level), GEMINI_AT_CWD: list.clone(), GEMINI_OWN: settings }),
        )
    };
    let distrusted = asked_with("{}", "DO_NOT_TRUST").at("repo/a").unwrap();
    assert_eq!(texts(&distrusted), "own GEMINI.md");
    assert!(distrusted.switched_off.unwrap().contains("trustedFolders.json says that it is not trusted"));
    let trusted = asked_with("{}", "TRUST_FOLDER").at("repo/a").unwrap();
    assert!(texts(&trusted).contains("a TEAM.md"));
    let off = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
    assert!(texts(&asked_with(off, "DO_NOT_TRUST").at("repo/a").unwrap()).contains("a TEAM.md"));
}

#[test]
fn settings_that_are_not_followed_are_reported() {
    for (profile, path, text, key) in [
        (&GEMINI_CLI, GEMINI_OWN, r#"{"context": {"importFormat": "flat"}}"#, "`context.importFormat`"),
        (&OPENCODE, "repo/opencode.json", r#"{"instructions": ["docs/*.md"]}"#, "`instructions`"),
        (
            &OPENCODE,
            "home/.config/opencode/opencode.jsonc",
            r#"{"instructions": ["x"]} // mine"#,
            "`instructions`",
        ),
        (
            &CLAUDE_CODE,
            "repo/a/.claude/settings.local.json",
            r#"{"claudeMdExcludes": ["x"]}"#,
            "`claudeMdExcludes`",
        ),
        (&GEMINI_CLI, GEMINI_OWN, r#"{"context": {"fileName": "../X.md"}}"#, "`../X.md` leads out"),
    ] {
        let asked = asked(profile, &json!({ path: text }));
        let resolution = asked.at("repo/a").unwrap();
        let notes: Vec<_> = resolution
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.code == DiagnosticCode::SettingNotFollowed)
            .collect();
        assert_eq!(notes.len(), 1, "{path}: {notes:?}");
        assert_eq!(notes[0].path.as_deref(), Some(asked.parent.join(path).as_path()));
        assert!(notes[0].message.contains(key), "{:?}", notes[0]);
    }
    let quiet = asked(&OPENCODE, &json!({ "repo/opencode.json": r#"{"instructions": [], "x": 1}"# }));
    assert!(quiet.at("repo/a").unwrap().diagnostics.is_empty());
}

/// In a workspace the settings may not be a symlink that leads out of it.
#[test]
fn settings_of_a_workspace_stay_inside_of_it() {
    let list = json!({ "context": { "fileName": "TEAM.md" } }).to_string();
    let files = json!({ "outside.json": list, GEMINI_AT_CWD: { "symlink": "{P}/outside.json" } });
    let mut asked = asked(&GEMINI_CLI, &files);
    assert!(texts(&asked.at("repo/a").unwrap()).contains("a TEAM.md"));
    asked.settings.bounds = ProjectBounds::Workspace(asked.parent.join("repo"));
    asked.settings.links = LinkBounds::OfProfile;
    assert!(!texts(&asked.at("repo/a").unwrap()).contains("TEAM.md"));
}
