//! `foreword doc`, except `doc edit`.

use crate::support::Machine;

#[test]
fn documents_are_saved_from_stdin_or_a_file() {
    let (machine, _server) = Machine::with_workspace();
    machine.check_code("doc get", 1, "", "the workspace root has no document and inherits none\n");
    let said = machine.run_with("doc save", "Answer briefly.\n");
    assert_eq!(
        (said.err.as_str(), said.clone().done().as_str()),
        ("the workspace root is at version 1\n", "1\n")
    );
    machine.check("doc get", "Answer briefly.\n", "version 1, saved TIME by owner\n");
    machine.write("project/notes.md", "No line end");
    machine.check("doc save --force notes.md", "2\n", "the workspace root is at version 2\n");
    machine.check("doc get", "No line end\n", "version 2, saved TIME by owner\n");
    // The same text again is no new version.
    machine.check("doc save notes.md", "2\n", "the workspace root is at version 2\n");
    // Editors on Windows write a byte order mark and CRLF. Both are normalized on saving, since they would
    // show up as changes in every later diff.
    assert_eq!(machine.run_with("doc save --force -", "\u{feff}a\r\nb\rc").done(), "3\n");
    assert_eq!(machine.run("doc get").done(), "a\nb\nc\n");
}

#[test]
fn a_document_of_a_folder_hides_the_one_above_it() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("folder create services").done();
    machine.run("folder create api --parent services").done();
    machine.run_with("doc save", "root\n").done();
    machine.check_code(
        "doc get --folder services/api",
        1,
        "",
        "folder `services/api` has no document of its own and inherits from the workspace root; \
         see `foreword doc effective`\n",
    );
    let saved = "version 1, saved TIME by owner\n";
    let from_root = format!("{saved}inherited from the workspace root\n");
    machine.check("doc effective --folder services/api", "root\n", &from_root);
    // A blank document is a draft: if it overrode its parent, opening an editor and saving nothing would
    // remove the instructions of a whole subtree.
    let said = machine.run_with("doc save --allow-empty --folder services", " \n");
    assert_eq!(
        said.err,
        "folder `services` is at version 1; it is blank, so it is a draft and does not override inherited documents\n"
    );
    machine.check("doc get --folder services", " \n", "version 1, a draft, saved TIME by owner\n");
    machine.check("doc effective --folder services/api", "root\n", &from_root);
    machine.run_with("doc save --force --folder services", "services\n").done();
    machine.check(
        "doc effective --folder services/api",
        "services\n",
        "version 2, saved TIME by owner\ninherited from folder `services`\n",
    );
    machine.check("doc effective", "root\n", &format!("{saved}of the workspace root\n"));
    machine.check(
        "doc archive --folder services",
        "",
        "archived the document of folder `services`; it now inherits the one of the workspace root\n",
    );
    machine.check_code(
        "doc archive --folder services",
        1,
        "",
        "folder `services` has no document to archive\n",
    );
    machine.check(
        "doc archive",
        "",
        "archived the document of the workspace root; no document applies there now\n",
    );
}

#[test]
fn history_difference_and_restore() {
    let (machine, _server) = Machine::with_workspace();
    machine.check("doc history", "VERSION  SAVED  BY  WHY  CHARACTERS  SHA256  MESSAGE\n", "");
    machine.check_code("doc diff", 2, "", "error: the workspace root never had a document\n");
    machine.run_with("doc save", "a\nb\n").done();
    machine.run_with("doc save --force -m 'shorter'", "a\nc").done();
    machine.run("doc archive").done();
    // Restoring appends version 4 instead of moving back to 1. History stays complete, and clients that
    // hold version 3 notice the change.
    machine.check("doc restore 1 -m again", "4\n", "restored version 1 of the workspace root as 4\n");
    let heading =
        "VERSION  SAVED                     BY     WHY           CHARACTERS  SHA256        MESSAGE\n";
    machine.check(
        "doc history",
        &format!(
            "{heading}4        TIME  owner  restore of 1  4           911169ddaaf1  again\n\
             3        TIME  owner  archive       3           9e58d7137c65\n\
             2        TIME  owner  manual        3           9e58d7137c65  shorter\n\
             1        TIME  owner  manual        4           911169ddaaf1\n"
        ),
        "",
    );
    let two = machine.run("doc history --limit 1 --before 3").done();
    assert_eq!(two.lines().nth(1).map(|line| &line[..1]), Some("2"));
    machine.check(
        "doc diff 1 2",
        "--- version 1\n+++ version 2\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
        "",
    );
    machine.check(
        "doc diff",
        "--- version 3\n+++ version 4\n@@ -1,2 +1,2 @@\n a\n-c\n\\ No newline at end of file\n+b\n",
        "",
    );
    machine.check("doc diff 2 3", "", "versions 2 and 3 have the same text\n");
    machine.check("doc diff 0 1", "--- version 0\n+++ version 1\n@@ -0,0 +1,2 @@\n+a\n+b\n", "");
    machine.check_code(
        "doc restore 9",
        2,
        "",
        "error: there is no revision `9`\nhint: list revisions with `foreword doc history`\n",
    );
    machine.check_code("doc history --limit 0", 2, "", "error: `limit` must be between 1 and 500, not 0\n");
}

