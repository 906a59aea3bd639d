//! Common mistakes of new users: each gives one clear message on standard error, the right exit code, and no data.

mod instruction_files;
mod permissions;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use scripted_model::Answer;
use test_postgres::test_database;

use crate::commands::turns::starting::Talk;
use crate::support::{Machine, Said, finish};

/// Bad input, or nothing that could be done with it.
const USAGE: i32 = 2;
const FAILED: i32 = 3;

/// Checks that there is one error message that states the expectation without implementation details.
#[track_caller]
fn complains(said: &Said, code: i32, words: &str, expected: &str) {
    assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{words}: {said:?}");
    assert!(said.err.starts_with("error: "), "{words}: {}", said.err);
    assert_eq!(said.err.matches("error: ").count(), 1, "{words}: one message, not several: {}", said.err);
    assert!(said.err.contains(expected), "{words}: {:?} is not in\n{}", expected, said.err);
    is_no_accident(said, words);
}

/// Nothing that only we understand.
#[track_caller]
fn is_no_accident(said: &Said, words: &str) {
    // Each of these words is a trace of Rust: a source path, a backtrace variable or a `Debug` form. A
    // message that contains one was formatted for its author and not for the user.
    for word in ["panicked", "backtrace", "RUST_", "src/", ".rs:", "Some(", "Os {", "Error {"] {
        assert!(!said.err.contains(word), "{words}: {word} in {}", said.err);
    }
}

/// Runs each row on a machine and checks its output.
#[track_caller]
fn check(machine: &Machine, rows: &[(&str, i32, &str)]) {
    for (words, code, expected) in rows {
        let said = machine.run(words);
        complains(&Said { err: machine.tidy(&said.err), ..said }, *code, words, expected);
    }
}

fn run_with(machine: &Machine, words: &str, change: impl FnOnce(&mut Command)) -> Said {
    let mut command = machine.command(words);
    change(&mut command);
    finish(command, b"")
}

#[test]
fn wrong_spellings_of_commands_flags_and_values() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    check(
        &machine,
        &[
            ("explian", USAGE, "a similar subcommand exists: 'explain'"),
            ("doc sav", USAGE, "a similar subcommand exists: 'save'"),
            ("explain --profil codex", USAGE, "a similar argument exists: '--profile'"),
            ("explain --profile codx", USAGE, "hint: did you mean `codex`?"),
            ("explain --profile cluade", USAGE, "hint: did you mean `claude-code`?"),
            ("explain --profile nobody", USAGE, "hint: the profiles are "),
            ("explain --max-bytes many", USAGE, "invalid value 'many' for '--max-bytes"),
            ("explain --max-bytes -1", USAGE, "unexpected argument '-1' found"),
            ("explain nowhere", USAGE, "hint: the nearest directory that exists is ~/project"),
            ("show --root nowhere", USAGE, "the root ~/project/nowhere (from flag `--root`) does not exist"),
            ("show --fallback a/b.md", USAGE, "hint: fallback names are searched in every directory"),
            ("watch nowhere", USAGE, "the nearest directory that exists"),
            ("session show s.json", USAGE, "there is no session file s.json"),
            ("prompt show --section agentsmd", USAGE, "hint: "),
            ("prompt show --mode quick", USAGE, "[possible values: chat, agent]"),
            ("explain --format yaml", USAGE, "[possible values: text, json]"),
            ("explain --color blue", USAGE, "[possible values: auto, always, never]"),
            ("completions cobol", USAGE, "[possible values: bash, elvish, fish, powershell, zsh]"),
            ("audit --since yesterday", USAGE, "invalid value 'yesterday' for '--since"),
            ("token create x --expires never", USAGE, "invalid value 'never' for '--expires"),
            ("token create x --role ownr", USAGE, "a similar value exists: 'owner'"),
            ("serve --listen nonsense", USAGE, "`nonsense` is not an address to listen on"),
            ("serve --listen 127.0.0.1:99999", USAGE, "is not an address to listen on"),
            ("serve --database mysql://db/x", USAGE, "is not a database address"),
            ("--config nowhere.toml config", USAGE, "does not exist"),
            ("--home '' config", USAGE, "a value is required for '--home <DIR>'"),
            ("restore nowhere.db", USAGE, "there is no database at nowhere.db"),
            ("backup copy.db", USAGE, "there is no database"),
            ("schema /dev/null/x", FAILED, "could not create /dev/null/x"),
            ("man /dev/null/x", FAILED, "could not create /dev/null/x"),
        ],
    );
}

