//! Imports and rules, as the commands about files show them.

use serde_json::json;

use crate::support::{Machine, finish};

fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "Follow @docs/style.md, not @docs/gone.md.\n");
    machine.write("project/docs/style.md", "Short sentences.\n");
    machine.write("project/AGENTS.local.md", "---\napplies_to: \"*.sql\"\n---\nNo `SELECT *`.\n");
    machine
}

#[test]
fn show_prints_imports_after_their_importer() {
    let machine = machine();
    machine.check(
        "show",
        "<agents_context scope=\"initial\">\nInstructions from: ~/project/AGENTS.md\nFollow @docs/style.md, not \
         @docs/gone.md.\n\nInstructions from: ~/project/docs/style.md\nShort sentences.\n</agents_context>",
        "",
    );
    let mut command = machine.command("show");
    command.env("FOREWORD_AGENTS_IMPORTS", "false");
    let out = finish(command, b"").done();
    assert!(out.contains("@docs/style.md") && !out.contains("Short sentences."), "{out}");
}

#[test]
fn imports_and_rules_are_explained() {
    let machine = machine();
    let said = machine.run("explain");
    assert_eq!(said.err, "");
    let out = machine.tidy(&said.done());
    // The heading is checked by the tests of `explain`. Only the lines about files differ here.
    let (_, rest) = out.split_once("tokens\n").unwrap();
    assert_eq!(
        rest,
        "\n.\n  \
           + AGENTS.md        used            42 bytes (under 1 %), about 13 tokens\n  \
           - AGENTS.local.md  not applicable  it applies to `*.sql` below ~/project; it is brought in when a path that \
         matches is touched\n\
         \ndocs\n  \
           + style.md         used            17 bytes (under 1 %), about 3 tokens; imported by \
         ./AGENTS.md, line 1\n"
    );
}

#[test]
fn programs_see_scopes_and_outcomes() {
    let machine = machine();
    for words in ["show --format json", "explain --format json"] {
        let object = machine.run(words).object();
        let scopes: Vec<_> = object["files"].as_array().unwrap().iter().map(|file| &file["scope"]).collect();
        assert_eq!(scopes, [&json!("project"), &json!("import")], "{words}");
        let decisions = object["decisions"].as_array().unwrap();
        let outcomes: Vec<_> = decisions.iter().map(|decision| &decision["outcome"]).collect();
        assert_eq!(outcomes, [&json!("used"), &json!("not_applicable"), &json!("used")], "{words}");
    }
    machine.write("project/db/AGENTS.md", "---\naudience: main\napplies_to: ['**']\n---\nMigrations.\n");
    let object = machine.run("show db --format json").object();
    assert_eq!(object["files"][2]["scope"], "rule");
    assert!(object["text"].as_str().unwrap().ends_with("db/AGENTS.md\nMigrations.\n</agents_context>"));
}

#[test]
fn lost_text_is_reported_on_stderr() {
    let machine = machine();
    let lost = "warning: docs/style.md: its text is lost: imported by ./AGENTS.md, line 1; \
                nothing of the limit of 42 bytes is left for it; shorten the files, or raise agents.initial.max_bytes\n";
    for words in ["show --max-bytes 42", "explain --max-bytes 42"] {
        assert_eq!(machine.tidy(&machine.run(words).err), lost, "{words}");
    }
    let said = machine.run("show --max-bytes 42 --format json");
    let whole = "~/project/docs/style.md: its text is lost: imported by ~/project/AGENTS.md, line 1";
    assert!(machine.tidy(&said.err).contains(whole), "{}", said.err);
}

#[test]
fn invalid_front_matter_is_reported_with_its_line() {
    let machine = Machine::new();
    machine.write("project/AGENTS.md", "---\napplies_to: 5\n---\nText.\n");
    let said = machine.run("show");
    let err = machine.tidy(&said.err);
    assert!(
        err.starts_with("warning: AGENTS.md:2: the front matter cannot be followed, so it is text: "),
        "{err}"
    );
    assert!(said.done().contains("applies_to: 5"));
}

#[test]
fn a_session_hears_of_rules_and_of_changed_imports() {
    let machine = machine();
    machine.run("resolve --session s.json --cwd . src/a.rs").done();
    let out = machine.run("resolve --session s.json db/new.sql").done();
    assert!(out.contains("AGENTS.local.md\nNo `SELECT *`.\n"), "{out}");
    assert_eq!(machine.run("resolve --session s.json db/new.sql src/a.rs").done(), "");
    machine.write("project/docs/style.md", "Long sentences.\n");
    // A session must track imported files as well as their importers: the importing file is unchanged here.
    let out = machine.run("session diff s.json").done();
    assert!(out.contains("docs/style.md\nLong sentences.\n") && !out.contains("removed"), "{out}");
    let out = machine.run("resolve --session s.json src/a.rs").done();
    assert!(out.contains("docs/style.md\nLong sentences.\n"), "{out}");
}
