//! No process of a command survives: not its end, not its cancellation, not the gateway's death or freeze.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{Ended, Report, SandboxLevel};
use test_sandbox::processes_with;

use crate::trial::{Trial, eventually};

/// Levels at which these tests run, and their description in SECURITY.md.
pub(crate) const LEVELS: [SandboxLevel; 3] =
    [SandboxLevel::Isolated, SandboxLevel::Confined, SandboxLevel::Off];
pub(crate) const SHOWN: &str =
    "a `setsid` child after the end, a cancel, a kill −9 or a freeze of the gateway";

/// Returns a script that starts a child in its own session and group, recognisable by its argument.
fn deserter(mark: &str) -> String {
    format!("setsid sh -c 'setsid sleep 1000{mark} & touch left; sleep 1000{mark}' >/dev/null 2>&1 &")
}

/// Returns a number that no other test uses.
fn mark(level: SandboxLevel, test: u32) -> String {
    format!("{}{test}{}", std::process::id(), level as u8)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn setsid_child_is_gone_after_the_command() {
    for level in LEVELS {
        let trial = Trial::new();
        let mark = mark(level, 1);
        trial.output(level, &format!("{} until [ -e left ]; do sleep 0.01; done", deserter(&mark)));
        assert!(processes_with(&format!("1000{mark}")).is_empty(), "{level:?}");
    }
}

#[test]
fn setsid_child_is_gone_after_cancelling() {
    for level in LEVELS {
        let trial = Trial::new();
        let mark = mark(level, 5);
        let cancel = trial.path("cancel");
        let request = trial.request(level, &format!("{}\ntouch begun; sleep 300", deserter(&mark)));
        let mut gateway = trial.command(&request).arg(&cancel).stdout(Stdio::piped()).spawn().unwrap();
        eventually("the child", || !processes_with(&format!("sleep\u{0}1000{mark}")).is_empty());
        trial.write("cancel", "");
        let said = std::io::read_to_string(gateway.stdout.take().unwrap()).unwrap();
        // Dropping waits for the guard, so no delay is needed here.
        assert!(processes_with(&format!("sleep\u{0}1000{mark}")).is_empty(), "{level:?}");
        assert!(said.contains("released") && gateway.wait().unwrap().success(), "{said}");
    }
}

#[test]
fn setsid_child_is_gone_after_the_gateway_is_killed() {
    for level in LEVELS {
        let trial = Trial::new();
        let mark = mark(level, 2);
        let mut gateway = trial.begin(level, &deserter(&mark));
        eventually("the child", || !processes_with(&format!("sleep\u{0}1000{mark}")).is_empty());
        signal(&gateway, Signal::KILL);
        gateway.wait().unwrap();
        eventually("the end of all", || processes_with(&format!("1000{mark}")).is_empty());
    }
}

#[test]
fn setsid_child_is_gone_after_the_gateway_is_frozen() {
    for level in LEVELS {
        let trial = Trial::new();
        let mark = mark(level, 3);
        let mut gateway = trial.begin(level, &deserter(&mark));
        signal(&gateway, Signal::STOP);
        eventually("the end of all", || processes_with(&format!("1000{mark}")).len() <= 1);
        signal(&gateway, Signal::KILL);
        gateway.wait().unwrap();
    }
}

// Bubblewrap's own process holds the pipe on which the helper reports errors before the command begins.
#[test]
fn command_cannot_forge_a_failed_start() {
    let trial = Trial::new();
    let forge = "trap '' PIPE; for fd in 0 1 2 3 4 5; do printf 'forged' > /proc/1/fd/$fd; done 2>/dev/null; echo ran; exit 3";
    // Immediately, and after the guard has certainly read the beginning.
    for pause in ["", "sleep 0.2; "] {
        let answer = trial.run(SandboxLevel::Isolated, &format!("{pause}{forge}"));
        assert_eq!(answer.report, Report::Ended(Ended::Exited(3)), "{}", answer.output);
        assert!(answer.output.ends_with("ran\n"), "{}", answer.output);
    }
}

// Killing bubblewrap in its first milliseconds leaves processes behind; releasing the guard must not.
#[test]
fn command_that_has_just_begun_is_gone_too() {
    for level in [SandboxLevel::Isolated, SandboxLevel::Confined] {
        let trial = Trial::new();
        let mark = mark(level, 4);
        let request = trial.request(level, &deserter(&mark));
        for round in 0..40 {
            let mut gateway = trial.command(&request).stdout(Stdio::null()).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_micros(round * 500));
            signal(&gateway, Signal::KILL);
            gateway.wait().unwrap();
        }
        eventually("the end of all", || processes_with(&format!("1000{mark}")).is_empty());
    }
}