#[test]
fn names_that_are_not_there_or_are_several() {
    let talk = Talk::new("chat");
    let machine = &talk.machine;
    // Two folders are called `web`, and `services` and `services/inner` each hold a thread called `Plan`.
    // The folder `old2` does not exist, so the last command fails and adds no third plan.
    for words in [
        "folder create services",
        "folder create web",
        "folder create web",
        "folder create old",
        "folder delete old --yes",
        "thread create Plan --folder services",
        "thread create Plan --folder old2",
    ] {
        machine.run(words);
    }
    let services = machine.run("folder create inner --parent services").word();
    machine.run("thread create Plan --folder services/inner").done();
    machine.run_with("doc save", "text").done();
    talk.model.answer(Answer::text("Yes."));
    machine.run("turn start Talk Really?").done();
    // The beginning of an id that several have: all of these were made within an hour.
    let prefix = format!("folder get {}", &services[..6]);
    check(
        machine,
        &[
            ("doc get -w dmeo", USAGE, "hint: did you mean `demo`?"),
            ("workspace get dmeo", USAGE, "hint: did you mean `demo`?"),
            ("workspace restore demo", USAGE, "there is no archived workspace `demo`"),
            ("workspace create demo", USAGE, "hint: choose another name"),
            ("workspace update demo", USAGE, "hint: give --name or --root"),
            ("workspace create other --root nowhere", USAGE, "~/project/nowhere is not a directory"),
            ("folder get servces", USAGE, "hint: did you mean `services`?"),
            ("folder get web", USAGE, "`web` matches 2 folders; use an id"),
            (&prefix, USAGE, "; use an id"),
            ("folder restore services", USAGE, "folder `services` is not deleted"),
            ("folder move services services/inner", USAGE, "which is itself or is below it"),
            ("doc get --folder servces", USAGE, "hint: did you mean `services`?"),
            ("doc get --version 9", USAGE, "hint: list revisions with `foreword doc history`"),
            ("doc restore 9", USAGE, "hint: list revisions with `foreword doc history`"),
            ("doc diff 1 9", USAGE, "9"),
            ("doc save nowhere.md", FAILED, "could not read nowhere.md"),
            ("thread get Plna", USAGE, "hint: did you mean `Plan`?"),
            ("thread get Plan", USAGE, "`Plan` matches 2 threads; use an id"),
            ("turn show 9 --thread Talk", USAGE, "turn 9 not found in thread `Talk`; it has one turn"),
            ("turn show first", USAGE, "hint: name a turn by its number"),
            ("turn approve last nobody", USAGE, "nobody"),
            ("turn start Talk Really? --model other", USAGE, "write provider/model"),
            ("turn start Talk Really? --model nobody/x", USAGE, "hint: there are anthropic, openai"),
            ("turn start Talk Really? --cwd nowhere", USAGE, "nowhere"),
            ("turn start Talk Really? --cwd /", FAILED, "is not inside the workspace's directory"),
            ("token revoke nobody", USAGE, "hint: list tokens with `foreword token list`"),
            ("events --since 99999", USAGE, "the newest change of this workspace is"),
            ("prompt diff Talk --since 9", USAGE, "it has one turn"),
        ],
    );
}

#[test]
fn commands_without_a_gateway_hint_at_serve() {
    let machine = Machine::new();
    for words in [
        "workspace list",
        "folder list",
        "thread tree",
        "doc get",
        "doc edit",
        "turn list last",
        "prompt show last",
        "token list",
        "audit",
        "events",
    ] {
        let said = machine.run(words);
        complains(&said, FAILED, words, "hint: start one with `foreword serve`, or name the data directory");
    }
}

#[test]
fn a_taken_port_differs_from_a_running_gateway() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let machine = Machine::new();
    let words = format!("serve --listen {}", taken.local_addr().unwrap());
    complains(&machine.run(&words), FAILED, &words, "hint: choose another port with --listen");
    // Port 0 rules out a collision of ports, so the second refusal can only come from the lock on the data
    // directory.
    let _server = machine.serve();
    let words = "serve --listen 127.0.0.1:0";
    complains(&machine.run(words), FAILED, words, "hint: use that gateway, stop it first");
}

