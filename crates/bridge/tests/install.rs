//! Entries in agents' settings: added, found again and removed.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::path::{Path, PathBuf};

use bridge::install::{Installation, Scope};
use bridge::{AGENTS, ChangeError, Connected, Journal, Undone};
use instructions::HomeDirectories;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Machine {
    _directory: TempDir,
    root: PathBuf,
    homes: HomeDirectories,
    program: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("project")).unwrap();
        let homes = HomeDirectories::find(Some(root.join("home")), |_| None);
        Self { _directory: directory, program: "/opt/our tools/foreword".into(), root, homes }
    }

    fn installation<'a>(&'a self, agent: &str, scope: Scope, project: &'a Path) -> Installation<'a> {
        let agent = Connected::find(agent).unwrap();
        Installation { agent, scope, homes: &self.homes, project, program: &self.program }
    }

    fn install(&self, agent: &str, scope: Scope) -> Result<Option<PathBuf>, ChangeError> {
        let project = self.root.join("project");
        let installation = self.installation(agent, scope, &project);
        let Some(change) = installation.change()? else { return Ok(None) };
        let directory = self.root.join("journal");
        Journal { directory: &directory, reason: &installation.reason() }.apply(&change)?;
        Ok(Some(change.path))
    }

    fn undo(&self, agent: &str, scope: Scope) -> Option<Undone> {
        let project = self.root.join("project");
        let installation = self.installation(agent, scope, &project);
        let directory = self.root.join("journal");
        let reason = installation.reason();
        let journal = Journal { directory: &directory, reason: &reason };
        let (change, undone) = installation.undoing(&journal).unwrap()?;
        journal.undo(&change).unwrap();
        Some(undone)
    }

    fn claude(&self) -> PathBuf {
        self.root.join("home/.claude/settings.json")
    }

    fn write(&self, path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_agent_in_both_scopes_there_and_back() {
    for agent in AGENTS.iter().map(|agent| agent.profile.name) {
        for scope in [Scope::User, Scope::Project] {
            let machine = Machine::new();
            let path = machine.install(agent, scope).unwrap().expect("a change");
            let text = read(&path);
            let _: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{agent}: {error}: {text}"));
            let is_absolute = text.contains("/opt/our tools/foreword");
            assert_eq!(is_absolute, scope == Scope::User, "{agent}: {text}");
            assert!(text.ends_with("}\n"), "{agent}: {text:?}");
            assert_eq!(machine.install(agent, scope).unwrap(), None, "{agent}: again");
            assert_eq!(read(&path), text);
            assert_eq!(machine.undo(agent, scope), Some(Undone::Restored), "{agent}");
            assert!(!path.exists() && !machine.root.join("home").exists(), "{agent}: nothing is left behind");
            assert_eq!(std::fs::read_dir(machine.root.join("project")).unwrap().count(), 0, "{agent}");
            assert_eq!(machine.undo(agent, scope), None, "{agent}: again");
        }
    }
}

#[test]
fn claude_code_gets_unloaded_files() {
    let machine = Machine::new();
    machine.install("claude-code", Scope::User).unwrap();
    let settings: Value = serde_json::from_str(&read(&machine.claude())).unwrap();
    let hook =
        json!({ "type": "command", "command": "'/opt/our tools/foreword' hook claude-code", "timeout": 10 });
    assert_eq!(settings["hooks"]["SessionStart"], json!([{ "hooks": [hook] }]));
    assert_eq!(settings["hooks"]["PostToolUse"][0]["hooks"], json!([hook]));
}

const THEIRS: &str = r#"{
    // what I like
    "model": "opus",   /* the big one */
    "hooks": {
        "PostToolUse": [
            { "matcher": "Write", "hooks": [{ "type": "command", "command": "fmt" }] }, // tidy
        ],
    },
}"#;

