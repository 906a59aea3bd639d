//! `foreword session`.

use serde_json::json;

use crate::support::{Machine, finish};

fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "root\n");
    machine.write("project/a/AGENTS.md", "leaf\n");
    machine.run("resolve --session s.json --cwd . a/x").done();
    machine
}

#[test]
fn a_session_is_shown() {
    let machine = machine();
    let out = machine.tidy(&machine.run("session show s.json").done());
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[..4],
        ["profile  foreword", "cwd      ~/project", "root     ~/project", "markers  .foreword .git .jj .hg"]
    );
    assert!(lines[4].starts_with("initial  ") && lines[4].ends_with(" bytes of text from 1 file"), "{out}");
    let rows: Vec<Vec<&str>> = lines[6..].iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["FILE", "BYTES", "SHA256", "LOADED"]);
    assert_eq!(rows[1][..2], ["AGENTS.md", "5"]);
    assert_eq!(rows[1][3..], ["at", "the", "start"]);
    assert_eq!(rows[2][..2], ["a/AGENTS.md", "5"]);
    assert_eq!(rows[2][3..], ["on", "the", "way"]);
    let object = machine.run("session show s.json --format json").object();
    // The JSON output is the stored file itself, so that both have one documented format.
    let stored: serde_json::Value =
        serde_json::from_slice(&std::fs::read(machine.project().join("s.json")).unwrap()).unwrap();
    assert_eq!(object, stored);
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["schema", "profile", "cwd", "root", "markers", "initial", "covered_dirs", "loaded_versions"]
    );
}

#[test]
fn a_missing_session_has_a_hint() {
    let machine = Machine::new();
    for words in ["session show s.json", "session diff s.json"] {
        machine.check_code(
            words,
            2,
            "",
            "error: there is no session file s.json\n\
             hint: start one with `foreword resolve --session FILE --cwd DIR PATH`\n",
        );
    }
    assert_eq!(std::fs::read_dir(machine.project()).unwrap().count(), 0, "looking leaves nothing behind");
}

#[test]
fn a_preview_shows_the_resume_reminder() {
    let machine = machine();
    machine.check("session diff s.json", "", "nothing differs since the session was saved (TIME)\n");
    assert_eq!(
        machine.run("session diff s.json --format json").object(),
        json!({ "differs": false, "reminder": null })
    );
    std::fs::remove_file(machine.project().join("a/AGENTS.md")).unwrap();
    std::fs::create_dir(machine.project().join("b")).unwrap();
    let told = "<system-reminder type=\"session.resume.diff\">\nSession resumed with context changes:\n\
         - cwd: ~/project -> ~/project/b\n\
         Re-check AGENTS.md for current scope:\n- ~/project/a/AGENTS.md (deleted)\n</system-reminder>\n";
    // The first two calls are equal: without `--confirm` the command only looks, and a later call reports
    // the same differences.
    machine.check("session diff s.json --cwd b", told, "this differs since the session was saved (TIME)\n");
    machine.check("session diff s.json --cwd b", told, "this differs since the session was saved (TIME)\n");
    let object = machine.run("session diff s.json --cwd b --format json").object();
    assert_eq!(object["differs"], true);
    machine.check(
        "session diff s.json --cwd b --confirm",
        told,
        "this differs since the session was saved (TIME)\n",
    );
    machine.check(
        "session diff s.json --cwd b --confirm",
        "",
        "nothing differs since the session was saved (TIME)\n",
    );
    machine.check("session diff s.json", "", "nothing differs since the session was saved (TIME)\n");
    machine.check_code(
        "session diff s.json --profile codex",
        2,
        "",
        "error: the session uses the profile `foreword`, not `codex`\nhint: omit --profile\n",
    );
}

#[test]
fn a_difference_is_sought_in_the_sessions_own_project() {
    let machine = machine();
    machine.write("project/.foreword/config.toml", "agents.fallback_filenames = ['NOTES.md']");
    std::fs::remove_file(machine.project().join("AGENTS.md")).unwrap();
    machine.write("project/NOTES.md", "notes\n");
    let mut command = machine.command("session diff project/s.json");
    command.current_dir(machine.root());
    let out = machine.tidy(&finish(command, b"").done());
    assert!(out.contains("- ~/project/NOTES.md (mtime: "), "{out}");
}
