//! `foreword profile`: whose rules are known, and how.

use crate::support::Machine;

#[test]
fn every_profile_has_its_evidence() {
    let machine = Machine::new();
    let list = machine.run("profile list").done();
    for (name, known) in [
        ("foreword", "defined here"),
        ("claude-code", "checked against 2.1.325"),
        ("zed", "from its documentation only"),
    ] {
        let line = list.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        assert!(line.contains(known), "{list}");
    }
    let object = machine.run("profile list --format json").object();
    let names: Vec<&str> = object["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|profile| profile["name"].as_str().unwrap())
        .collect();
    let expected: Vec<&str> = instructions::PROFILES.iter().map(|profile| profile.name).collect();
    assert_eq!(names, expected);
}

#[test]
fn the_rules_of_one_are_printed_with_their_evidence() {
    let machine = Machine::new();
    let text = machine.run("profile show codex").done();
    assert!(text.starts_with("codex: Codex, checked against 0.166.0\n"), "{text}");
    assert!(text.contains("observed") && text.contains("32,768 bytes"), "{text}");
    let object = machine.run("profile show zed --format json").object();
    assert_eq!((&object["agent"], &object["version"]), (&"Zed".into(), &serde_json::Value::Null));
    let rules = object["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["evidence"] == "documented"), "{object}");
    let err = machine.run("profile show nobody").failed(2);
    assert!(err.contains("unknown profile `nobody`") && err.contains("claude-code"), "{err}");
}

#[test]
fn files_are_shown_as_another_agent_reads_them() {
    let machine = Machine::new();
    machine.write("project/CLAUDE.md", "@AGENTS.md\n");
    machine.write("project/AGENTS.md", "be brief\n");
    machine.write("project/mine/CLAUDE.md", "my own\n");
    let shown = machine.run("show --profile claude-code").done();
    assert!(
        shown.contains("AGENTS.md (project instructions, checked into the codebase):\n\nbe brief"),
        "{shown}"
    );
    let mut command = machine.command("show --profile claude-code");
    command.env("CLAUDE_CONFIG_DIR", "mine");
    let shown = crate::support::finish(command, b"").done();
    assert!(shown.contains("my own"), "{shown}");
}

#[test]
fn settings_that_stop_codex_are_named() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/.codex/config.toml", "x = [\n");
    let root = machine.project().canonicalize().unwrap();
    // Codex reads a project's settings only if the user trusts the project, so the broken file matters only
    // with this entry.
    let own = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", root.display());
    machine.write("codex/config.toml", &own);
    let mut command = machine.command("show --profile codex");
    command.env("CODEX_HOME", machine.root().join("codex"));
    let err = crate::support::finish(command, b"").failed(1);
    assert!(err.contains("codex would not start with") && err.contains(".codex/config.toml"), "{err}");
}
