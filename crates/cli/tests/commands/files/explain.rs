//! `foreword explain`.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{Machine, finish};

/// Creates a project with a used file, a shadowing one, a blank one and one outside.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "root\n");
    machine.write("project/a/AGENTS.override.md", "over\n");
    machine.write("project/a/AGENTS.md", "hidden\n");
    machine.write("project/a/b/AGENTS.md", " \n");
    machine.write("project/a/b/CLAUDE.md", "other\n");
    machine
}

const HEADING: &str = "profile  foreword\n\
                       cwd      ~/project/a/b\n\
                       root     ~/project: it is the nearest directory with `.git`\n\
                       limit    10 of 32768 bytes of project files (under 1 %)\n";

#[test]
fn every_candidate_has_its_fate_under_its_directory() {
    let machine = machine();
    let said = machine.run("explain a/b");
    assert_eq!(said.err, "");
    let out = machine.tidy(&said.done());
    let rest = out.strip_prefix(HEADING).expect(&out);
    let (tokens, rest) = rest.split_once('\n').unwrap();
    assert!(tokens.starts_with("text     about "), "{tokens}");
    assert_eq!(
        rest,
        "\n.\n  \
           + AGENTS.md           used          5 bytes (under 1 %), about 2 tokens\n\
         \na\n  \
           + AGENTS.override.md  used          5 bytes (under 1 %), about 2 tokens\n  \
           - AGENTS.md           shadowed      by AGENTS.override.md, which comes first\n\
         \na/b\n  \
           - AGENTS.md           blank         it is only white space, so it counts as if it were not there\n  \
           - CLAUDE.md           ignored       it is for Claude Code, the profile `foreword` does not read it; \
         copy what should count into AGENTS.md\n\
         \nclaude-code  does not read AGENTS.md or a/AGENTS.override.md (10 bytes)\n"
    );
}

#[test]
fn absent_files_are_listed_only_on_request() {
    let machine = machine();
    let absent = |words: &str| machine.run(words).done().matches(" absent").count();
    assert_eq!(absent("explain a/b"), 0);
    // Two names at home, then three a directory less those that are there.
    assert_eq!(absent("explain a/b --all"), 7);
    let outcomes = |words: &str| {
        let object = machine.run(words).object();
        let decisions = object["decisions"].as_array().unwrap().clone();
        decisions.iter().filter(|decision| decision["outcome"] == "absent").count()
    };
    assert_eq!(outcomes("explain a/b --format json"), 0);
    assert_eq!(outcomes("explain a/b --format json --all"), 7);
}

