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
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    }
}

/// The only draft that was kept, which the message must name and which must hold exactly this.
#[track_caller]
fn kept(machine: &Machine, err: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = err
        .lines()
        .find_map(|line| line.strip_prefix("hint: your text is kept in "))
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
            "error: the editor `{}` ended with exit status: 7; nothing was saved\n",
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
    assert!(err.contains("error: the editor `no-such-editor` ended with exit status: 127"), "{err}");
    assert_eq!(version(&machine), 1);
}

#[test]
fn an_editor_may_have_flags_and_visual_wins_over_editor() {
    let (machine, _server) = machine_with("text");
    let editor = machine.script("editor", "printf '%s|' \"$@\" >words; echo mine >\"$3\"");
    let mut command = machine.command("doc edit");
    command.env("EDITOR", "false").env("VISUAL", format!("{} --wait 'two words'", editor.display()));
    finish(command, b"").done();
    let words = std::fs::read_to_string(machine.project().join("words")).unwrap();
    assert!(words.starts_with("--wait|two words|/"), "{words}");
    assert_eq!(machine.run("doc get").done(), "mine\n");
}

#[test]
fn a_conflict_shows_the_difference_and_keeps_the_text() {
    let (machine, _server) = machine_with("base\n");
    let script = "echo theirs | \"$foreword\" doc save >&2; printf 'base\\nmine' >\"$1\"";
    let said = edit(&machine, "doc edit", script);
    assert_eq!(said.code, Some(1));
    assert_eq!(
        said.out,
        "--- theirs, saved in the meantime\n+++ yours, not saved\n@@ -1 +1,2 @@\n-theirs\n+base\n+mine\n\
         \\ no line end at the end\n"
    );
    let err = said.err.split_once("error: ").unwrap().1.to_owned();
    let path = kept(&machine, &err, "base\nmine");
    let overwrite = format!(
        "foreword --data {} doc save --expected-version 2 {}",
        machine.data().display(),
        path.display()
    );
    assert_eq!(
        err,
        format!(
            "the workspace root was not saved: the document is at version 2, not 1; it was last changed by owner\n\
             hint: your text is kept in {}\n\
             hint: to put yours over theirs: {overwrite}\n",
            path.display()
        )
    );
    assert_eq!(machine.run("doc get").done(), "theirs\n");
    // What the hint says works, word by word.
    let overwrite = overwrite.replacen("foreword", "\"$foreword\"", 1);
    assert_eq!(finish(machine.shell(&overwrite), b"").done(), "3\n");
    assert_eq!(machine.run("doc get").done(), "base\nmine\n");
}

#[test]
fn the_command_after_a_conflict_names_workspace_and_folder() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("workspace create 'my team'").done();
    machine.run("folder create 'a b' -w 'my team'").done();
    let script = "echo theirs | \"$foreword\" doc save -w 'my team' --folder 'a b' >&2; echo mine >\"$1\"";
    let said = edit(&machine, "doc edit -w 'my team' --folder 'a b'", script);
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("error: folder `a b` was not saved: the document is at version 1, not 0;"),
        "{}",
        said.err
    );
    let words = " doc save --workspace 'my team' --folder 'a b' --expected-version 1 /";
    assert!(said.err.contains(words), "{}", said.err);
    kept(&machine, &said.err, "mine\n");
}

#[test]
fn a_document_that_was_archived_meanwhile_is_a_conflict() {
    let (machine, _server) = machine_with("base\n");
    let said = edit(&machine, "doc edit", "\"$foreword\" doc archive 2>/dev/null; echo mine >\"$1\"");
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(1), "--- theirs, saved in the meantime\n+++ yours, not saved\n@@ -0,0 +1 @@\n+mine\n")
    );
    assert!(
        said.err.contains("there is no document in this scope, but version 1 was expected"),
        "{}",
        said.err
    );
    assert!(said.err.contains(" --expected-version 0 /"), "{}", said.err);
    kept(&machine, &said.err, "mine\n");
}

#[test]
fn programs_get_a_conflict_as_an_error_with_the_other_text() {
    let (machine, _server) = machine_with("base\n");
    let script = "echo theirs | \"$foreword\" doc save >/dev/null 2>&1; echo mine >\"$1\"";
    let error = edit(&machine, "doc edit --format json", script).error(1);
    assert_eq!(error["data"]["current"]["content"], "theirs\n");
    assert!(error["hint"].as_str().unwrap().starts_with("your text is kept in /"), "{error}");
}

#[test]
fn the_same_text_saved_by_somebody_else_is_no_conflict() {
    let (machine, _server) = machine_with("base\n");
    let script = "echo same | \"$foreword\" doc save >/dev/null 2>&1; echo same >\"$1\"";
    assert_eq!(edit(&machine, "doc edit", script).done(), "2\n");
    assert_eq!(drafts(&machine), [] as [PathBuf; 0]);
}

#[test]
fn a_text_that_cannot_be_saved_is_kept() {
    let (machine, _server) = machine_with("base\n");
    let err = edit(&machine, "doc edit", "printf 'caf\\351' >\"$1\"").failed(2);
    assert!(err.starts_with("error: the text is not UTF-8 (byte 3); nothing was saved\n"), "{err}");
    let path = kept(&machine, &err, b"caf\xe9");
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
fn a_gateway_that_is_gone_when_the_editor_closes_costs_no_text() {
    let (machine, server) = machine_with("base\n");
    let err = edit(&machine, "doc edit", &format!("kill -9 {}; sleep 0.1; echo mine >\"$1\"", server.pid()))
        .failed(3);
    assert!(err.starts_with("error: the workspace root was not saved: no gateway is running on /"), "{err}");
    assert!(err.contains("hint: start one with `foreword serve`"), "{err}");
    kept(&machine, &err, "mine\n");
}

#[test]
fn a_gateway_restarted_while_the_editor_is_open_still_gets_the_text() {
    for end in ["KILL", "TERM"] {
        let (machine, server) = machine_with("base\n");
        let script = "touch open; while test ! -e go; do sleep 0.02; done; echo mine >\"$1\"";
        let mut child = start(edit_command(&machine, "doc edit", script));
        eventually("the editor", || machine.project().join("open").exists().then_some(()));
        server.stop(end);
        let _server = machine.serve();
        machine.write("project/go", "");
        let status = eventually("the command to end", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "after {end}");
        assert_eq!(machine.run("doc get").done(), "mine\n", "after {end}");
        assert_eq!(drafts(&machine), [] as [PathBuf; 0]);
    }
}
