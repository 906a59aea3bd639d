//! Ends all processes below this one.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// Time that killed processes have to end. A process in an uninterruptible call takes longer.
const ENDING_TIME: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_micros(300);

/// Ends all processes below this one, and returns when they are gone.
pub(super) fn end_all() -> io::Result<()> {
    let begun = Instant::now();
    loop {
        loop {
            match wait(WaitOptions::NOHANG) {
                // No child is left, and every orphan below a child would be a child by now, because the guard is a subreaper.
                Err(Errno::CHILD) => return Ok(()),
                Err(Errno::INTR) | Ok(Some(_)) => {}
                Err(errno) => return Err(errno.into()),
                Ok(None) => break,
            }
        }
        let all = all();
        // All are stopped first, so that none starts another process in the meantime.
        for signal in [Signal::STOP, Signal::KILL] {
            for id in &all {
                // It may be gone already. Between the two signals no process below us reaps any other, so a number that was stopped
                // still belongs to the same process when it is killed.
                let _ = kill_process(*id, signal);
            }
        }
        if begun.elapsed() > ENDING_TIME {
            return Err(io::Error::other("what the command had started did not end when it was killed"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns all processes below this one.
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

/// Parses the parent in a line of `/proc/PID/stat`. The second field is a process name, which may contain anything.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_name_cannot_hide_the_parent() {
        assert_eq!(parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a) R 1 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parent(""), None);
    }
}
