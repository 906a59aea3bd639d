//! A frozen server: none of its processes runs, and its connections stay open.

use std::fs;
use std::process::Command;

use anyhow::Context as _;

use crate::Cluster;
use crate::installation::finish;

/// A frozen server, which continues when this is dropped.
pub struct Frozen {
    /// The server's first process, then those that it started.
    pids: Vec<u32>,
}

impl Cluster {
    /// Freezes every process of the server. Linux only: the processes are found in `/proc`.
    pub fn freeze(&self) -> anyhow::Result<Frozen> {
        let first = self.pid()?;
        // From here on the first process cannot start others, so the list below is complete.
        signal("STOP", &[first])?;
        let mut frozen = Frozen { pids: vec![first] };
        let children = children_of(first)?;
        for child in children {
            // The process may have ended meanwhile.
            if signal("STOP", &[child]).is_ok() {
                frozen.pids.push(child);
            }
        }
        Ok(frozen)
    }
}

impl Frozen {
    /// Lets the server continue.
    pub fn thaw(self) -> anyhow::Result<()> {
        signal("CONT", &self.pids)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // Does nothing after `thaw`.
        let _ = signal("CONT", &self.pids);
    }
}

fn signal(name: &str, pids: &[u32]) -> anyhow::Result<()> {
    let pids = pids.iter().map(u32::to_string);
    finish(Command::new("sh").args(["-c", "kill \"$@\"", "kill", &format!("-{name}")]).args(pids))
}

fn children_of(parent: u32) -> anyhow::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("cannot read /proc")?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Ok(pids.filter(|pid| parent_of(*pid) == Some(parent)).collect())
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process name before it is in parentheses and may contain anything, even a closing one.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
