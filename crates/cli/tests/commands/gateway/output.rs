//! Pipes, colors, help, and errors about the command line.

use std::process::Stdio;

use crate::support::{Machine, finish};

#[test]
fn a_reader_that_closes_its_pipe_is_no_failure() {
    let (machine, _server) = Machine::with_workspace();
    // The text is far larger than a pipe's buffer, so the command is still writing when `head` has gone.
    machine.run_with("doc save", "line\n".repeat(10_000)).done();
    for words in ["doc get", "doc get --format json", "doc diff", "completions bash", "config"] {
        // The shell of `set -o pipefail` is not everywhere, so the code is written where it can be read.
        let script = format!("{{ \"$foreword\" {words} 2>err; echo $? >code; }} | head -1");
        let first = finish(machine.shell(&script), b"").done();
        assert!(!first.is_empty(), "{words}");
        let read = |name: &str| std::fs::read_to_string(machine.project().join(name)).unwrap();
        assert_eq!(read("code"), "0\n", "{words}");
        assert!(!read("err").contains("error"), "{words}: {}", read("err"));
    }
}

#[test]
fn standard_output_that_cannot_be_written_is_a_failure() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "text").done();
    // Every write to `/dev/full` fails as on a full disk. Unlike a closed pipe, this loses data that a user
    // wanted to keep.
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let mut command = machine.command("doc get");
    let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: could not write to standard output: No space left on device (os error 28)\n"
    );
}

#[test]
fn a_document_comes_out_of_a_pipe_byte_for_byte() {
    let (machine, _server) = Machine::with_workspace();
    // Escapes protect a terminal, but in a pipe they would damage the document: `doc get | doc save` must
    // change nothing.
    let text = "a \u{1b}[31mred\u{1b}[0m word, a \u{7} bell, \u{1} and \u{feff}\tthe rest\n";
    machine.run_with("doc save", text).done();
    assert_eq!(machine.run("doc get").done(), text);
    assert_eq!(machine.run("doc get --color never").done(), text);
    assert_eq!(machine.run("doc effective").done(), text);
    assert!(machine.run("doc diff").done().ends_with(&format!("+{text}")));
}

#[test]
fn colours_are_for_terminals_or_for_who_asks() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "a\n").done();
    machine.run_with("doc save --force", "b\n").done();
    let plain = "--- version 1\n+++ version 2\n@@ -1 +1 @@\n-a\n+b\n";
    let coloured = "--- version 1\n+++ version 2\n\u{1b}[36m@@ -1 +1 @@\u{1b}[0m\n\u{1b}[31m-a\u{1b}[0m\n\u{1b}[32m+b\u{1b}[0m\n";
    assert_eq!(machine.run("doc diff").done(), plain);
    assert_eq!(machine.run("doc diff --color never").done(), plain);
    assert_eq!(machine.run("doc diff --color always").done(), coloured);
    // `NO_COLOR` and `CLICOLOR_FORCE` are conventions that many tools share, and users set them once for
    // all of them.
    let with = |words: &str, variable: &str| {
        let mut command = machine.command(words);
        command.env(variable, "1");
        finish(command, b"")
    };
    assert_eq!(with("doc diff", "NO_COLOR").done(), plain);
    assert_eq!(with("doc diff", "CLICOLOR_FORCE").done(), coloured);
    // An explicit flag overrides the environment.
    assert_eq!(with("doc diff --color always", "NO_COLOR").done(), coloured);
    let error = machine.run("folder get x --color always").failed(2);
    assert_eq!(
        error,
        "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m there is no folder `x`\n\
         \u{1b}[1m\u{1b}[36mhint:\u{1b}[0m list folders with `foreword folder list`\n"
    );
    assert!(!with("folder get x", "NO_COLOR").failed(2).contains('\u{1b}'));
    // Programs get no colours, whatever was asked for.
    assert!(!machine.run("doc diff --color always --format json").done().contains('\u{1b}'));
}

#[test]
fn wrong_usage_exits_with_2() {
    let machine = Machine::new();
    for (words, said) in [
        ("fold list", "a similar subcommand exists: 'folder'"),
        ("folder move a", "<TO>"),
        ("doc save --expected-version new", "invalid value 'new' for '--expected-version <VERSION>'"),
        ("doc get --format yaml", "[possible values: text, json]"),
        ("thread create x --mode quick", "[possible values: chat, agent]"),
        ("", "Usage: foreword"),
    ] {
        let err = machine.run(words).failed(2);
        assert!(err.contains(said), "{words}: {err}");
    }
}

#[test]
fn help_and_version_are_data() {
    let machine = Machine::new();
    assert_eq!(machine.run("--version").done(), concat!("foreword ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(machine.run("version").done(), machine.run("--version").done());
    // A new user sees few commands. All others are one step away.
    let help = machine.run("--help").done();
    let listed = |help: &str, command: &str| help.contains(&format!("\n  {command} "));
    for command in ["check", "explain", "compare", "diff", "why", "install", "serve", "console"] {
        assert!(listed(&help, command), "{command}: {help}");
    }
    assert!(!listed(&help, "resolve") && !listed(&help, "thread"), "{help}");
    assert!(help.contains("--config <FILE>") && help.contains("foreword help --all"), "{help}");
    assert_eq!(machine.run("help").done(), help);
    let all = machine.run("help --all").done();
    for command in ["serve", "workspace", "doc", "token", "schema", "resolve", "completions"] {
        assert!(listed(&all, command), "{command}: {all}");
    }
    assert!(all.contains("\nPlumbing:\n") && all.contains("docs/"), "{all}");
    let help = machine.run("doc edit --help").done();
    assert!(help.contains("--folder <FOLDER>") && help.contains("--data <DIR>"), "{help}");
    assert!(help.ends_with("Example:\n  foreword doc edit --folder services\n"), "{help}");
    assert!(machine.run("doc --help").done().contains("Example:\n  foreword doc get "));
}

#[test]
fn documents_cannot_send_escape_codes_to_a_terminal() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "a \u{1b}[2J b\n").done();
    // `script` gives a command a terminal; where there is none, there is nothing to see.
    let on_terminal = |words: &str| {
        let script =
            format!("command -v script >/dev/null || exit 99; script -qec '\"$foreword\" {words}' /dev/null");
        let mut command = machine.shell(&script);
        command.env("TERM", "xterm");
        let said = finish(command, b"");
        (said.code != Some(99)).then_some(said.out)
    };
    let Some(shown) = on_terminal("doc get") else { return };
    assert!(shown.starts_with("a \\u{1b}[2J b\r\n"), "{shown:?}");
    let shown = on_terminal("doc diff").unwrap();
    assert!(shown.contains("\u{1b}[32m+a \\u{1b}[2J b\u{1b}[0m\r\n"), "{shown:?}");
    let shown = on_terminal("doc diff --color never").unwrap();
    assert!(shown.contains("\n+a \\u{1b}[2J b\r\n"), "{shown:?}");
}