#[test]
fn invalid_and_insufficient_tokens_are_refused() {
    let (machine, _server) = Machine::with_workspace();
    let wrong = |token: &str, words: &str| {
        run_with(&machine, words, |command| {
            command.env("FOREWORD_TOKEN", token);
        })
    };
    let said = wrong("fwt_wrong", "workspace list");
    complains(&said, FAILED, "wrong", "the gateway rejected the token: it is unknown or revoked");
    let reader = machine.run("token create guest").word();
    let said = wrong(&reader, "folder create services");
    complains(&said, FAILED, "weak", "hint: use a token with a stronger role");
    machine.run("token revoke guest").done();
    complains(&wrong(&reader, "workspace list"), FAILED, "revoked", "unknown or revoked");
    // Nothing listens on port 9. Without a token, the command must fail before it connects: the local owner
    // token must never be sent to an address from the environment.
    let said = run_with(&machine, "workspace list", |command| {
        command.env("FOREWORD_CLIENT_URL", "http://127.0.0.1:9");
    });
    complains(&said, USAGE, "no token", "hint: set FOREWORD_TOKEN");
    let said = run_with(&machine, "workspace list", |command| {
        command.env("FOREWORD_CLIENT_URL", "http://127.0.0.1:9").env("FOREWORD_TOKEN", "x");
    });
    complains(&said, FAILED, "nobody there", "could not connect to ws://127.0.0.1:9/rpc: Connection refused");
    complains(
        &said,
        FAILED,
        "nobody there",
        "hint: start a gateway there with `foreword serve`, or correct client.url",
    );
}

#[test]
fn a_missing_postgresql_is_reported_before_waiting() {
    let machine = Machine::new();
    let begun = Instant::now();
    let words = "serve --listen 127.0.0.1:0 --database postgres://me:secret@127.0.0.1:1/x";
    let said = machine.run(words);
    assert!(begun.elapsed() < Duration::from_secs(20), "it gives up");
    // The address is printed while the command still waits, so that the wait is not mistaken for a hang.
    // The password must be missing there as well as in the error.
    let (waiting, error) = said.err.split_once('\n').unwrap();
    assert_eq!(waiting, "waiting for the database postgres://me@127.0.0.1:1/x");
    let said = Said { err: error.to_owned(), ..said.clone() };
    complains(&said, FAILED, words, "Connection refused");
    complains(&said, FAILED, words, "hint: start PostgreSQL there, or fix gateway.database (--database)");
    assert!(!said.err.contains("secret"), "{}", said.err);
}

#[test]
fn a_missing_postgresql_database_has_a_hint() {
    let Some(database) = test_database() else { return };
    let machine = Machine::new();
    // The server exists, only the database does not. Retrying cannot help here, so the hint has to name the
    // command that creates it.
    let (server, _) = database.url().rsplit_once('/').unwrap();
    let words = format!("serve --listen 127.0.0.1:0 --database {server}/not_made_yet");
    let said = machine.run(&words);
    // A server that takes longer than a second is awaited with a notice.
    let (waiting, error) = said.err.split_once('\n').unwrap();
    let err = if waiting.starts_with("waiting for the database ") { error } else { &said.err };
    let said = Said { err: err.to_owned(), ..said.clone() };
    complains(&said, FAILED, &words, "hint: make it with `createdb -h ");
    complains(&said, FAILED, &words, " not_made_yet`");
}

#[test]
fn configuration_that_cannot_be_used() {
    let machine = Machine::new();
    // The five texts fail in different layers: the TOML parser, the list of known keys, a value's type, the
    // UTF-8 decoder and a reference between two settings. All of them must name the file or key to fix.
    let cases: [(&[u8], i32, &str); 5] = [
        (b"[gateway\n", USAGE, "~/home/config.toml:1"),
        (b"gateway.listne = 'x'\n", USAGE, "the nearest known key is `gateway.listen`"),
        (b"gateway.listen = 5\n", USAGE, "must be a non-empty string"),
        (b"\xff\xfe\n", USAGE, "~/home/config.toml"),
        (b"[model]\ndefault = 'antropic/x'\n", USAGE, "which is not configured"),
    ];
    for (text, code, expected) in cases {
        machine.write("home/config.toml", text);
        check(
            &machine,
            &[("explain", code, expected), ("config", code, expected), ("serve", code, expected)],
        );
    }
    // A directory in the file's place is an I/O error and not bad input, which is the reason for the other
    // exit code.
    std::fs::remove_file(machine.home().join("config.toml")).unwrap();
    std::fs::create_dir(machine.home().join("config.toml")).unwrap();
    check(&machine, &[("config", FAILED, "cannot read the configuration file ~/home/config.toml")]);
}

