//! `foreword doc edit`: no edit is lost, whatever happens while the editor is open.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::{Machine, Said, eventually, finish, start};

/// A machine whose root document has a text.
fn machine_with(text: &str) -> (Machine, crate::support::Server) {
    let (machine, server) = Machine::with_workspace();
    machine.run_with("doc save", text).done();
    (machine, server)
}

/// `doc edit` with an editor that is this script; the draft is `$1`.
fn edit_command(machine: &Machine, words: &str, script: &str) -> Command {
    let editor = machine.script("editor", script);
    let mut command = machine.command(words);
    command.env("EDITOR", editor);
    command
}

#[track_caller]
fn edit(machine: &Machine, words: &str, script: &str) -> Said {
    finish(edit_command(machine, words, script), b"")
}

/// The files that are left of all edits.
fn drafts(machine: &Machine) -> Vec<PathBuf> {
    match machine.data().join("drafts").read_dir() {
        Ok(entries) => entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect(),
        Err(_) => Vec::new(),
    }
}

/// The only draft that was kept, which the message must name and which must hold exactly this.
#[track_caller]
fn kept(machine: &Machine, err: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = err
        .lines()
        .find_map(|line| line.strip_prefix("hint: the text is kept in "))
        .unwrap_or_else(|| panic!("no kept text in {err}"));
    assert_eq!(drafts(machine), [Path::new(path)]);
    assert_eq!(std::fs::read(path).unwrap(), text.as_ref());
    path.into()
}

#[track_caller]
fn version(machine: &Machine) -> u64 {
    let object = machine.run("doc get --format json").object();
    object["explicit"]["version"].as_u64().unwrap_or_default()
}

#[test]
fn an_edit_is_saved_with_the_version_it_started_from() {
    let (machine, _server) = machine_with("old\n");
    // The script copies the draft before it changes it, which shows that the editor opens with the current
    // text.
    let said = edit(&machine, "doc edit", "cp \"$1\" seen; echo new >>\"$1\"");
    assert_eq!(said.err, "the workspace root is at version 2\n");
    assert_eq!(said.done(), "2\n");
    assert_eq!(std::fs::read_to_string(machine.project().join("seen")).unwrap(), "old\n");
    assert_eq!(machine.run("doc get").done(), "old\nnew\n");
    assert_eq!(drafts(&machine), [] as [PathBuf; 0]);
}

#[test]
fn a_first_edit_makes_the_document() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("folder create api").done();
    let said = edit(&machine, "doc edit --folder api", "test ! -s \"$1\"; echo text >\"$1\"");
    assert_eq!(said.err, "folder `api` is at version 1\n");
    assert_eq!(machine.run("doc get --folder api").done(), "text\n");
}

#[test]
fn drafts_are_for_their_author_only() {
    let (machine, _server) = machine_with("text");
    // The mode is checked while the editor is open. A check afterwards would miss a file that was readable
    // in the meantime.
    edit(&machine, "doc edit", "ls -l \"$1\" >mode").done();
    let listed = std::fs::read_to_string(machine.project().join("mode")).unwrap();
    assert!(listed.starts_with("-rw-------"), "{listed}");
    let directory = machine.data().join("drafts").metadata().unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
}

#[test]
fn no_change_saves_nothing() {
    let (machine, _server) = machine_with("text");
    let said = edit(&machine, "doc edit", "touch \"$1\"");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", "nothing changed\n"));
    assert_eq!((version(&machine), drafts(&machine).len()), (1, 0));
    let said = edit(&machine, "doc edit --format json", "true");
    assert_eq!((said.code, said.object()), (Some(0), json!({ "changed": false })));
}

#[test]
fn an_editor_that_fails_saves_nothing_and_keeps_the_text() {
    let (machine, _server) = machine_with("text");
    let err = edit(&machine, "doc edit", "echo mine >\"$1\"; exit 7").failed(3);
    let editor = machine.root().join("editor");
    assert!(
        err.starts_with(&format!(
            "error: the editor `{}` exited with exit status: 7; nothing was saved\n",
            editor.display()
        )),
        "{err}"
    );
    assert!(err.ends_with("hint: set VISUAL or EDITOR to choose another editor\n"), "{err}");
    kept(&machine, &err, "mine\n");
    assert_eq!(version(&machine), 1);
}