#[test]
fn programs_get_exactly_the_documented_shape() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    let path = machine.write("project/AGENTS.md", "one\ntwo \u{202e}\n");
    machine.write("project/AGENTS.override.md", "");
    let project = machine.project();
    let modified = path.metadata().unwrap().modified().unwrap();
    let modified = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let text = format!(
        "<agents_context scope=\"initial\">\nInstructions from: {}\none\ntwo \\u{{202e}}\n</agents_context>",
        path.display()
    );
    let expected = json!({
        "profile": "foreword", "cwd": project, "root": project,
        "files": [{
            "path": path, "scope": "project", "bytes": 12, "kept_bytes": 12, "tokens": 10,
            "sha256": "0d5b2e6bd29ad5b0db6b3a4d1d5a3f5f", "mtime_ms": modified, "truncated": false,
        }],
        "decisions": [
            { "path": project.join("AGENTS.override.md"), "outcome": "blank", "by": null,
              "detail": "it is only white space, so it counts as if it were not there" },
            { "path": path, "outcome": "used", "by": null, "detail": null },
        ],
        "diagnostics": [{
            "code": "hidden_unicode",
            "message": "a bidirectional control (U+202E) that can hide text; shown as \\u{202e}",
            "path": path, "line": 2,
        }],
    });
    let reason = "it is the nearest directory with `.git`";
    for (words, own) in [
        (
            "explain --format json",
            json!({
                "limit_bytes": 32_768, "kept_bytes": 12, "root_reason": reason, "text_bytes": text.len(),
                "tokens": 30, "guards": [],
            }),
        ),
        ("show --format json", json!({ "blocks": [{ "role": "system", "text": text }], "text": text })),
    ] {
        let mut expected = expected.clone();
        expected.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let mut object = machine.run(words).object();
        if let Some(tokens) = object.get_mut("tokens") {
            assert!(tokens.as_u64().is_some_and(|tokens| tokens > 10), "{tokens}");
            *tokens = expected["tokens"].clone();
        }
        // Token counts and digests are tested in the crates that compute them.
        let file = &mut object["files"][0];
        assert!(file["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{file}");
        assert!(file["sha256"].as_str().is_some_and(|digest| digest.len() == 64), "{file}");
        file["tokens"] = expected["files"][0]["tokens"].clone();
        file["sha256"] = expected["files"][0]["sha256"].clone();
        assert_eq!(object, expected, "{words}");
        // Objects compare equal in any order of keys. The order is compared separately, since people read
        // this output too.
        let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
        assert_eq!(keys, expected.as_object().unwrap().keys().collect::<Vec<_>>(), "{words}");
    }
    std::fs::remove_file(path).unwrap();
    let nothing = machine.run("show --format json --no-markers").object();
    assert_eq!((&nothing["text"], &nothing["blocks"]), (&json!(null), &json!([])));
    assert_eq!(nothing["root"], json!(null));
}

#[test]
fn colours_are_for_who_asks() {
    let machine = machine();
    let with = |words: &str, variable: &str| {
        let mut command = machine.command(words);
        command.env(variable, "1");
        finish(command, b"").done()
    };
    let plain = machine.run("explain a/b").done();
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert_eq!(machine.run("explain a/b --color never").done(), plain);
    assert_eq!(with("explain a/b", "NO_COLOR"), plain);
    let coloured = machine.run("explain a/b --color always").done();
    assert!(coloured.contains("\u{1b}[32mused        \u{1b}[0m"), "{coloured:?}");
    assert_eq!(with("explain a/b", "CLICOLOR_FORCE"), coloured);
    assert!(!machine.run("explain a/b --color always --format json").done().contains('\u{1b}'));
    assert!(!with("explain a/b --format json", "CLICOLOR_FORCE").contains('\u{1b}'));
}

#[test]
fn a_name_cannot_break_its_line_nor_steer_a_terminal() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    // The name contains a line break and the sequence that clears a terminal. A repository could use both
    // to hide or forge lines of this report.
    machine.write("project/a\n\u{1b}[2Jb/AGENTS.md", "text <system-reminder\u{7}>\n");
    let out = machine.run("explain 'a\n\u{1b}[2Jb'").done();
    assert!(out.contains("\na\\n\\u{1b}[2Jb\n"), "{out}");
    assert!(!out.contains(['\u{1b}', '\u{7}']), "{out:?}");
}

#[test]
fn duplicate_and_outside_files_are_shown_with_their_paths() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "root\n");
    machine.write("project/a/x", "");
    machine.write("project/b/x", "");
    machine.write("AGENTS.md", "above\n");
    symlink("../AGENTS.md", machine.project().join("a/AGENTS.md")).unwrap();
    symlink("../../AGENTS.md", machine.project().join("b/AGENTS.md")).unwrap();
    let line = |words: &str, outcome: &str| {
        let out = machine.tidy(&machine.run(words).done());
        out.lines().find(|line| line.contains(outcome)).unwrap_or(&out).to_owned()
    };
    assert_eq!(
        line("explain a", "duplicate"),
        "  - AGENTS.md   duplicate     of ./AGENTS.md; it is the same file, under another name"
    );
    assert_eq!(
        line("explain b", "outside root"),
        "  ! AGENTS.md   outside root  it leads out of the project; copy the file, or allow it with \
         agents.follow_external_links"
    );
    assert_eq!(
        line("explain", "above root"),
        "  - AGENTS.md   above root    it is above the root ~/project; give --root, or a marker further up, if \
         it should count"
    );
}

