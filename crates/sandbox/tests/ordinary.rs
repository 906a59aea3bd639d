//! Actions that commands can perform at every level.

use std::time::Duration;

use sandbox::{Ended, Report, SandboxLevel};

use crate::trial::Trial;

const LEVELS: [SandboxLevel; 3] = [SandboxLevel::Isolated, SandboxLevel::Confined, SandboxLevel::Off];

#[test]
fn command_works_in_its_directory() {
    for level in LEVELS {
        let trial = Trial::new();
        trial.write("root/sub/file", "text\n");
        assert_eq!(trial.output(level, "cat sub/file; echo error >&2; pwd"), {
            format!("text\nerror\n{}\n", trial.path("root").display())
        });
        assert_eq!(trial.output(level, "mkdir d && echo new > d/x && mv d/x y && cat y"), "new\n");
        assert_eq!(trial.output(level, "cat"), "", "there is no input");
        assert_eq!(trial.output(level, "echo x > $TMPDIR/x && cat $TMPDIR/x; echo y > /dev/null"), "x\n");
        assert_eq!(trial.run(level, "exit 3").report, Report::Ended(Ended::Exited(3)));
        let killed = trial.run(level, "kill -9 $$").report;
        let expected = match level {
            SandboxLevel::Isolated => Ended::Exited(128 + 9),
            _ => Ended::Signalled(9),
        };
        assert_eq!(killed, Report::Ended(expected));
    }
}

// The filters of system calls must not break programs that limit themselves or copy attributes.
#[test]
fn command_limits_itself_and_copies_attributes() {
    for level in LEVELS {
        let trial = Trial::new();
        trial.write("root/file", "text\n");
        let text = "ulimit -n 64 && nice -n 1 true && taskset -c 0 true && ionice -c 3 true && chrt -i 0 true && \
                    cp -a file copy && cat copy";
        assert_eq!(trial.output(level, text), "text\n", "{level:?}");
    }
}

#[test]
fn environment_contains_only_named_variables() {
    for level in LEVELS {
        let mut trial = Trial::new();
        trial.set("GIVEN", "yes");
        let names = trial.output(level, "env | cut -d= -f1 | sort");
        let known = ["GIVEN", "HOME", "LANG", "OLDPWD", "PATH", "PWD", "SHLVL", "TMPDIR", "_"];
        assert!(names.lines().all(|name| known.contains(&name)) && names.contains("GIVEN"), "{names}");
        assert_eq!(trial.output(level, "ls -l /proc/self/fd 2>/dev/null | grep -c socket; true"), "0\n");
    }
}

#[test]
fn isolated_command_reaches_its_own_server() {
    let trial = Trial::new();
    let text = "python3 - <<'E'\nimport socket\ns = socket.create_server(('127.0.0.1', 0))\n\
                c = socket.create_connection(s.getsockname())\nc.send(b'x')\nprint(s.accept()[0].recv(1))\nE";
    assert_eq!(trial.output(SandboxLevel::Isolated, text), "b'x'\n");
}

#[test]
fn additional_paths_are_readable_or_writable() {
    for level in [SandboxLevel::Isolated, SandboxLevel::Confined] {
        let trial = Trial::new();
        trial.write("more/read/file", "shared\n");
        trial.make_directory("more/write");
        let more = trial.path("more");
        let more = more.display();
        let text = format!("cat {more}/read/file; echo x > {more}/write/x; cat {more}/write/x");
        let mut request = trial.request(level, &text);
        request.readable = vec![trial.path("more/read"), trial.path("more/nothing")];
        request.writable = vec![trial.path("more/write"), trial.path("more/nothing-to-write")];
        assert_eq!(trial.try_run(&request).unwrap().output, "shared\nx\n");
        assert!(trial.path("more/write/x").exists());
        request.text = format!("echo x > {more}/read/file");
        let answer = trial.try_run(&request).unwrap();
        assert_ne!(answer.report, Report::Ended(Ended::Exited(0)), "{}", answer.output);
    }
}

#[test]
fn replaced_directory_is_rejected() {
    for level in [SandboxLevel::Isolated, SandboxLevel::Confined] {
        let trial = Trial::new();
        trial.write("root/sub/file", "");
        let mut request = trial.request(level, "echo ran");
        request.cwd = sandbox::Directory::look(&trial.root("sub")).unwrap();
        std::fs::rename(trial.root("sub"), trial.root("aside")).unwrap();
        trial.make_directory("root/sub");
        let Report::NotStarted(why) = trial.try_run(&request).unwrap().report else { panic!("{level:?}") };
        assert!(why.ends_with("is not the directory that it was"), "{why}");
    }
}

#[test]
fn command_ends_at_its_time_limit() {
    for level in LEVELS {
        let mut trial = Trial::new();
        trial.limits.time = Duration::from_millis(300);
        let answer = trial.run(level, "echo begun; sleep 300");
        assert_eq!((answer.report, &*answer.output), (Report::Ended(Ended::TimedOut), "begun\n"));
    }
}

// Bubblewrap follows links in source and target of a mount. Here a directory is swapped for a link exactly between our check
// and bubblewrap's own, by a script that runs in place of the guard.
#[cfg(target_os = "linux")]
#[test]
fn directory_swapped_for_a_link_opens_nothing_else() {
    let mut trial = Trial::new();
    trial.write("root/a/AGENTS.md", "rules");
    trial.write("AGENTS.md", "rules of what is above");
    trial.protected = vec![trial.root("a/AGENTS.md")];
    let root = trial.path("root");
    let root = root.display();
    let exchange = format!("mv {root}/a {root}/aside && ln -s .. {root}/a");
    let text = "cat a/outside ../outside 2>/dev/null; echo ran";
    let answer = trial.run_with_guard(&trial.request(SandboxLevel::Isolated, text), &exchange).unwrap();
    assert!(trial.root("a").is_symlink(), "it was exchanged");
    let Report::NotStarted(why) = &answer.report else { panic!("{answer:?}") };
    assert!(why.contains("changed while the sandbox was made"), "{answer:?}");
    assert!(!answer.output.contains("secret"), "{answer:?}");
}

/// Levels at which root is rejected, and the description in SECURITY.md.
pub(crate) const WITHOUT_ROOT: [SandboxLevel; 2] = [SandboxLevel::Isolated, SandboxLevel::Confined];
pub(crate) const WITHOUT_ROOT_SHOWN: &str = "running as root";

#[test]
fn root_is_rejected() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for level in WITHOUT_ROOT {
        let trial = Trial::new();
        let mut command = trial.command(&trial.request(level, "echo ran"));
        std::os::unix::process::CommandExt::uid(&mut command, 0);
        let said = command.output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.contains("commands do not run as root") && !said.contains("ran\\n"), "{said}");
    }
}