/// A directory in which no user can create files, not even root.
fn read_only(machine: &Machine) -> PathBuf {
    let system = Path::new("/sys/kernel");
    // Permission bits do not stop root, as which tests in containers run. The kernel refuses new files
    // below `/sys/kernel` to every user.
    if system.is_dir() {
        return system.join("foreword");
    }
    let directory = machine.root().join("fixed");
    std::fs::create_dir(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o500)).unwrap();
    directory.join("foreword")
}

#[test]
fn a_home_that_cannot_be_written_to() {
    let machine = Machine::new();
    let place = read_only(&machine);
    let words = format!("serve --listen 127.0.0.1:0 --data {}", place.display());
    complains(
        &machine.run(&words),
        FAILED,
        &words,
        &format!("could not create the data directory {}", place.display()),
    );
    let words = format!("serve --listen 127.0.0.1:0 --home {}", place.display());
    complains(&machine.run(&words), FAILED, &words, &place.display().to_string());
    // Reading needs neither.
    machine.write("project/AGENTS.md", "text\n");
    for words in ["explain", "show", "config", "status", "prompt show"] {
        let words = format!("{words} --home {0} --data {0}", place.display());
        machine.run(&words).done();
    }
}

#[test]
fn no_terminal_means_no_question() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "text").done();
    machine.run("folder create services").done();
    machine.run_with("doc save --folder services", "text").done();
    for (words, code, expected) in [
        ("doc edit", FAILED, "hint: save a file with `foreword doc save FILE`, or set VISUAL or EDITOR"),
        ("doc save", USAGE, "empty"),
        ("folder delete services", 0, "brings it back"),
        ("init", 0, ""),
    ] {
        // A prompt without a terminal would wait forever, for example in CI. The time limit turns such a
        // hang into a failure that names the command.
        let begun = Instant::now();
        let said = machine.run(words);
        assert!(begun.elapsed() < Duration::from_secs(30), "{words} waited for somebody");
        assert_eq!(said.code, Some(code), "{words}: {said:?}");
        assert!(said.err.contains(expected), "{words}: {said:?}");
        is_no_accident(&said, words);
    }
}

#[test]
fn without_home_and_without_utf_8() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "Grüße 你好\n");
    // Minimal containers and systemd units set neither HOME nor a UTF-8 locale. Reading must not depend on
    // either, and text in other scripts must pass through unharmed.
    for words in ["explain", "show", "status", "config"] {
        let said = run_with(&machine, words, |command| {
            command.env_remove("HOME").env("LANG", "C").env("LC_ALL", "C");
        });
        is_no_accident(&said, words);
        let text = said.done();
        assert!(words != "show" || text.contains("Grüße 你好"), "{text}");
    }
    // There is no user to look up a home directory for, either.
    let said = run_with(&machine, "config", |command| {
        command.env("HOME", "").env_remove("FOREWORD_HOME").env_remove("FOREWORD_DATA");
    });
    is_no_accident(&said, "config");
    // A path on Linux is any sequence of bytes. The first run expects an error because the directory is
    // missing, the second must succeed once it exists.
    let name = std::os::unix::ffi::OsStrExt::from_bytes(b"not-\xff-utf8");
    let odd: &std::ffi::OsStr = name;
    let said = run_with(&machine, "explain", |command| {
        command.arg(odd);
    });
    complains(&said, USAGE, "explain", "not-");
    std::fs::create_dir(machine.project().join(odd)).unwrap();
    let said = run_with(&machine, "explain", |command| {
        command.arg(odd);
    });
    said.done();
}

#[test]
fn narrow_and_unknown_terminals_are_supported() {
    let (machine, _server) = Machine::with_workspace();
    machine.write("project/AGENTS.md", "text\n");
    machine.run_with("doc save", "text").done();
    // Some terminals report 0 columns, and tiling window managers make very narrow ones. Width arithmetic
    // with unsigned numbers underflows on exactly these values.
    for columns in [20, 1, 0] {
        for words in ["explain", "status", "workspace list", "doc history", "token list", "--help", "config"]
        {
            let script = format!(
                "command -v script >/dev/null || exit 0; \
                 script -qec 'stty rows 24 columns {columns}; \"$foreword\" {words}' /dev/null"
            );
            let said = finish(machine.shell(&script), b"");
            assert_eq!(said.code, Some(0), "{columns}: {words}: {said:?}");
            is_no_accident(&Said { err: said.out.clone(), ..said }, words);
        }
    }
}
