//! Counts system calls with strace.
//!
//! The work runs in its own process and marks its parts by asking for files that do not exist. A mark costs one call and is easily
//! found in strace's output.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

/// Prefix of the marks' paths.
const MARKS: &str = "/foreword-mark/";

/// Mark between two parts.
const NOTHING: &str = "nothing";

/// Marks the beginning of a part in the traced process.
pub fn begin_part(part: &str) {
    let _ = std::fs::symlink_metadata(format!("{MARKS}{part}"));
}

/// Marks the end of a part.
pub fn end_part() {
    begin_part(NOTHING);
}

/// Calls of one part by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemCalls(BTreeMap<String, usize>);

impl SystemCalls {
    /// Returns true if strace is installed and permitted.
    pub fn can_be_counted() -> bool {
        Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status().is_ok_and(|it| it.success())
    }

    /// Runs a command and counts its calls for each part.
    pub fn count(command: &mut Command) -> anyhow::Result<BTreeMap<String, SystemCalls>> {
        let directory = tempfile::tempdir()?;
        let log = directory.path().join("calls");
        let mut strace = Command::new("strace");
        // `-f` also follows the threads of a runtime and puts the thread's number in front of every line. The reader
        // needs that number to separate the measured thread from the others.
        strace.args(["-f", "-qq", "-s", "256", "-o"]).arg(&log).arg("--");
        strace.arg(command.get_program()).args(command.get_args());
        // A `Command` cannot be wrapped into another one, so its changes to the environment are copied, removals
        // included.
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => strace.env(key, value),
                None => strace.env_remove(key),
            };
        }
        let output = strace.output().context("failed to start strace")?;
        let printed = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "the traced command failed: {printed}");
        read(&log)
    }

    /// Returns the number of calls with these names.
    pub fn of(&self, names: &[&str]) -> usize {
        names.iter().filter_map(|name| self.0.get(*name)).sum()
    }

    /// Returns the number of calls that query a path or file.
    pub fn stats(&self) -> usize {
        self.of(&["stat", "lstat", "fstat", "newfstatat", "statx"])
    }

    /// Returns the number of calls that open a file.
    pub fn opens(&self) -> usize {
        self.of(&["open", "openat", "openat2"])
    }

    /// Returns the number of calls that read from a file.
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
    // The thread that set the last mark, and its part. Other threads, such as those of a runtime, are not counted.
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
            // strace also prints lines such as `<... read resumed>` and `+++ exited with 0 +++`. Only a plain name
            // before the parenthesis begins a new call; counting resumed ones would count such a call twice.
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
    fn calls_are_counted_between_marks() -> anyhow::Result<()> {
        let directory = tempfile::tempdir()?;
        let log = directory.path().join("log");
        std::fs::write(
            &log,
            // The log has a call before the first mark, a call of another thread and a call after the last mark; none
            // of the three belongs to the part.
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
