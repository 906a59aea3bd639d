//! Shared by the tests: a machine for each test, and the output of its commands.

mod machine;
mod record;
mod recording;
mod said;
mod server;

pub(crate) use machine::{FOREWORD, Machine};
pub(crate) use record::{all_events, all_revisions, folder, save};
pub(crate) use recording::Recording;
pub(crate) use said::{Said, finish, start};
pub(crate) use server::Server;

use std::time::{Duration, Instant};

/// Time limit of any wait, generous because machines may be busy with builds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is there.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a process of ours.
#[track_caller]
pub(crate) fn signal(pid: u32, name: &str) {
    let status = std::process::Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status();
    assert!(status.expect("run sh").success(), "could not send {name} to {pid}");
}