#[test]
fn an_editor_that_does_not_exist_is_named() {
    let (machine, _server) = machine_with("text");
    let mut command = machine.command("doc edit");
    command.env("EDITOR", "no-such-editor");
    let err = finish(command, b"").failed(3);
    assert!(err.contains("error: the editor `no-such-editor` exited with exit status: 127"), "{err}");
    assert_eq!(version(&machine), 1);
}

#[test]
fn an_editor_may_have_flags_and_visual_wins_over_editor() {
    let (machine, _server) = machine_with("text");
    // Graphical editors need a flag such as `--wait`, so the variable is a command line and not a path. The
    // third word is the draft.
    let editor = machine.script("editor", "printf '%s|' \"$@\" >words; echo mine >\"$3\"");
    let mut command = machine.command("doc edit");
    command.env("EDITOR", "false").env("VISUAL", format!("{} --wait 'two words'", editor.display()));
    finish(command, b"").done();
    let words = std::fs::read_to_string(machine.project().join("words")).unwrap();
    assert!(words.starts_with("--wait|two words|/"), "{words}");
    assert_eq!(machine.run("doc get").done(), "mine\n");
}

/// An editor that does the one thing when it is opened first and the other when it is opened again.
fn first_then(first: &str, again: &str) -> String {
    format!("if test -e opened; then {again}; else touch opened; {first}; fi")
}

