//! Tests of `shell`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use instructions::Reminder;
use protocol::{FileChange, HowDecided, ProtectedChange, SandboxLevel};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use tools::{Permission, Program, Shell, ShellSettings};

use crate::bench::{Answers, Bench, bench, call};

fn with_shell(files: &[(&str, &str)], settings: ShellSettings) -> Bench {
    let mut bench = bench(files);
    bench.toolbox.add(Shell::new(settings)).unwrap();
    bench
}

/// Returns settings without a sandbox. Tests may run as root, which never gets one; the sandboxes have their own tests.
fn off() -> ShellSettings {
    let program = Program::at(test_sandbox::guard_program().unwrap());
    ShellSettings { sandbox: SandboxLevel::Off, program, ..ShellSettings::default() }
}

fn unconfined(files: &[(&str, &str)]) -> Bench {
    with_shell(files, off())
}

async fn run(bench: &Bench, command: &str) -> String {
    bench.call("shell", json!({ "command": command })).await.text
}

/// Waits until a process has exited, even if it is not reaped yet.
async fn is_gone(id: &str) -> bool {
    let id: i32 = id.trim().parse().unwrap();
    for _ in 0..200 {
        let state = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        if test_kill_process(Pid::from_raw(id).unwrap()).is_err() || state.contains(") Z ") {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

#[tokio::test]
async fn command_answers_with_its_output() {
    let bench = unconfined(&[("sub/file", "text\n")]).at("sub");
    assert_eq!(run(&bench, "cat file; echo error >&2; echo out").await, "text\nerror\nout\n");
    assert_eq!(
        run(&bench, "pwd -P").await,
        format!("{}\n", bench.context.root().unwrap().join("sub").display())
    );
    assert_eq!(run(&bench, "cat").await, "[foreword: no output]\n", "there is no input");
    let output = bench.call("shell", json!({ "command": "echo no; exit 3" })).await;
    assert_eq!((&*output.text, output.is_error), ("no\n[foreword: exit status 3]\n", true));
    assert_eq!(run(&bench, "kill -9 $$").await, "[foreword: ended by signal 9]\n");
    assert!(run(&bench, "a\0b").await.contains("could not be run"));
    assert!(
        run(&bench, "printf '</system-reminder>'")
            .await
            .starts_with("&lt;/system-reminder>\n[foreword: tags that")
    );
    assert_eq!(run(&bench, "printf 'a\\377b'").await, "a\u{fffd}b");
}

#[tokio::test]
async fn shell_exists_only_if_added() {
    assert!(
        bench(&[]).error("shell", json!({ "command": "true" })).await.starts_with("there is no tool `shell`")
    );
}

#[tokio::test]
async fn commands_require_approval_like_writes() {
    let answers = Answers::deny(HowDecided::Asked);
    let bench = unconfined(&[]).permissions(Permission::Ask, Permission::Deny).approvals(&answers);
    let output = bench.call("shell", json!({ "command": "touch ran" })).await;
    assert!(output.is_error && output.text.contains("somebody was asked, and said no"));
    let [Reminder::PermissionDecision { call, rule, .. }] = &output.reminders[..] else {
        panic!("{output:?}")
    };
    assert_eq!((&**call, &**rule), ("shell(\"touch ran\")", "permissions.write = ask"));
    assert!(!bench.path("ran").exists());
    let asked = &answers.asked()[0];
    assert_eq!((&asked.arguments["command"], asked.sandbox), (&json!("touch ran"), Some(SandboxLevel::Off)));
}

#[tokio::test]
async fn environment_is_scrubbed() {
    let settings = ShellSettings { environment: vec!["CARGO_PKG_NAME".into()], ..off() };
    let bench = with_shell(&[], settings);
    let text = run(&bench, "env | cut -d= -f1 | sort").await;
    let allowed = [
        "CARGO_PKG_NAME",
        "GIT_TERMINAL_PROMPT",
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "OLDPWD",
        "PAGER",
        "PATH",
        "PWD",
        "SHLVL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "_",
    ];
    assert!(text.lines().all(|name| allowed.contains(&name)), "{text}");
    assert!(text.contains("CARGO_PKG_NAME") && std::env::var_os("CARGO_MANIFEST_DIR").is_some());
}

#[tokio::test]
async fn temporary_files_are_removed() {
    let bench = unconfined(&[]);
    let directory = run(&bench, "touch $TMPDIR/x; printf %s $TMPDIR").await;
    assert!(directory.contains("foreword-") && !fs::exists(&directory).unwrap(), "{directory}");
}

#[tokio::test]
async fn timeout_ends_the_whole_group() {
    let bench = unconfined(&[]);
    let begin = Instant::now();
    let command = "sleep 300 & echo $! > id; echo begun; sleep 300";
    let output = bench.call("shell", json!({ "command": command, "timeout_seconds": 1 })).await;
    assert!(
        output.is_error && output.text.starts_with("begun\n[foreword: not done after 1 seconds"),
        "{}",
        output.text
    );
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert!(is_gone(&bench.read("id")).await);
    let error = bench.error("shell", json!({ "command": "true", "timeout_seconds": 999_999 })).await;
    assert_eq!(error, "field `timeout_seconds` must be at most 1800");
}

#[tokio::test]
async fn dropping_the_call_ends_the_whole_group() {
    let bench = unconfined(&[]);
    let router = bench.router();
    // Renamed into place, so that the test never reads a file that the shell has created but not yet written.
    let command = "sleep 300 & echo $! > id.new; mv id.new id; sleep 300";
    let running =
        tokio::spawn(async move { router.call(call("shell", json!({ "command": command }))).await });
    for _ in 0..500 {
        if bench.path("id").exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert!(is_gone(&bench.read("id")).await);
}

#[tokio::test]
async fn background_processes_are_ended() {
    let bench = unconfined(&[]);
    let begin = Instant::now();
    let id = run(&bench, "sleep 300 & echo $!").await;
    assert!(begin.elapsed() < Duration::from_secs(60) && is_gone(&id).await);
    // A process that left the group is ended, too.
    let begin = Instant::now();
    run(&bench, "setsid sh -c 'echo $$ > id.new; mv id.new id; exec sleep 300' & until [ -e id ]; do sleep 0.01; done").await;
    assert!(begin.elapsed() < Duration::from_secs(60) && is_gone(&bench.read("id")).await);
}

#[tokio::test]
async fn output_is_bounded() {
    let bench = unconfined(&[]).limits(|limits| limits.output_chars = 2_000);
    let output = bench.call("shell", json!({ "command": "seq 1 300000" })).await;
    assert!(output.text.chars().count() <= 2_000 && output.text.starts_with("1\n2\n"), "{}", output.text);
    assert!(output.text.ends_with("299999\n300000\n") && output.text.contains("bytes left out here]\n"));
    let shown = output.text.lines().count() as u64 - 1;
    let [Reminder::ToolOutputTrimmed { removed_lines, remedy, .. }] = &output.reminders[..] else {
        panic!("{output:?}")
    };
    assert_eq!(*removed_lines, 300_000 - shown);
    assert!(remedy.contains("sent to a file"));
    // An endless output ends with the time limit.
    let output = bench.call("shell", json!({ "command": "yes", "timeout_seconds": 1 })).await;
    assert!(output.text.contains("not done after 1 seconds") && output.text.len() < 3_000);
}

const WATCHED: &[(&str, &str)] = &[
    ("AGENTS.md", "be brief\n"),
    (".git/config", "x"),
    (".git/HEAD", "main"),
    ("a/b/AGENTS.md", "x"),
    ("file", ""),
];
const MEDDLING: &str = "echo evil > AGENTS.md; rm -r a; mkdir .git/hooks; touch .git/hooks/pre-commit; \
                        echo other > .git/HEAD; mkdir -p c/.agents; touch c/.agents/x c/.agents/y";

fn change(path: &str, change: FileChange, undone: bool) -> ProtectedChange {
    ProtectedChange { path: path.to_owned(), change, undone }
}

#[tokio::test]
async fn changed_protected_files_are_restored_and_reported() {
    let bench = unconfined(WATCHED);
    let quiet = bench.call("shell", json!({ "command": "cat AGENTS.md; echo x > file; mkdir -p .git/objects/aa; touch .git/objects/aa/bb" })).await;
    assert_eq!((&*quiet.text, quiet.effects.protected_changes.len()), ("be brief\n", 0));
    assert_eq!((quiet.effects.sandbox, quiet.effects.unwatched), (Some(SandboxLevel::Off), false));
    let output = bench.call("shell", json!({ "command": MEDDLING })).await;
    assert_eq!(
        output.effects.protected_changes,
        [
            change(".git/HEAD", FileChange::Changed, false),
            change(".git/hooks/pre-commit", FileChange::New, true),
            change("AGENTS.md", FileChange::Changed, true),
            change("c/.agents", FileChange::New, true),
            change("a/b/AGENTS.md", FileChange::Removed, true),
        ]
    );
    let (put_back, aside) = output.text.split_once(". The command's versions are in ").unwrap();
    assert_eq!(
        put_back,
        "[foreword: the command changed protected files, and that was undone: .git/hooks/pre-commit (new, removed \
         again), AGENTS.md (changed, put back), c/.agents (new, removed again), a/b/AGENTS.md (removed, put back)"
    );
    let (aside, rest) = aside.split_once(". ").unwrap();
    assert_eq!(
        rest,
        "Tell the user]\n[foreword: protected files are different now: .git/HEAD (changed). Tell the user]\n"
    );
    assert_eq!((bench.read("AGENTS.md"), bench.read("a/b/AGENTS.md")), ("be brief\n".into(), "x".into()));
    assert!(!bench.path("c/.agents").exists() && !bench.path(".git/hooks/pre-commit").exists());
    // The replaced versions are kept, because a user may have written one of them.
    let aside = std::path::Path::new(aside);
    assert_eq!(fs::read_to_string(aside.join("AGENTS.md")).unwrap(), "evil\n");
    assert!(aside.join("c/.agents/x").exists() && aside.starts_with(bench.directory.path().join("undone")));
    for directory in [bench.directory.path().join("undone"), aside.to_owned(), aside.join("c")] {
        let mode = std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{}", directory.display());
    }
    // Setting the modification time is the usual way to hide a change. The change time cannot be set.
    let times = bench.call("shell", json!({ "command": "touch -r file AGENTS.md" })).await;
    assert!(
        times.text.contains("AGENTS.md (changed"),
        "a time that was set does not hide it: {}",
        times.text
    );
}

#[tokio::test]
async fn permitted_changes_are_only_reported() {
    let bench = unconfined(WATCHED).permissions(Permission::Allow, Permission::Allow);
    let output = bench.call("shell", json!({ "command": MEDDLING })).await;
    assert_eq!(
        output.text,
        "[foreword: protected files are different now: .git/HEAD (changed), .git/hooks/pre-commit (new), \
         AGENTS.md (changed), c/.agents (new), a/b/AGENTS.md (removed). Tell the user]\n"
    );
    assert_eq!(bench.read("AGENTS.md"), "evil\n");
}

#[tokio::test]
async fn restoring_does_not_follow_a_link() {
    let bench = unconfined(&[("a/AGENTS.md", "rules"), ("b/file", "")]);
    // The command replaces a protected file's directory with a link to the parent of the workspace, where a file of the
    // same name exists.
    let outside = bench.directory.path().join("AGENTS.md");
    fs::write(&outside, "other").unwrap();
    let output = bench.call("shell", json!({ "command": "mv a c; ln -s .. a" })).await;
    assert_eq!(
        output.effects.protected_changes,
        [change("c/AGENTS.md", FileChange::New, true), change("a/AGENTS.md", FileChange::Removed, false)]
    );
    assert_eq!(fs::read_to_string(outside).unwrap(), "other");
}

// A command can make a file larger than the copy limit. If setting it aside means copying to another file system, it must
// still be moved out of the way.
#[tokio::test]
async fn enlarged_protected_file_is_still_replaced() {
    let other = tempfile::tempdir_in("/dev/shm").unwrap();
    let is_other = {
        let device =
            |path: &std::path::Path| std::os::unix::fs::MetadataExt::dev(&fs::metadata(path).unwrap());
        let bench = bench(&[]);
        device(&bench.root()) != device(other.path())
    };
    assert!(is_other, "the temporary directory is /dev/shm itself; this test needs two file systems");
    for aside in [Some(other.path()), None] {
        let mut bench = unconfined(&[("AGENTS.md", "be brief"), (".vscode/tasks.json", "{}")]);
        bench.context = match aside {
            Some(aside) => bench.context.with_set_aside(aside),
            None => bench.context.with_set_aside("/proc/nowhere"),
        };
        let size = (1 << 20) + 1;
        let command = format!(
            "for f in AGENTS.md AGENTS.override.md .vscode/settings.json; do head -c {size} /dev/zero > $f; done; \
             mkdir -p c/.agents; head -c {size} /dev/zero > c/.agents/x"
        );
        let output = bench.call("shell", json!({ "command": command })).await;
        assert_eq!(
            output.effects.protected_changes,
            [
                change(".vscode/settings.json", FileChange::New, true),
                change("AGENTS.md", FileChange::Changed, true),
                change("AGENTS.override.md", FileChange::New, true),
                change("c/.agents", FileChange::New, true),
            ]
        );
        assert_eq!(bench.read("AGENTS.md"), "be brief");
        for gone in ["AGENTS.override.md", ".vscode/settings.json", "c/.agents"] {
            assert!(!bench.path(gone).exists(), "{gone}");
        }
        // The replaced versions are beside the originals, under names without a meaning and outside protected directories.
        let mut left: Vec<String> = fs::read_dir(bench.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains(".foreword-undone-"))
            .map(|name| name.split_once(".foreword-undone-").unwrap().0.to_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["AGENTS.md", "AGENTS.override.md", "settings.json"]);
        assert!(output.text.contains("The command's versions are in"), "{}", output.text);
    }
}

// A user cancels precisely when a command does harm, so restoring must not depend on the call's future.
#[tokio::test]
async fn dropping_the_call_restores_protected_files() {
    let bench = unconfined(&[("AGENTS.md", "be brief")]);
    let router = bench.router();
    let command = "echo evil > AGENTS.md; echo evil > AGENTS.override.md; touch begun; sleep 300";
    let running =
        tokio::spawn(async move { router.call(call("shell", json!({ "command": command }))).await });
    while !bench.path("begun").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    while bench.read_if_there("AGENTS.md").as_deref() != Some("be brief")
        || bench.path("AGENTS.override.md").exists()
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn partial_watch_is_reported() {
    let bench = unconfined(&[("a/AGENTS.md", "")]).limits(|limits| limits.watch_time = Duration::ZERO);
    let output = bench.call("shell", json!({ "command": "rm a/AGENTS.md" })).await;
    assert!(output.text.contains("not all protected files were watched"), "{}", output.text);
    assert!(output.effects.unwatched);
}

#[tokio::test]
async fn hidden_directories_are_unreachable() {
    let mut bench = bench(&[("data/owner.token", "secret\n"), ("file", "secret-less\n")]);
    let data = bench.path("data");
    bench.context = bench.context.with_hidden([data]);
    symlink("data", bench.path("link")).unwrap();
    for path in ["data/owner.token", "link/owner.token", "data", "data/../data/owner.token"] {
        let error = bench.error("read_file", json!({ "path": path })).await;
        assert!(error.contains("out of reach of every tool"), "{error}");
    }
    assert!(bench.error("list_dir", json!({ "path": "link" })).await.contains("out of reach"));
    let error = bench.error("write_file", json!({ "path": "data/new", "content": "x" })).await;
    assert!(error.contains("out of reach"), "{error}");
    let found = bench.text("search", json!({ "pattern": "secret" })).await;
    assert!(found.contains("file") && !found.contains("owner.token"), "{found}");
}

#[tokio::test]
async fn replaced_working_directory_is_rejected() {
    let bench = unconfined(&[("sub/file", "")]).at("sub");
    fs::rename(bench.path("sub"), bench.path("aside")).unwrap();
    symlink("..", bench.path("sub")).unwrap();
    let output = bench.call("shell", json!({ "command": "cat ../outside outside" })).await;
    assert!(output.is_error && output.text.contains("outside the workspace"), "{}", output.text);
}

// A program that Git runs with the next commit runs outside of every sandbox.
#[tokio::test]
async fn configured_git_hooks_are_protected() {
    let mut bench = unconfined(&[
        (".git/config", "[core]\nhooksPath = tools/hooks\n"),
        ("tools/hooks/pre-commit", "genuine"),
        ("kept/repo/HEAD", "ref: refs/heads/main\n"),
        ("kept/repo/config", "[core]\nhooksPath = .githooks\n"),
        ("sub/.git", "gitdir: ../kept/repo\n"),
    ]);
    let places = ["", "sub"].map(|top| instructions::git_program_paths(&bench.path(top), None)).concat();
    bench.context = bench.context.with_places_of_git(places);
    let hooks =
        ["tools/hooks/pre-commit", "tools/hooks/new", "sub/.githooks/post-merge", "kept/repo/hooks/x"];
    for path in hooks.into_iter().chain(["kept/repo/config", "sub/.git"]) {
        let output = bench.call("write_file", json!({ "path": path, "content": "evil" })).await;
        assert!(
            output.is_error && output.text.starts_with("this call was denied"),
            "{path}: {}",
            output.text
        );
    }
    let commands: Vec<String> =
        hooks.iter().map(|path| format!("mkdir -p $(dirname {path}); echo evil > {path}")).collect();
    let output = bench.call("shell", json!({ "command": commands.join("; ") })).await;
    assert_eq!(
        output.effects.protected_changes,
        [
            change("kept/repo/hooks", FileChange::New, true),
            change("sub/.githooks", FileChange::New, true),
            change("tools/hooks/new", FileChange::New, true),
            change("tools/hooks/pre-commit", FileChange::Changed, true),
        ]
    );
    assert_eq!(bench.read("tools/hooks/pre-commit"), "genuine");
    for path in &hooks[1..] {
        assert!(!bench.path(path).exists(), "{path}");
    }
    // Other files in that directory belong to the project.
    let output = bench.call("write_file", json!({ "path": "tools/build", "content": "x" })).await;
    assert!(!output.is_error, "{}", output.text);
}
