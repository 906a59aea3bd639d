//! Shells that run a page's blocks, and their output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, eventually};

/// Printed by the shell after every block, with its exit code.
const DONE: &str = "[the block is done] ";

/// The shell in which the blocks of a page run one after another.
pub(super) struct Terminal {
    shell: Child,
    lines: Receiver<String>,
    /// File that a block is written to before it runs.
    script: PathBuf,
}

impl Terminal {
    pub(super) fn open(mut command: Command, scripts: &Path) -> Self {
        // The reader's own startup files are skipped: an alias or prompt there would change what a page
        // prints.
        command.args(["--noprofile", "--norc"]).stdin(Stdio::piped());
        let (mut shell, lines) = start(command);
        let stdin = shell.stdin.as_mut().expect("standard input");
        writeln!(stdin, "set -eo pipefail").expect("talk to the shell");
        Self { shell, lines, script: scripts.join("block.sh") }
    }

    /// Runs a block and returns its exit code and both outputs in order.
    pub(super) fn run(&mut self, block: &str) -> (i32, String) {
        std::fs::write(&self.script, block).expect("write a script");
        // As a condition the block would not stop where a command fails, so a subshell cannot be used; the shell itself ends.
        let run = format!(". '{}' </dev/null\necho \"{DONE}$?\"", self.script.display());
        self.say(&run)
    }

    /// Runs a block whose last command may fail.
    pub(super) fn run_to_failure(&mut self, block: &str) -> (i32, String) {
        std::fs::write(&self.script, block).expect("write a script");
        let script = self.script.display();
        // The failing command must not end the shell, which later blocks of the page still need.
        self.say(&format!("set +e\n. '{script}' </dev/null\necho \"{DONE}$?\"\nset -e"))
    }

    fn say(&mut self, line: &str) -> (i32, String) {
        let stdin = self.shell.stdin.as_mut().expect("standard input");
        // A shell that has exited is reported below.
        let _ = writeln!(stdin, "{line}");
        let begun = Instant::now();
        let mut said = String::new();
        loop {
            match self.lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) => match line.split_once(DONE) {
                    Some((before, code)) => {
                        said.push_str(before);
                        return (code.trim().parse().expect("an exit code"), said);
                    }
                    None => said.push_str(&line),
                },
                Err(RecvTimeoutError::Timeout) => panic!("a block does not end; so far it said:\n{said}"),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.shell.wait().expect("wait for the shell");
                    return (status.code().unwrap_or(-1), said);
                }
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// A terminal in which one thing runs until it gets Ctrl-C.
pub(super) struct Busy {
    shell: Child,
    lines: Receiver<String>,
    said: String,
}

impl Busy {
    pub(super) fn start(mut command: Command, block: &str) -> Self {
        command.args(["--noprofile", "--norc", "-e", "-c", block]).stdin(Stdio::null());
        let (shell, lines) = start(command);
        Self { shell, lines, said: String::new() }
    }

    /// Returns the output so far.
    pub(super) fn said(&mut self) -> &str {
        self.said.extend(self.lines.try_iter());
        &self.said
    }

    pub(super) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.shell.try_wait().expect("look after the shell")
    }

    /// Ctrl-C, which reaches everything that runs in the terminal.
    pub(super) fn interrupt(&mut self) -> ExitStatus {
        assert!(signal_group(&self.shell), "could not interrupt {}", self.shell.id());
        let shell = &mut self.shell;
        // A gateway finishes accepted requests before it ends, so the end may take a moment.
        let status = eventually("Ctrl-C to end it", || shell.try_wait().expect("wait for the shell"));
        // Read the rest of the output.
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(1)) {
            self.said.push_str(&line);
        }
        status
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if self.has_ended().is_none() {
            signal_group(&self.shell);
            let _ = self.shell.wait();
        }
    }
}

/// A group is a negative number to `kill`; not every `sh` takes one.
fn signal_group(shell: &Child) -> bool {
    let kill = format!("kill -INT -- -{}", shell.id());
    Command::new("bash").args(["-c", &kill]).status().is_ok_and(|status| status.success())
}

/// Starts a shell whose outputs are one, in a group of its own, as a terminal does.
fn start(mut command: Command) -> (Child, Receiver<String>) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    command.stdout(writer.try_clone().expect("a pipe")).stderr(writer).process_group(0);
    let shell = command.spawn().expect("start bash");
    // It holds the ends that the shell writes to; while it lives the pipe does not end.
    drop(command);
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        loop {
            let mut line = Vec::new();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {
                    if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                        break;
                    }
                }
            }
        }
    });
    (shell, lines)
}
