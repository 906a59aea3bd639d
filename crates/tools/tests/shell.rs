//! `shell`.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use instructions::Reminder;
use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use tools::{Permission, Sandbox, Shell, ShellSettings};

use crate::bench::{Answers, Bench, bench, call};

fn with_shell(files: &[(&str, &str)], settings: ShellSettings) -> Bench {
    let mut bench = bench(files);
    bench.toolbox.add(Shell::new(settings)).unwrap();
    bench
}

fn unconfined(files: &[(&str, &str)]) -> Bench {
    with_shell(files, ShellSettings { sandbox: Sandbox::Off, ..ShellSettings::default() })
}

/// `None` where this system has no sandbox.
fn confined(files: &[(&str, &str)], settings: ShellSettings) -> Option<Bench> {
    Shell::new(settings.clone()).is_usable().then(|| with_shell(files, settings))
}

async fn run(bench: &Bench, command: &str) -> String {
    bench.call("shell", json!({ "command": command })).await.text
}

/// Waits until a process is gone, or is only waiting to be reaped.
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
async fn a_command_answers_with_its_output() {
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
    assert_eq!(run(&bench, "printf '</system-reminder>'").await, "&lt;/system-reminder>");
    assert_eq!(run(&bench, "printf 'a\\377b'").await, "a\u{fffd}b");
}

#[tokio::test]
async fn a_shell_is_there_only_when_it_was_added() {
    assert!(
        bench(&[]).error("shell", json!({ "command": "true" })).await.starts_with("there is no tool `shell`")
    );
}

#[tokio::test]
async fn commands_ask_like_writes() {
    let answers = Answers::deny("no commands");
    let bench = unconfined(&[]).permissions(Permission::Ask, Permission::Deny).approvals(&answers);
    let output = bench.call("shell", json!({ "command": "touch ran" })).await;
    assert!(output.is_error && output.text.contains("reason: no commands"));
    let [Reminder::PermissionDecision { call, rule, .. }] = &output.reminders[..] else {
        panic!("{output:?}")
    };
    assert_eq!(
        (&**call, &**rule),
        ("shell(\"touch ran\")", "permissions.write = ask, and the answer was no")
    );
    assert!(!bench.path("ran").exists());
    assert_eq!(answers.asked()[0].arguments["command"], "touch ran");
}

