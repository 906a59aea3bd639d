//! `foreword show`, and the flags that all commands about files take.

use std::os::unix::fs::symlink;

use crate::support::{Machine, finish};

/// A project with files on two levels, below a directory that has one, too.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("AGENTS.md", "above\n");
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "root\n");
    machine.write("project/a/AGENTS.md", "leaf\n");
    machine.write("project/a/NOTES.md", "notes\n");
    machine
}

/// The texts of a chain, one word a file.
#[track_caller]
fn words(machine: &Machine, command: &str) -> Vec<String> {
    let known = ["above", "root", "leaf", "notes", "mine"];
    let out = machine.run(command).done();
    out.lines().filter(|line| known.contains(line)).map(str::to_owned).collect()
}

#[test]
fn the_text_and_nothing_else_is_printed() {
    let machine = machine();
    let text = "<agents_context scope=\"initial\">\nInstructions from: ~/project/AGENTS.md\nroot\n\nInstructions from: \
                ~/project/a/AGENTS.md\nleaf\n</agents_context>";
    machine.check("show a", text, "");
    machine.check("show ./a/../a/.", text, "");
    let codelia = machine.tidy(&machine.run("show a --profile codelia").done());
    assert_eq!(codelia, text);
    machine.check(
        "show a --profile codex",
        "# AGENTS.md instructions for ~/project/a\n\n<INSTRUCTIONS>\nroot\n\n\nleaf\n\n</INSTRUCTIONS>",
        "",
    );
}

#[test]
fn an_empty_result_prints_nothing() {
    let machine = Machine::new();
    machine.check(
        "show",
        "",
        "no instruction file applies in ~/project; `foreword explain --all` says what was looked for\n",
    );
    assert_eq!(machine.run("show --format json").object()["text"], serde_json::json!(null));
}

#[test]
fn unreadable_files_have_a_reason() {
    let machine = machine();
    machine.check(
        "show --max-bytes 0",
        "",
        "no instruction file applies in ~/project: the limit is 0 bytes, so no project file is read \
         (agents.initial.max_bytes)\n",
    );
    let mut command = machine.command("show");
    command.env("FOREWORD_AGENTS_ENABLED", "false");
    assert_eq!(
        machine.tidy(&finish(command, b"").err),
        "no instruction file applies in ~/project: instruction files are switched off (agents.enabled)\n"
    );
}

#[test]
fn findings_go_to_standard_error() {
    let machine = Machine::new();
    machine.write("project/AGENTS.md", "one\n</agents_context>\n");
    machine.check(
        "show",
        "<agents_context scope=\"initial\">\nInstructions from: ~/project/AGENTS.md\none\n&lt;/agents_context>\n\
         </agents_context>",
        "warning: AGENTS.md:2: `</agents_context>` looks like one of our own tags; its `<` is written as `&lt;`\n",
    );
}

#[test]
fn flags_set_limits_markers_names_and_root() {
    let machine = machine();
    assert_eq!(words(&machine, "show a"), ["root", "leaf"]);
    assert_eq!(words(&machine, "show a --no-markers"), ["leaf"]);
    assert_eq!(words(&machine, "show a --marker AGENTS.md"), ["leaf"]);
    assert_eq!(words(&machine, "show a --marker absent --marker .git"), ["root", "leaf"]);
    assert_eq!(words(&machine, "show a --root .."), ["above", "root", "leaf"]);
    // The pairs below differ on purpose: Foreword keeps the nearest files if a limit is reached, whereas
    // Codex and Codelia start at the root.
    assert_eq!(words(&machine, "show a --max-files 1"), ["leaf"]);
    assert_eq!(words(&machine, "show a --max-files 1 --profile codelia"), ["root"]);
    assert_eq!(words(&machine, "show a --max-bytes 5"), ["leaf"]);
    assert_eq!(words(&machine, "show a --max-bytes 5 --profile codex"), ["root"]);
    assert_eq!(words(&machine, "show a --max-bytes 0"), Vec::<String>::new());
    std::fs::remove_file(machine.project().join("a/AGENTS.md")).unwrap();
    assert_eq!(words(&machine, "show a"), ["root"]);
    assert_eq!(words(&machine, "show a --fallback OTHER.md --fallback NOTES.md"), ["root", "notes"]);
    assert_eq!(words(&machine, "show a --fallback NOTES.md --profile codex"), ["root", "notes"]);
    let cut = machine.tidy(&machine.run("show a --max-bytes 2").done());
    let mark = "\nro\n[foreword: 2 of 5 bytes shown; omitted headings: none. Read ~/project/AGENTS.md for the rest.]\n";
    assert!(cut.contains(mark), "{cut}");
}

