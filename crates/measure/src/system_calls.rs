//! Counts the system calls of a piece of work, with strace.
//!
//! The work runs in a process of its own and says where it begins and ends by asking for files that do not exist:
//! a mark costs one call, and is found again in what strace wrote.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

/// Where marks would be, if they were files.
const MARKS: &str = "/foreword-mark/";

/// What a mark means between two pieces of work.
const NOTHING: &str = "nothing";

/// Says, in the process that is watched, that what follows belongs to `part`.
pub fn begin_part(part: &str) {
    let _ = std::fs::symlink_metadata(format!("{MARKS}{part}"));
}

/// Says that what follows belongs to nothing.
pub fn end_part() {
    begin_part(NOTHING);
}

/// Calls of one part of the work, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemCalls(BTreeMap<String, usize>);

impl SystemCalls {
    /// Whether there is a strace that may watch.
    pub fn can_be_counted() -> bool {
        Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status().is_ok_and(|it| it.success())
    }

    /// Runs a command and counts what it does between its marks, part by part.
    pub fn count(command: &mut Command) -> anyhow::Result<BTreeMap<String, SystemCalls>> {
        let directory = tempfile::tempdir()?;
        let log = directory.path().join("calls");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-s", "256", "-o"]).arg(&log).arg("--");
        strace.arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => strace.env(key, value),
                None => strace.env_remove(key),
            };
        }
        let output = strace.output().context("cannot start strace")?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "what strace watches failed: {said}");
        read(&log)
    }

    /// Calls of these names.
    pub fn of(&self, names: &[&str]) -> usize {
        names.iter().filter_map(|name| self.0.get(*name)).sum()
    }

    /// All calls that ask about a path or a file.
    pub fn stats(&self) -> usize {
        self.of(&["stat", "lstat", "fstat", "newfstatat", "statx"])
    }

    /// All calls that open something.
    pub fn opens(&self) -> usize {
        self.of(&["open", "openat", "openat2"])
    }

    /// All calls that read from a file.
    pub fn reads(&self) -> usize {
        self.of(&["read", "pread64", "readv", "getdents64", "mmap"])
    }

    pub fn total(&self) -> usize {
        self.0.values().sum()
    }
}

impl fmt::Display for SystemCalls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<String> = self.0.iter().map(|(name, count)| format!("{count} {name}")).collect();
        formatter.write_str(&calls.join(", "))
    }
}

fn read(log: &Path) -> anyhow::Result<BTreeMap<String, SystemCalls>> {
    let text = std::fs::read_to_string(log).context("strace wrote nothing")?;
    let mut parts: BTreeMap<String, SystemCalls> = BTreeMap::new();
    // The thread that set the last mark, and what for.
    let mut current: Option<(&str, &str)> = None;
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else { continue };
        let call = call.trim_start();
        if let Some((_, mark)) = call.split_once(MARKS) {
            let part = mark.split('"').next().unwrap_or(NOTHING);
            current = (part != NOTHING).then_some((thread, part));
            continue;
        }
        let Some((name, _)) = call.split_once('(') else { continue };
        if let Some((watched, part)) = current
            && watched == thread
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            *parts.entry(part.to_owned()).or_default().0.entry(name.to_owned()).or_default() += 1;
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_between_their_marks() -> anyhow::Result<()> {
        let directory = tempfile::tempdir()?;
        let log = directory.path().join("log");
        std::fs::write(
            &log,
            "7 read(3, \"\", 1) = 0\n\
             7 lstat(\"/foreword-mark/cold\", 0x7) = -1 ENOENT\n\
             7 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n\
             8 openat(AT_FDCWD, \"/b\", O_RDONLY) = 4\n\
             7 read(3, \"x\", 9) = 1\n\
             7 statx(AT_FDCWD, \"/foreword-mark/nothing\", 0) = -1 ENOENT\n\
             7 close(3) = 0\n",
        )?;
        let parts = read(&log)?;
        assert_eq!(parts.len(), 1);
        assert_eq!(parts["cold"].to_string(), "1 openat, 1 read");
        assert_eq!((parts["cold"].opens(), parts["cold"].reads(), parts["cold"].total()), (1, 1, 2));
        Ok(())
    }
}