#[tokio::test]
async fn the_environment_is_scrubbed() {
    let settings = ShellSettings {
        sandbox: Sandbox::Off,
        environment: vec!["CARGO_PKG_NAME".into()],
        ..ShellSettings::default()
    };
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
async fn a_timeout_ends_the_whole_group() {
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
async fn what_is_left_in_the_background_is_ended() {
    let bench = unconfined(&[]);
    let begin = Instant::now();
    let id = run(&bench, "sleep 300 & echo $!").await;
    assert!(begin.elapsed() < Duration::from_secs(60) && is_gone(&id).await);
    // What leaves the group is not waited for, either.
    let begin = Instant::now();
    assert!(run(&bench, "setsid sleep 30 & sleep 0.1; echo done").await.starts_with("done\n"));
    assert!(begin.elapsed() < Duration::from_secs(25));
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
    // An endless output ends with its time.
    let output = bench.call("shell", json!({ "command": "yes", "timeout_seconds": 1 })).await;
    assert!(output.text.contains("not done after 1 seconds") && output.text.len() < 3_000);
}

#[tokio::test]
async fn changes_of_protected_files_are_reported() {
    let bench =
        unconfined(&[("AGENTS.md", "be brief\n"), (".git/config", ""), ("a/b/AGENTS.md", "x"), ("file", "")]);
    let quiet = bench.call("shell", json!({ "command": "cat AGENTS.md; echo x > file; mkdir -p .git/objects/aa; touch .git/objects/aa/bb" })).await;
    assert_eq!((&*quiet.text, quiet.protected_changes.len()), ("be brief\n", 0));
    let command = "echo evil > AGENTS.md; rm a/b/AGENTS.md; mkdir .git/hooks; touch .git/hooks/pre-commit; mkdir -p c/.agents; touch c/.agents/x";
    let output = bench.call("shell", json!({ "command": command })).await;
    assert_eq!(
        output.text,
        "[foreword: protected files are different now: .git/hooks/pre-commit (new), AGENTS.md (changed), \
         c/.agents/x (new), a/b/AGENTS.md (removed). Tell the user]\n"
    );
    assert_eq!(output.protected_changes.len(), 4);
    assert!(output.protected_changes.contains(&bench.context.root().unwrap().join("AGENTS.md")));
    let times = "touch -r file AGENTS.md";
    assert!(run(&bench, times).await.contains("AGENTS.md (changed)"), "a time that was set does not hide it");
    let bench = bench.limits(|limits| limits.watched_entries = 2);
    assert!(run(&bench, "true").await.contains("not all protected files were watched"));
}

#[tokio::test]
async fn a_confined_command_writes_only_the_workspace() {
    let Some(bench) = confined(&[("file", "text\n")], ShellSettings::default()) else { return };
    let outside = bench.directory.path().join("outside");
    let outside = outside.display();
    assert_eq!(
        run(&bench, "cat file && echo new > sub && mkdir d && mv sub d/ && cat d/sub").await,
        "text\nnew\n"
    );
    assert_eq!(run(&bench, "echo x > $TMPDIR/x && cat $TMPDIR/x && echo y > /dev/null").await, "x\n");
    for command in [
        format!("cat {outside}"),
        format!("echo bad > {outside}"),
        format!("rm {outside}"),
        format!("ln {outside} link"),
        format!("mv {outside} here"),
        format!("chmod 777 {outside} && cat {outside}"),
        format!("ln -s {outside} s; cat s"),
        "touch ../new".to_owned(),
        "touch /tmp/foreword-test-new".to_owned(),
        "mknod device b 8 0".to_owned(),
        "mount -t tmpfs none .".to_owned(),
    ] {
        let output = bench.call("shell", json!({ "command": command })).await;
        assert!(output.is_error && !output.text.contains("secret"), "{command}: {}", output.text);
    }
    assert_eq!(fs::read_to_string(bench.directory.path().join("outside")).unwrap(), "secret\n");
    // Only the command is confined.
    fs::write(bench.directory.path().join("new"), "").unwrap();
}

#[tokio::test]
async fn a_confined_command_does_not_see_who_started_it() {
    let Some(bench) = confined(&[], ShellSettings::default()) else { return };
    for command in ["cat /proc/$PPID/environ", "cat /proc/$PPID/cmdline", "ls /proc/$PPID/fd"] {
        let output = bench.call("shell", json!({ "command": command })).await;
        assert!(output.is_error && !output.text.contains("CARGO"), "{command}: {}", output.text);
    }
    assert_eq!(run(&bench, "test \"$HOME\" = \"$TMPDIR\" && echo yes").await, "yes\n");
}

#[tokio::test]
async fn more_can_be_opened_to_confined_commands() {
    let settings = ShellSettings::default();
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join("write")).unwrap();
    fs::write(other.path().join("read"), "shared\n").unwrap();
    let settings = ShellSettings {
        readable: vec![other.path().join("read"), other.path().join("nothing")],
        writable: vec![other.path().join("write")],
        ..settings
    };
    let Some(bench) = confined(&[], settings) else { return };
    let path = other.path().display();
    assert_eq!(
        run(&bench, &format!("cat {path}/read; echo x > {path}/write/x; cat {path}/write/x")).await,
        "shared\nx\n"
    );
    assert!(bench.call("shell", json!({ "command": format!("echo x > {path}/read") })).await.is_error);
    assert!(bench.call("shell", json!({ "command": format!("ls {path}") })).await.is_error);
}

#[tokio::test]
async fn a_working_directory_that_was_replaced_by_a_link_is_refused() {
    let bench = unconfined(&[("sub/file", "")]).at("sub");
    fs::rename(bench.path("sub"), bench.path("aside")).unwrap();
    symlink("..", bench.path("sub")).unwrap();
    let output = bench.call("shell", json!({ "command": "cat ../outside outside" })).await;
    assert!(output.is_error && output.text.contains("outside the workspace"), "{}", output.text);
}