#[test]
fn a_save_needs_the_replaced_version() {
    let (machine, _server) = Machine::with_workspace();
    assert_eq!(machine.run_with("doc save", "one").done(), "1\n");
    let err = machine.run_with("doc save", "two").failed(1);
    assert!(err.starts_with("error: the workspace root has version 1, saved 2"), "{err}");
    assert!(
        err.ends_with(
            " by owner; nothing was saved\nhint: --expected-version 1 replaces exactly that version\n\
             hint: --force replaces any version; `foreword doc edit` merges\n"
        ),
        "{err}"
    );
    assert_eq!(machine.run("doc get").done(), "one\n");
    // Repeating a save is safe, so that a script can retry after a lost answer without knowing if the first
    // attempt arrived.
    assert_eq!(machine.run_with("doc save", "one").done(), "1\n", "the same text replaces nothing");
    assert_eq!(machine.run_with("doc save --expected-version 1", "two").done(), "2\n");
    assert_eq!(machine.run_with("doc save --force", "three").done(), "3\n");
}

#[test]
fn an_empty_pipe_blanks_no_document() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "one").done();
    // In `generate | foreword doc save --force`, a generator that fails delivers an empty text. `--force`
    // is about versions, so it does not imply `--allow-empty`.
    for words in ["doc save", "doc save --force", "doc save --expected-version 1"] {
        let err = machine.run_with(words, " \n").failed(2);
        assert!(
            err.starts_with("error: the text is empty; nothing was saved\nhint: --allow-empty "),
            "{err}"
        );
    }
    assert_eq!(machine.run("doc get").done(), "one\n");
    assert_eq!(machine.run_with("doc save --force --allow-empty", "").done(), "2\n");
}

#[test]
fn the_text_of_any_version_can_be_read() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "one\n").done();
    machine.run_with("doc save --force -m 'why not'", "two\n").done();
    let first = machine.run("doc get --version 1");
    assert!(
        first.err.starts_with("version 1, saved 2") && first.err.ends_with(" by owner\n"),
        "{}",
        first.err
    );
    assert_eq!(first.done(), "one\n");
    let second = machine.run("doc get --version 2 --format json").object();
    assert_eq!(
        (&second["revision"]["content"], &second["revision"]["message"]),
        (&"two\n".into(), &"why not".into())
    );
    let err = machine.run("doc get --version 3").failed(2);
    assert!(err.starts_with("error: there is no revision `3`\n"), "{err}");
    let long = "x".repeat(501);
    let err = machine.run_with(&format!("doc save --force -m {long}"), "three").failed(2);
    assert_eq!(err, "error: `message` has 501 characters, at most 500 are allowed\n");
}

#[test]
fn a_stale_version_exits_with_1() {
    let (machine, _server) = Machine::with_workspace();
    let err = machine.run_with("doc save --expected-version 3", "text").failed(1);
    assert_eq!(
        err,
        "error: there is no document in this scope, but version 3 was expected\n\
         hint: omit --expected-version, or pass 0, to save a new document\n"
    );
    assert_eq!(machine.run_with("doc save --expected-version 0", "one").done(), "1\n");
    assert_eq!(machine.run_with("doc save --expected-version 1", "two").done(), "2\n");
    let conflict = "error: the document is at version 2, not 1; it was last changed by owner\n\
                    hint: review the changes with `foreword doc diff`, then retry with --expected-version 2\n";
    for words in [
        "doc save --expected-version 1",
        "doc restore 1 --expected-version 1",
        "doc archive --expected-version 1",
    ] {
        assert_eq!(machine.run_with(words, "three").failed(1), conflict);
    }
    // Existing items are not a conflict, so that a script can retry.
    assert_eq!(machine.run_with("doc save --expected-version 1", "two").done(), "2\n");
}

#[test]
fn an_invalid_document_file_is_named() {
    let (machine, _server) = Machine::with_workspace();
    machine.write("project/latin.md", b"caf\xe9");
    machine.check_code(
        "doc save latin.md",
        2,
        "",
        "error: latin.md is not UTF-8 (byte 3)\nhint: a document is text: convert it to UTF-8 first\n",
    );
    let err = machine.run_with("doc save", b"\xff").failed(2);
    assert!(err.starts_with("error: standard input is not UTF-8 (byte 0)\n"), "{err}");
    machine.check_code(
        "doc save absent.md",
        3,
        "",
        "error: could not read absent.md: No such file or directory (os error 2)\n",
    );
    machine.write("project/large.md", "x".repeat(65_537));
    machine.check_code("doc save large.md", 2, "", "error: the text has 65537 bytes, the limit is 65536\n");
    // Reading stops at 1 MiB, before the whole file is in memory. The message therefore cannot name the
    // exact size.
    machine.write("project/huge.md", "x".repeat(2 << 20));
    machine.check_code(
        "doc save huge.md",
        2,
        "",
        "error: huge.md has more than 1048576 bytes, the limit is 65536\n",
    );
    machine.check_code("doc get", 1, "", "the workspace root has no document and inherits none\n");
}

#[test]
fn saving_over_the_prompt_budget_warns() {
    let (machine, _server) = Machine::with_workspace();
    // One character more than a prompt carries. The document limit is higher than that of a prompt, so this
    // is a warning and not an error.
    machine.write("project/long.md", "x".repeat(16_001));
    machine.check(
        "doc save long.md",
        "1\n",
        "the workspace root is at version 1\n\
         warning: the text has 16001 characters, a prompt carries the first 16000; shorten it, or move parts \
         into folders\n",
    );
}