#[test]
fn edits_of_different_lines_are_merged_and_shown() {
    let (machine, _server) = machine_with("one\ntwo\nthree\nfour\nfive\n");
    // The script saves another version from within the editor, which makes the race certain. The changed
    // lines are far enough apart to merge.
    let first = "printf 'ONE\\ntwo\\nthree\\nfour\\nfive\\n' | \"$foreword\" doc save --force >/dev/null 2>&1; \
                 printf 'one\\ntwo\\nthree\\nfour\\nFIVE\\n' >\"$1\"";
    let said = edit(&machine, "doc edit -m both", &first_then(first, "cp \"$1\" merged"));
    assert!(
        said.err.starts_with(
            "owner saved version 2 meanwhile; both edits were merged, please review the text; your own text is in"
        ),
        "{}",
        said.err
    );
    assert!(said.err.ends_with("the workspace root is at version 3\n"), "{}", said.err);
    assert_eq!(said.done(), "3\n");
    let merged = "ONE\ntwo\nthree\nfour\nFIVE\n";
    assert_eq!(std::fs::read_to_string(machine.project().join("merged")).unwrap(), merged);
    assert_eq!(machine.run("doc get").done(), merged);
    assert!(machine.run("doc history").done().lines().nth(1).unwrap().ends_with(" both"));
    assert_eq!(machine.data().join("drafts").read_dir().unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn conflict_marks_are_not_saved() {
    let (machine, _server) = machine_with("base\n");
    let first = "echo theirs | \"$foreword\" doc save --force >/dev/null 2>&1; echo mine >\"$1\"";
    let said = edit(&machine, "doc edit", &first_then(first, "true"));
    assert_eq!(said.code, Some(1));
    let marked = "<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> theirs\n";
    let path = kept(&machine, &said.err, marked);
    assert!(said.err.contains("changed the same lines; resolve the conflict markers; your own text is in "));
    assert!(said.err.contains("was not saved: the text still contains conflict markers"), "{}", said.err);
    // Both versions survive separately: a person who resolves the markers badly can start over from the
    // original.
    assert_eq!(std::fs::read_to_string(path.with_extension("mine")).unwrap(), "mine\n");
    assert_eq!(machine.run("doc get").done(), "theirs\n");
    let listed = machine.run("doc drafts").done();
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((row[0], row.last()), (path.to_str().unwrap(), Some(&"2")), "{listed}");
    // The command in the hint works, and so does its short form.
    let hint = said.err.lines().find_map(|line| line.strip_prefix("hint: resume with: foreword ")).unwrap();
    assert_eq!(hint, format!("--data {} doc edit --resume {}", machine.data().display(), path.display()));
    assert_eq!(edit(&machine, "doc edit --resume", "echo both >\"$1\"").done(), "3\n");
    assert_eq!(machine.run("doc get").done(), "both\n");
    assert_eq!(machine.data().join("drafts").read_dir().unwrap().count(), 0, "nothing is left behind");
    machine.check("doc drafts", "FILE  CHANGED  BYTES  OF  VERSION\n", "there are no drafts\n");
    machine.check_code(
        "doc edit --resume",
        2,
        "",
        "error: no draft of the workspace root found\n\
         hint: list drafts with `foreword doc drafts`\n",
    );
}

#[test]
fn an_archived_document_is_recreated_only_after_a_review() {
    let (machine, _server) = machine_with("base\n");
    let first = "\"$foreword\" doc archive 2>/dev/null; echo mine >\"$1\"";
    let said = edit(&machine, "doc edit", &first_then(first, "echo anew >\"$1\""));
    assert!(
        said.err.starts_with("another user archived the document meanwhile; saving recreates it;"),
        "{}",
        said.err
    );
    assert_eq!(said.done(), "3\n");
    assert_eq!(machine.run("doc get").done(), "anew\n");
}

#[test]
fn a_conflict_in_json_contains_the_other_text() {
    let (machine, _server) = machine_with("base\n");
    let script = "echo theirs | \"$foreword\" doc save --force >/dev/null 2>&1; echo mine >\"$1\"";
    let error = edit(&machine, "doc edit --format json", script).error(1);
    assert_eq!(error["data"]["current"]["content"], "theirs\n");
    assert!(error["hint"].as_str().unwrap().starts_with("the text is kept in /"), "{error}");
}

#[test]
fn identical_text_is_not_a_conflict() {
    let (machine, _server) = machine_with("base\n");
    let script = "echo same | \"$foreword\" doc save --force >/dev/null 2>&1; echo same >\"$1\"";
    // Version 2 is the other save. The edit adds no third one, as there is nothing left to change.
    assert_eq!(edit(&machine, "doc edit", script).done(), "2\n");
    assert_eq!(drafts(&machine), [] as [PathBuf; 0]);
}

#[test]
fn a_text_that_cannot_be_saved_is_kept() {
    let (machine, _server) = machine_with("base\n");
    let err = edit(&machine, "doc edit", "printf 'caf\\351' >\"$1\"").failed(2);
    assert!(err.starts_with("error: the text is not UTF-8 (byte 3); nothing was saved\n"), "{err}");
    let path = kept(&machine, &err, b"caf\xe9");
    // The helper expects exactly one draft, so the first one is removed before the second case.
    std::fs::remove_file(path).unwrap();
    let err = edit(&machine, "doc edit", "head -c 70000 /dev/zero | tr '\\0' x >\"$1\"").failed(2);
    assert!(
        err.starts_with(
            "error: the workspace root was not saved: the text has 70000 bytes, the limit is 65536\n"
        ),
        "{err}"
    );
    kept(&machine, &err, "x".repeat(70_000));
    assert_eq!(version(&machine), 1);
}

#[test]
fn text_survives_a_gateway_that_stopped_during_editing() {
    let (machine, server) = machine_with("base\n");
    let err = edit(&machine, "doc edit", &format!("kill -9 {}; sleep 0.1; echo mine >\"$1\"", server.pid()))
        .failed(3);
    assert!(err.starts_with("error: the workspace root was not saved: no gateway is running on /"), "{err}");
    assert!(err.contains("hint: start one with `foreword serve`"), "{err}");
    kept(&machine, &err, "mine\n");
}

#[test]
fn text_is_saved_after_a_restart_during_editing() {
    for end in ["KILL", "TERM"] {
        let (machine, server) = machine_with("base\n");
        let script = "touch open; while test ! -e go; do sleep 0.02; done; echo mine >\"$1\"";
        let mut child = start(edit_command(&machine, "doc edit", script));
        eventually("the editor", || machine.project().join("open").exists().then_some(()));
        // An editor may stay open for hours. The command connects again when it closes, and reads the new
        // address instead of the old one.
        server.stop(end);
        let _server = machine.serve();
        machine.write("project/go", "");
        let status = eventually("the command to end", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "after {end}");
        assert_eq!(machine.run("doc get").done(), "mine\n", "after {end}");
        assert_eq!(drafts(&machine), [] as [PathBuf; 0]);
    }
}