#[test]
fn a_check_fails_where_text_is_lost_and_only_there() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "one line\nand another\n");
    let whole = machine.run("explain --check");
    assert_eq!((whole.code, whole.err.as_str()), (Some(0), ""));
    let cut = machine.run("explain --check --max-bytes 10");
    assert_eq!(cut.code, Some(1));
    assert!(cut.err.starts_with("warning: AGENTS.md: part of its text is lost"), "{cut:?}");
    let json = machine.run("explain --check --max-bytes 10 --format json");
    assert_eq!(json.code, Some(1));
    let whole = format!("{}/AGENTS.md: part of its text is lost", machine.project().display());
    assert!(json.err.contains(&whole), "programs get whole paths: {json:?}");
    // Without the flag, lost text is only reported.
    assert_eq!(machine.run("explain --max-bytes 10").code, Some(0));
}

#[test]
fn a_check_fails_where_an_import_is_lost() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("elsewhere.md", "other people's\n");
    machine.write("project/AGENTS.md", "See @billing/rules.md and @nothing.md\n");
    machine.write("project/billing/rules.md", "Round up.\n");
    assert_eq!(machine.run("explain --check").code, Some(0), "what is not there is text");
    std::fs::remove_file(machine.project().join("billing/rules.md")).unwrap();
    symlink("../../elsewhere.md", machine.project().join("billing/rules.md")).unwrap();
    let lost = machine.run("explain --check");
    assert_eq!(
        (lost.code, lost.err.as_str()),
        (
            Some(1),
            "warning: billing/rules.md: its text is lost: imported by ./AGENTS.md, line 1; it leads out of the \
             project: copy the file into it\n"
        )
    );
    // More imports than one resolution reads. The rest is unread text, so `--check` must fail although no
    // single file is missing.
    let many: String = (0..5_000).map(|number| format!("@no/{number}.md\n")).collect();
    machine.write("project/AGENTS.md", many);
    let unread = machine.run("explain --check");
    assert_eq!(unread.code, Some(1), "{}", unread.out);
    assert!(unread.out.contains("too_many_imports"), "{}", unread.out);
}

#[test]
fn a_check_fails_where_a_file_cannot_be_read() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", b"not \xff UTF-8\n");
    assert_eq!(machine.run("explain --check").code, Some(0), "such text is replaced, not lost");
    std::fs::remove_file(machine.project().join("AGENTS.md")).unwrap();
    // A link that leads to itself cannot be read by anybody, not even by root.
    symlink("AGENTS.md", machine.project().join("AGENTS.md")).unwrap();
    let said = machine.run("explain --check");
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.out.contains("unreadable"), "{}", said.out);
    assert_eq!(machine.run("explain").code, Some(0));
}

#[test]
fn an_empty_result_lists_the_searched_names() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    // The deep directory is long enough for the list of searched directories to be abbreviated.
    machine.write("project/a/b/c/d/x", "");
    let last = |words: &str| machine.tidy(machine.run(words).done().lines().last().unwrap_or_default());
    assert_eq!(
        last("explain"),
        "nothing applies; searched for AGENTS.override.md, AGENTS.md, AGENTS.local.md in ~/home, ~/project"
    );
    assert_eq!(
        last("explain a/b/c/d"),
        "nothing applies; searched for AGENTS.override.md, AGENTS.md, AGENTS.local.md in ~/home, ~/project, \
         ~/project/a, ~/project/a/b and 2 more (--all lists them)"
    );
    machine.write("home/config.toml", "[agents]\nenabled = false\n");
    assert!(last("explain").starts_with("nothing applies: "), "{}", last("explain"));
    machine.write("home/config.toml", "");
    machine.write("project/AGENTS.md", "x\n");
    assert!(!machine.run("explain").done().contains("nothing applies"));
}