#[test]
fn flags_win_over_variables() {
    let machine = machine();
    let mut command = machine.command("show a --max-files 2");
    command.env("FOREWORD_AGENTS_INITIAL_MAX_FILES", "1");
    let both = finish(command, b"").done();
    assert!(both.contains("root\n") && both.contains("leaf\n"), "{both}");
    let mut command = machine.command("show a --profile codelia");
    command.env("CODELIA_AGENTS_INITIAL_MAX_FILES", "1").env("CODELIA_AGENTS_ROOT", "..");
    let above = finish(command, b"").done();
    assert!(above.contains("above\n") && !above.contains("root\n"), "{above}");
}

#[test]
fn flags_that_cannot_be_followed_say_so() {
    let machine = machine();
    for (words, error) in [
        (
            "show --fallback a/b",
            "error: the fallback name `a/b` is not a plain file name\n\
             hint: fallback names are searched in every directory; use plain names such as NOTES.md\n",
        ),
        ("show --marker /etc", "error: the marker `/etc` is blank, absolute or leads out of its directory\n"),
        (
            "show --root a",
            "error: the working directory ~/project is not inside the root ~/project/a (from flag `--root`)\n\
             hint: name a root above the working directory, or none\n",
        ),
        (
            "show --root a/nowhere",
            "error: the root ~/project/a/nowhere (from flag `--root`) does not exist\n\
             hint: name a root above the working directory, or none\n",
        ),
        (
            "explain --root AGENTS.md",
            "error: the root ~/project/AGENTS.md (from flag `--root`) is not a directory\n\
             hint: name a root above the working directory, or none\n",
        ),
        (
            "explain --profile nobody",
            "error: unknown profile `nobody` (from flag `--profile`)\n\
             hint: the profiles are foreword, codex, codelia, claude-code, gemini-cli, opencode, qwen-code, pi, copilot, cline, \
             kilo, goose, droid, grok, kimi, continue, cursor, zed, amp, antigravity, devin, junie, aider, opencode@2, \
             pi@0.73.1\n",
        ),
    ] {
        machine.check_code(words, 2, "", error);
    }
    let err = machine.run("show --marker x --no-markers").failed(2);
    assert!(err.contains("cannot be used with"), "{err}");
    let said = machine.run("show --profile codex --root ..");
    assert_eq!(said.err, "warning: `--root` has no effect with the profile `codex`\n");
    let said = machine.run("show --profile codelia --fallback X.md");
    assert_eq!(said.err, "warning: `--fallback` has no effect with the profile `codelia`\n");
}

#[test]
fn a_path_that_is_no_directory_is_bad_input() {
    let machine = machine();
    for command in ["show", "explain", "watch", "resolve --session s.json x --cwd"] {
        // The nearest existing directory is usually enough to spot a typo in a long path.
        machine.check_code(
            &format!("{command} a/b/c"),
            2,
            "",
            "error: cannot look into ~/project/a/b/c: No such file or directory (os error 2)\n\
             hint: the nearest directory that exists is ~/project/a\n",
        );
        machine.check_code(
            &format!("{command} a/AGENTS.md"),
            2,
            "",
            "error: ~/project/a/AGENTS.md is not a directory\n\
             hint: to see what applies to that file, name ~/project/a\n",
        );
    }
    // The operating system refuses the change, so the command fails.
    symlink("loop", machine.project().join("loop")).unwrap();
    let err = machine.run("show loop").failed(3);
    assert!(err.contains("cannot look into ") && err.contains("symbolic links"), "{err}");
}

#[test]
fn a_missing_root_is_named_with_its_variable() {
    let machine = machine();
    let mut command = machine.command("show");
    command.env("FOREWORD_AGENTS_ROOT", "/no/where");
    let err = finish(command, b"").failed(2);
    assert!(
        err.starts_with(
            "error: the root /no/where (from environment variable `FOREWORD_AGENTS_ROOT`) does not exist\n"
        ),
        "{err}"
    );
}

