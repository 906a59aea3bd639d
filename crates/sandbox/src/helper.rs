//! The helper inside: limits itself, gives up what a command must not have, and becomes the command.
//!
//! Limits set from outside would come too late; a process can set its own before it becomes another.

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

/// Tells the helper what to do, in as many variables as that takes. Removed before the command begins.
const VARIABLE: &str = "FOREWORD_SANDBOX_TASK";
/// Most bytes of a variable; the system takes 128 KiB.
const MAX_VARIABLE_BYTES: usize = 100_000;

/// What the helper is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    limits: ResourceLimits,
    network: Network,
    /// What must be where the paths say.
    root: Directory,
    cwd: Directory,
    /// What must have been mounted where it was looked at.
    pins: Vec<Pin>,
    /// What Landlock allows; none where there is nothing else to be seen.
    reach: Option<Reach>,
    work: Work,
}

/// Which network there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Network {
    /// One of its own, with nobody else in it.
    Own,
    /// None that it may use.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Work {
    /// Become this command.
    Shell(String),
    /// Try to get out.
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
        let (root, cwd) = (request.root.clone(), request.cwd.clone());
        Self { limits: request.limits, network, root, cwd, pins: Vec::new(), reach: None, work }
    }

    pub(crate) fn confined(&self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self.clone() }
    }

    pub(crate) fn mounted(&self, pins: Vec<Pin>) -> Self {
        Self { pins, ..self.clone() }
    }

    /// The task as variables of an environment: one may not be as long as a task can become.
    pub(crate) fn variables(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let text = serde_json::to_string(self)?;
        let mut variables = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let mut end = rest.len().min(MAX_VARIABLE_BYTES);
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

/// The values of a task's variables, in their order.
fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    (0..).map_while(|index| {
        let name = variable_name(index);
        std::env::var_os(&name).map(|value| (name, value))
    })
}

/// How the end by a signal is told as an exit code.
const SIGNALLED: i32 = 128;

/// Runs a command as the first process of a namespace, which everybody who loses their parent becomes a child of. It is
/// held as the command is, so acting through it gains nothing, and everything ends with it.
fn look_after(mut command: Command) -> io::Result<ExitCode> {
    // Whoever holds the other end waits for nothing more.
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    let child = command.spawn()?.id();
    let code = loop {
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

/// What a shell answers for a command that is not there or cannot be run.
const NOT_RUN: u8 = 127;

/// The whole life of a helper. Why a command cannot begin is said on the standard input, where the guard listens; from then
/// on nobody does.
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
        return Err(io::Error::other("nobody said what to run inside"));
    }
    Ok(serde_json::from_str(&text)?)
}

impl Task {
    /// Takes from this process what the command must not have.
    fn prepare(&self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            return Err(io::Error::other("commands do not run as root"));
        }
        self.root.open()?;
        self.cwd.open_at(Path::new("."))?;
        self.pins.iter().try_for_each(Pin::check)?;
        // A namespace of its own counts from nothing.
        let others = if self.reach.is_some() { tasks_of_user() } else { 0 };
        self.limits.apply(others)?;
        self.reach.as_ref().map_or(Ok(()), confinement::confine)?;
        seccomp::apply(self.network)
    }

    fn work(&self) -> io::Result<ExitCode> {
        match &self.work {
            Work::Shell(text) => {
                let mut command = Command::new(SHELL);
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
