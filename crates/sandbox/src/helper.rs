//! The helper inside a sandbox: limits itself, drops rights, and becomes the command.
//!
//! Limits set from outside would come too late; a process can set its own before it executes another program.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, wait};

use serde::{Deserialize, Serialize};

use crate::confinement::{self, Reach};
use crate::guard::BEGINS;
use crate::launch::SHELL;
use crate::limits::tasks_of_user;
use crate::pin::Pin;
use crate::self_test::SelfTest;
use crate::{CommandRequest, Directory, ResourceLimits, seccomp};

/// Prefix of the variables that carry the task. They are removed before the command begins.
const VARIABLE: &str = "FOREWORD_SANDBOX_TASK";
/// Most bytes of a variable; Linux allows 128 KiB.
const MAX_VARIABLE_BYTES: usize = 100_000;

/// The helper's instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    limits: ResourceLimits,
    network: Network,
    /// Directories whose paths must still lead to the same inodes.
    root: Directory,
    cwd: Directory,
    /// Mounts that must be in place.
    pins: Vec<Pin>,
    /// Paths that Landlock allows. `None` if the mounts already hide everything else.
    reach: Option<Reach>,
    work: Work,
}

/// Network available to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Network {
    /// A namespace with a loopback of its own.
    Own,
    /// No network.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Work {
    /// Run this shell command.
    Shell(String),
    /// Try to break out.
    SelfTest(SelfTest),
}

impl Task {
    pub(crate) fn shell(request: &CommandRequest, network: Network) -> Self {
        Self::new(request, network, Work::Shell(request.text.clone()))
    }

    pub(crate) fn self_test(request: &CommandRequest, network: Network, test: SelfTest) -> Self {
        Self::new(request, network, Work::SelfTest(test))
    }

    fn new(request: &CommandRequest, network: Network, work: Work) -> Self {
        let root = request.root.clone();
        let cwd = request.cwd.clone();
        Self { limits: request.limits, network, root, cwd, pins: Vec::new(), reach: None, work }
    }

    pub(crate) fn confined(&self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self.clone() }
    }

    pub(crate) fn mounted(&self, pins: Vec<Pin>) -> Self {
        Self { pins, ..self.clone() }
    }

    /// Encodes the task as environment variables. A single one could be too short for it.
    pub(crate) fn variables(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let text = serde_json::to_string(self)?;
        let mut variables = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let mut end = rest.len().min(MAX_VARIABLE_BYTES);
            // Each variable must be valid UTF-8 on its own: the parts are read back one by one, and half a character
            // would be replaced.
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (part, after) = rest.split_at(end);
            variables.push((variable_name(variables.len()), part.into()));
            rest = after;
        }
        Ok(variables)
    }
}

fn variable_name(index: usize) -> OsString {
    format!("{VARIABLE}_{index}").into()
}

/// Returns the task's variables in their order.
fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    (0..).map_while(|index| {
        let name = variable_name(index);
        std::env::var_os(&name).map(|value| (name, value))
    })
}

/// Offset of a signal number in an exit code.
const SIGNALLED: i32 = 128;

/// Runs a command as the first process of a PID namespace, which inherits all orphans. This process has the same
/// restrictions as the command, so acting through it gains nothing, and its end is the end of all others.
fn look_after(mut command: Command) -> io::Result<ExitCode> {
    // The pipe to the guard must not stay open, and `dup2` replaces the only descriptor of it.
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    let child = command.spawn()?.id();
    let code = loop {
        // Reaps orphans as well, which is the duty of a namespace's first process. Otherwise zombies would use up the
        // process limit.
        match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if id.as_raw_nonzero().get().unsigned_abs() == child => {
                break code_of(status);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn code_of(status: WaitStatus) -> i32 {
    let signalled = || status.terminating_signal().map(|signal| SIGNALLED + signal);
    status.exit_status().or_else(signalled).unwrap_or(i32::from(u8::MAX))
}

/// Exit code of a shell for a command that is missing or cannot be executed.
const NOT_RUN: u8 = 127;

/// Runs a helper to its end. An error before the command begins is written to the standard input, which is a pipe to the
/// guard.
pub(crate) fn run() -> ExitCode {
    let Ok(guard) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut guard = std::fs::File::from(guard);
    let prepared = task().and_then(|task| task.prepare().map(|()| task));
    let begun = prepared.and_then(|task| guard.write_all(BEGINS.as_bytes()).map(|()| task));
    let task = match begun {
        Ok(task) => task,
        Err(error) => {
            let _ = guard.write_all(error.to_string().as_bytes());
            return ExitCode::FAILURE;
        }
    };
    drop(guard);
    task.work().unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "{SHELL}: {error}");
        ExitCode::from(NOT_RUN)
    })
}

fn task() -> io::Result<Task> {
    let text: String = variables().map(|(_, part)| part.to_string_lossy().into_owned()).collect();
    if text.is_empty() {
        return Err(io::Error::other("the helper received no task"));
    }
    Ok(serde_json::from_str(&text)?)
}

impl Task {
    /// Drops everything that the command must not have.
    fn prepare(&self) -> io::Result<()> {
        // The order matters: checks need the rights that the later steps take away, and seccomp comes last because it may
        // forbid calls that the others use.
        if rustix::process::geteuid().is_root() {
            return Err(io::Error::other("commands do not run as root"));
        }
        self.root.open()?;
        self.cwd.open_at(Path::new("."))?;
        self.pins.iter().try_for_each(Pin::check)?;
        // A PID namespace counts its own processes only.
        let others = if self.reach.is_some() { tasks_of_user() } else { 0 };
        self.limits.apply(others)?;
        self.reach.as_ref().map_or(Ok(()), confinement::confine)?;
        seccomp::apply(self.network)
    }

    fn work(&self) -> io::Result<ExitCode> {
        match &self.work {
            Work::Shell(text) => {
                let mut command = Command::new(SHELL);
                // Removed from the shell's environment: they describe the sandbox, and variables of this size count
                // against the limit on the arguments of every program that the command starts.
                variables().for_each(|(name, _)| _ = command.env_remove(name));
                command.arg("-c").arg(text).stdin(Stdio::null());
                if getpid() == Pid::INIT { look_after(command) } else { Err(command.exec()) }
            }
            Work::SelfTest(test) => {
                serde_json::to_writer(io::stdout(), &test.breaches())?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}
