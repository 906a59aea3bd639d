//! `foreword completions` and `foreword man`.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::support::{Machine, eventually, finish};

/// Returns the candidates for the last of these words, as bash requests them.
fn completed(machine: &Machine, words: &[&str]) -> Vec<String> {
    let mut command = machine.command("--");
    command.arg("foreword").args(words);
    command.env("FOREWORD_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_IFS", "\n");
    let said = finish(command, b"");
    assert_eq!(said.err, "", "{words:?}: a key that was pressed wants no error");
    said.done().lines().map(str::to_owned).collect()
}

/// The same where a gateway knows the first of them. One that takes longer than a person at a keyboard waits is not
/// waited for, so on a busy machine the key is pressed again.
fn known(machine: &Machine, words: &[&str], first: &str) -> Vec<String> {
    eventually("something to complete", || {
        Some(completed(machine, words)).filter(|names| names.first().is_some_and(|name| name == first))
    })
}

#[test]
fn each_shell_gets_a_script_that_asks_the_program() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = machine.run(&format!("completions {shell}")).done();
        assert!(script.contains("FOREWORD_COMPLETE") && script.contains("foreword"), "{shell}: {script}");
    }
    let err = machine.run("completions cobol").failed(2);
    assert!(err.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{err}");
}

#[test]
fn bash_completes_with_its_script() {
    let machine = Machine::new();
    let script = "command -v bash >/dev/null || { echo skipped; exit; }
        \"$foreword\" completions bash >script.bash
        mkdir bin && ln -s \"$foreword\" bin/foreword
        PATH=\"$PWD/bin:$PATH\" bash -c '. ./script.bash
            COMP_WORDS=(foreword doc ed) COMP_CWORD=2 COMP_TYPE=9 COMPREPLY=()
            _clap_complete_foreword foreword ed doc
            echo \"${COMPREPLY[@]}\"'";
    let completed = finish(machine.shell(script), b"").done();
    assert!(["edit\n", "skipped\n"].contains(&completed.as_str()), "{completed}");
}

#[test]
fn names_of_profiles_sections_workspaces_folders_and_threads_are_known() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("workspace create team").done();
    machine.run("folder create services -w team").done();
    machine.run("folder create billing --parent services -w team").done();
    machine.run("thread create 'Fix the total' -w team").done();
    assert_eq!(completed(&machine, &["explain", "--profile", "code"]), ["codex", "codelia"]);
    assert!(
        completed(&machine, &["prompt", "show", "--section", "agents"]).contains(&"agents_md".to_owned())
    );
    assert_eq!(known(&machine, &["doc", "get", "-w", "t"], "team"), ["team"]);
    assert_eq!(known(&machine, &["workspace", "get", ""], "demo")[..2], ["demo", "team"]);
    assert_eq!(
        known(&machine, &["doc", "get", "-w", "team", "--folder", "services"], "services"),
        ["services", "services/billing"]
    );
    assert_eq!(
        known(&machine, &["folder", "get", "--workspace=team", "services/"], "services/billing"),
        ["services/billing"]
    );
    let title = "Fix\\ the\\ total";
    assert_eq!(known(&machine, &["thread", "get", "-w", "team", "Fix"], title), [title]);
    assert_eq!(completed(&machine, &["turn", "start", "-w", "team", "la"]), ["last"]);
    assert_eq!(completed(&machine, &["doc", "ed"]), ["edit"]);
}

#[test]
fn completions_for_restore_list_restorable_names() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("workspace create old").done();
    machine.run("workspace archive old").done();
    for folder in ["services", "tools"] {
        machine.run(&format!("folder create {folder}")).done();
    }
    machine.run("folder delete tools").done();
    known(&machine, &["workspace", "restore", ""], "old");
    known(&machine, &["workspace", "get", ""], "demo");
    known(&machine, &["folder", "restore", ""], "tools");
    known(&machine, &["folder", "get", ""], "services");
}

#[test]
fn completions_never_wait_for_a_gateway() {
    let machine = Machine::new();
    assert_eq!(completed(&machine, &["doc", "get", "--folder", "s"]), [""; 0]);
    // It accepts a connection but never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    machine.write("home/config.toml", format!("[client]\nurl = '{url}'\ntoken_file = 'token'\n"));
    machine.write("home/token", "fwt_x");
    let begun = Instant::now();
    assert_eq!(completed(&machine, &["doc", "get", "--folder", "s"]), [""; 0]);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // A broken configuration is reported by commands, not by completion.
    machine.write("home/config.toml", "nonsense");
    assert_eq!(completed(&machine, &["doc", "get", "--folder", "s"]), [""; 0]);
    assert_eq!(completed(&machine, &["doc", "ed"]), ["edit"]);
}

#[test]
fn there_is_a_page_of_the_manual_for_every_command() {
    let machine = Machine::new();
    let page = machine.run("man").done();
    assert!(page.contains(".TH foreword 1") && page.contains("foreword\\-doc"), "{page}");
    let written = machine.run("man pages").done();
    assert!(written.lines().count() > 60, "{written}");
    let read = |name: &str| std::fs::read_to_string(machine.project().join("pages").join(name)).unwrap();
    assert_eq!(read("foreword.1"), page);
    let save = read("foreword-doc-save.1");
    assert!(save.contains("expected\\-version") && save.contains("Example:"), "{save}");
    // The program that shows manuals finds nothing wrong with them, where there is one.
    let script = "command -v groff >/dev/null || exit 0; groff -man -Tutf8 -ww pages/*.1 2>&1 >/dev/null";
    assert_eq!(finish(machine.shell(script), b"").done(), "");
    let object = machine.run("man pages --format json").object();
    assert!(object["files"].as_array().unwrap().contains(&"foreword-doc-save.1".into()), "{object}");
}