#[test]
fn comments_and_others_hooks_stay() {
    let machine = Machine::new();
    machine.write(&machine.claude(), THEIRS);
    machine.install("claude-code", Scope::User).unwrap();
    let text = read(&machine.claude());
    for line in THEIRS.lines().take(6) {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(machine.install("claude-code", Scope::User).unwrap(), None);
    assert_eq!(machine.undo("claude-code", Scope::User), Some(Undone::Restored));
    assert_eq!(read(&machine.claude()), THEIRS);
}

#[test]
fn undo_keeps_foreign_changes() {
    let machine = Machine::new();
    machine.write(&machine.claude(), THEIRS);
    machine.install("claude-code", Scope::User).unwrap();
    let changed = read(&machine.claude()).replace("opus", "sonnet");
    machine.write(&machine.claude(), &changed);
    assert_eq!(machine.undo("claude-code", Scope::User), Some(Undone::TakenOut));
    let text = read(&machine.claude());
    assert!(text.contains("sonnet") && text.contains("// what I like") && text.contains("\"fmt\""), "{text}");
    assert!(!text.contains("foreword") && !text.contains("SessionStart"), "{text}");
}

#[test]
fn a_program_that_has_moved_replaces_itself() {
    let mut machine = Machine::new();
    machine.write(&machine.claude(), "{}");
    machine.install("claude-code", Scope::User).unwrap();
    machine.program = "/usr/local/bin/foreword".into();
    machine.install("claude-code", Scope::User).unwrap().expect("a change");
    let text = read(&machine.claude());
    assert!(!text.contains("our tools"), "{text}");
    assert_eq!(text.matches("hook claude-code").count(), 3, "one for each event: {text}");
    assert_eq!(machine.undo("claude-code", Scope::User), Some(Undone::Restored));
    assert_eq!(read(&machine.claude()), "{}");
}

#[test]
fn unknown_content_is_left_unchanged() {
    for text in [
        "{",
        "[]",
        "{ 'model': 1 }",
        "{\"hooks\": []}",
        "{\"hooks\": {\"PostToolUse\": {}}}",
        "{} {}",
        // Programs disagree on which of two equal keys counts.
        "{\"hooks\":{},\"hooks\":{}}",
    ] {
        let machine = Machine::new();
        machine.write(&machine.claude(), text);
        let error = machine.install("claude-code", Scope::User).unwrap_err();
        assert!(matches!(error, ChangeError::Refused { .. }), "{text}: {error}");
        assert_eq!(read(&machine.claude()), text);
    }
    let machine = Machine::new();
    std::fs::create_dir_all(machine.root.join("home/.claude")).unwrap();
    std::fs::write(machine.claude(), b"{\"a\": \"\xff\"}").unwrap();
    machine.install("claude-code", Scope::User).unwrap_err();
    assert_eq!(std::fs::read(machine.claude()).unwrap(), b"{\"a\": \"\xff\"}");
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    let real = machine.root.join("dotfiles/claude.json");
    machine.write(&real, "{}\n");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::create_dir_all(machine.root.join("home/.claude")).unwrap();
    std::os::unix::fs::symlink(&real, machine.claude()).unwrap();
    machine.install("claude-code", Scope::User).unwrap();
    assert!(machine.claude().is_symlink() && read(&real).contains("hook claude-code"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    machine.undo("claude-code", Scope::User);
    assert_eq!(read(&real), "{}\n");
}

#[test]
fn an_existing_jsonc_is_the_one_that_is_changed() {
    let machine = Machine::new();
    let path = machine.root.join("project/opencode.jsonc");
    machine.write(
        &path,
        "{\n  // mine\n  \"mcp\": { \"other\": { \"type\": \"remote\", \"url\": \"x\" } }\n}\n",
    );
    assert_eq!(machine.install("opencode", Scope::Project).unwrap(), Some(path.clone()));
    assert!(read(&path).contains("// mine") && read(&path).contains("\"foreword\""));
    machine.write(&path, &read(&path).replace("mine", "ours"));
    assert_eq!(machine.undo("opencode", Scope::Project), Some(Undone::TakenOut));
    assert!(!read(&path).contains("foreword") && read(&path).contains("\"other\""), "{}", read(&path));
}

#[test]
fn undo_after_foreign_changes_removes_both_installations() {
    let mut machine = Machine::new();
    machine.install("claude-code", Scope::User).unwrap();
    let text = read(&machine.claude());
    machine.write(&machine.claude(), &text.replacen('{', "{\n  \"theme\": \"dark\",", 1));
    // The foreign change makes the record of the first installation useless, and the second one records a file that
    // already contains our entries.
    machine.program = "/elsewhere/foreword".into();
    machine.install("claude-code", Scope::User).unwrap().expect("a change");
    assert_eq!(machine.undo("claude-code", Scope::User), Some(Undone::TakenOut));
    let left: Value = serde_json::from_str(&read(&machine.claude())).unwrap();
    assert_eq!(left, json!({ "theme": "dark" }));
}

#[test]
fn a_program_of_another_name_knows_itself() {
    // A renamed program has no telling name, so it must recognize its own path.
    for program in ["/opt/fwd", "/opt/foreword-0.1.0", "/opt/foreword-nightly"] {
        for agent in ["claude-code", "opencode"] {
            let mut machine = Machine::new();
            machine.program = program.into();
            let path = machine.install(agent, Scope::User).unwrap().expect("a change");
            assert_eq!(machine.install(agent, Scope::User).unwrap(), None, "{program}");
            machine.write(&path, &format!("{}\n", read(&path)));
            assert_eq!(machine.undo(agent, Scope::User), Some(Undone::TakenOut), "{program}");
        }
    }
}

#[test]
fn foreign_files_in_our_place_are_refused() {
    for (agent, file, text, reason) in [
        (
            "claude-code",
            "home/.claude/settings.json",
            r#"{"hooks":{"SessionStart":"x","PostToolUse":{}}}"#,
            "`hooks.SessionStart` is not an array",
        ),
        (
            "opencode",
            "home/.config/opencode/opencode.json",
            r#"{"mcp":{"foreword":{"type":"remote","url":"http://127.0.0.1:1/"}}}"#,
            "`mcp.foreword` is another server, which would be replaced",
        ),
    ] {
        let machine = Machine::new();
        let path = machine.root.join(file);
        machine.write(&path, text);
        let error = machine.install(agent, Scope::User).unwrap_err().to_string();
        assert!(error.ends_with(reason), "{error}");
        assert_eq!(read(&path), text);
    }
}

#[test]
fn a_project_cannot_have_other_files_changed() {
    let machine = Machine::new();
    let project = machine.root.join("project");
    // A cloned repository can contain any link. Installing into it must not change files elsewhere.
    let outside = machine.root.join("outside");
    machine.write(&outside.join("settings.json"), "{}\n");
    std::os::unix::fs::symlink(&outside, project.join(".claude")).unwrap();
    let error = machine.install("claude-code", Scope::Project).unwrap_err().to_string();
    assert!(error.ends_with("outside/settings.json, outside of the project"), "{error}");
    std::fs::remove_file(project.join(".claude")).unwrap();
    std::fs::create_dir(project.join(".claude")).unwrap();
    std::os::unix::fs::symlink(outside.join("settings.json"), project.join(".claude/settings.json")).unwrap();
    machine.install("claude-code", Scope::Project).unwrap_err();
    assert_eq!(read(&outside.join("settings.json")), "{}\n");
}

// Names of our own keys are likely, so that they also occur with values of unexpected types.
fn settings() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 24, 4, |inner| {
        let names =
            prop_oneof![Just("hooks".to_owned()), Just("PostToolUse".to_owned()), "[a-z\"\\\\/]{1,5}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z]{1,6}|hooks", value, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Removes empty lists of hooks, which mean the same as no list.
fn without_empty_hooks(mut settings: Value) -> Value {
    let fields = settings.as_object_mut().unwrap();
    if let Some(Value::Object(hooks)) = fields.get_mut("hooks") {
        hooks.retain(|_, list| *list != json!([]));
        if hooks.is_empty() {
            fields.remove("hooks");
        }
    }
    settings
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn existing_files_are_kept(settings in settings(), pretty in any::<bool>()) {
        let machine = Machine::new();
        let text = if pretty { serde_json::to_string_pretty(&settings).unwrap() } else { settings.to_string() };
        machine.write(&machine.claude(), &text);
        if machine.install("claude-code", Scope::User).is_ok() {
            let written: Value = serde_json::from_str(&read(&machine.claude())).unwrap();
            for (name, value) in settings.as_object().unwrap() {
                if name != "hooks" {
                    prop_assert_eq!(&written[name], value);
                }
            }
            // The file is changed, so that undoing has to remove our entries instead of restoring the original.
            machine.write(&machine.claude(), &format!("{}\n\n", read(&machine.claude())));
            prop_assert_eq!(machine.undo("claude-code", Scope::User), Some(Undone::TakenOut));
            let left: Value = serde_json::from_str(&read(&machine.claude())).unwrap();
            prop_assert_eq!(without_empty_hooks(left), without_empty_hooks(settings));
        } else {
            prop_assert_eq!(read(&machine.claude()), text);
        }
    }
}