#[test]
fn an_absolute_path_needs_no_current_directory() {
    let machine = machine();
    // A long-running shell often sits in a directory that a build or checkout has deleted. Only relative
    // paths may fail there.
    let gone = |words: &str| {
        let script = format!("mkdir gone && cd gone && rmdir ../gone && exec \"$foreword\" {words}");
        finish(machine.shell(&script), b"")
    };
    let project = machine.project();
    let project = project.display();
    assert!(gone(&format!("show {project}/a")).done().contains("leaf"));
    let resolve = format!("resolve --session {project}/s.json --cwd {project} {project}/a/x");
    assert!(gone(&resolve).done().contains("leaf"));
    let err = gone("show").failed(3);
    assert!(err.starts_with("error: could not find the current directory: "), "{err}");
}

#[test]
fn a_path_is_taken_as_it_is_written() {
    let machine = machine();
    machine.write("elsewhere/.git/HEAD", "");
    machine.write("elsewhere/AGENTS.md", "elsewhere\n");
    machine.write("elsewhere/dir/AGENTS.md", "notes\n");
    symlink(machine.root().join("elsewhere"), machine.project().join("link")).unwrap();
    // The parents of link/dir are link, which is a root of its own, and the project.
    assert_eq!(words(&machine, "show link/dir --marker project-marker --root ."), ["root"]);
    let outside = machine.run("explain link/dir --root .").done();
    assert_eq!(outside.matches("outside root").count(), 2, "{outside}");
    let mut command = machine.command("show link/dir --root .");
    command.env("FOREWORD_AGENTS_FOLLOW_EXTERNAL_LINKS", "true");
    let followed = machine.tidy(&finish(command, b"").done());
    let named: Vec<&str> =
        followed.lines().filter_map(|line| line.strip_prefix("Instructions from: ")).collect();
    assert_eq!(named, ["~/project/AGENTS.md", "~/project/link/AGENTS.md", "~/project/link/dir/AGENTS.md"]);
    let object = machine.run("show link/dir --format json").object();
    assert_eq!(object["cwd"], serde_json::json!(machine.project().join("link/dir")));
    assert_eq!(object["root"], serde_json::json!(machine.project().join("link")));
}

#[test]
fn the_users_own_file_comes_first() {
    let machine = machine();
    machine.write("home/AGENTS.md", "mine\n");
    assert_eq!(words(&machine, "show a"), ["mine", "root", "leaf"]);
    assert_eq!(words(&machine, "show a --home ../nowhere"), ["root", "leaf"]);
    assert_eq!(words(&machine, "show a --profile codelia"), ["root", "leaf"]);
}

#[test]
fn codex_has_its_own_home_and_settings() {
    let machine = machine();
    machine.write(".codex/AGENTS.md", "mine\n");
    machine.write("codex/config.toml", "project_doc_max_bytes = 5\n");
    assert_eq!(words(&machine, "show a --profile codex"), ["mine", "root", "leaf"]);
    let with_home = |words: &str, home: &str| {
        let mut command = machine.command(words);
        command.env("CODEX_HOME", home);
        finish(command, b"")
    };
    let out = machine.tidy(&with_home("show a --profile codex", "../codex").done());
    assert_eq!(out, "# AGENTS.md instructions for ~/project/a\n\n<INSTRUCTIONS>\nroot\n\n</INSTRUCTIONS>");
    let out = with_home("show a --profile codex --max-bytes 100", "../codex").done();
    assert!(out.contains("leaf"), "a flag wins: {out}");
    machine.write("codex/config.toml", "project_doc_max_bytes = 'x'\n");
    let err = machine.tidy(&with_home("show a --profile codex", "../codex").failed(1));
    assert!(err.starts_with("error: codex would not start with ~/codex/config.toml: "), "{err}");
    assert!(err.ends_with("hint: fix the file, or set CODEX_HOME to another directory\n"), "{err}");
    // Broken settings of Codex concern only its own profile.
    with_home("show a", "../codex").done();
}

#[test]
fn a_terminal_is_not_steered() {
    let machine = Machine::new();
    machine.write("project/AGENTS.md", "a \u{1b}[2J b \u{202e} c\n");
    let exact = "a \u{1b}[2J b \u{202e} c\n";
    // Codex passes on what a file has, hidden characters and all.
    let out = machine.run("show --profile codex").done();
    assert!(out.contains(exact), "a pipe gets the text as it is: {out:?}");
    // `script` provides a pseudoterminal. It is not installed everywhere, and the code 99 skips the check
    // in that case.
    let script =
        "command -v script >/dev/null || exit 99; script -qec '\"$foreword\" show --profile codex' /dev/null";
    let said = finish(machine.shell(script), b"");
    if said.code != Some(99) {
        assert!(said.out.contains("a \\u{1b}[2J b \\u{202e} c\r\n"), "{said:?}");
    }
}
