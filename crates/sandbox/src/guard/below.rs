//! Everything below this process, and its end.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// How long the system may take to end what was killed: a process in a call that cannot be interrupted is not.
const ENDING_TIME: Duration = Duration::from_secs(5);
/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_micros(300);

/// Ends all processes below this one, and returns when they are gone.
pub(super) fn end_all() -> io::Result<()> {
    let begun = Instant::now();
    loop {
        loop {
            match wait(WaitOptions::NOHANG) {
                // No child is left, and whatever was below a child would be one by now.
                Err(Errno::CHILD) => return Ok(()),
                Err(Errno::INTR) | Ok(Some(_)) => {}
                Err(errno) => return Err(errno.into()),
                Ok(None) => break,
            }
        }
        let all = all();
        // Stopped first, so that nothing starts another one while it is being ended.
        for signal in [Signal::STOP, Signal::KILL] {
            for id in &all {
                // It may be gone already. Between the two signals nobody below us reaps anything, so a number that was
                // one of ours when it was stopped still is when it is killed.
                let _ = kill_process(*id, signal);
            }
        }
        if begun.elapsed() > ENDING_TIME {
            return Err(io::Error::other("what the command had started did not end when it was killed"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// All processes below this one, as the system lists them now.
fn all() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![getpid().as_raw_nonzero().get()];
    while let Some(id) = next.pop() {
        let own = children.remove(&id).unwrap_or_default();
        found.extend(own.iter().filter_map(|id| Pid::from_raw(*id)));
        next.extend(own);
    }
    found
}

/// The parent in a line of `/proc/PID/stat`, whose second field is a name in which anything may stand.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_hide_a_parent() {
        assert_eq!(parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a) R 1 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parent(""), None);
    }
}
