//! The helper inside: limits itself, gives up what a command must not have, and becomes the command.
//!
//! Limits set from outside would come too late; a process can set its own before it becomes another.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use crate::confinement::{self, Reach};
use crate::guard::BEGINS;
use crate::launch::SHELL;
use crate::limits::tasks_of_user;
use crate::self_test::SelfTest;
use crate::{Directory, Limits, Request, seccomp};

/// Tells the helper what to do. Removed before the command begins.
const VARIABLE: &str = "FOREWORD_SANDBOX_TASK";

/// What the helper is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    limits: Limits,
    network: Network,
    /// What must be where the paths say.
    root: Directory,
    cwd: Directory,
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
    pub(crate) fn shell(request: &Request, network: Network) -> Self {
        Self::new(request, network, Work::Shell(request.text.clone()))
    }

    pub(crate) fn self_test(request: &Request, network: Network, test: SelfTest) -> Self {
        Self::new(request, network, Work::SelfTest(test))
    }

    fn new(request: &Request, network: Network, work: Work) -> Self {
        let (root, cwd) = (request.root.clone(), request.cwd.clone());
        Self { limits: request.limits, network, root, cwd, reach: None, work }
    }

    pub(crate) fn confined(&self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self.clone() }
    }

    pub(crate) fn variable(&self) -> io::Result<(OsString, OsString)> {
        Ok((VARIABLE.into(), serde_json::to_string(self)?.into()))
    }
}

/// The whole life of a helper. What goes wrong is said on the standard input, where the guard listens.
pub(crate) fn run() -> ExitCode {
    let Ok(guard) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut guard = std::fs::File::from(guard);
    let done = task().and_then(|task| task.prepare().map(|()| task)).and_then(|task| {
        guard.write_all(BEGINS.as_bytes())?;
        task.work()
    });
    match done {
        Ok(exit) => exit,
        Err(error) => {
            let _ = guard.write_all(error.to_string().as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn task() -> io::Result<Task> {
    let text = std::env::var(VARIABLE).map_err(|_| io::Error::other("nobody said what to run inside"))?;
    Ok(serde_json::from_str(&text)?)
}

impl Task {
    /// Takes from this process what the command must not have.
    fn prepare(&self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            return Err(io::Error::other("commands do not run as root"));
        }
        self.root.open()?;
        let here =
            Directory::of(&self.cwd.path(), rustix::fs::open(".", open_flags(), rustix::fs::Mode::empty())?)?;
        if here != self.cwd {
            let path = self.cwd.path();
            return Err(io::Error::other(format!("{} is not the directory that it was", path.display())));
        }
        // A namespace of its own counts from nothing.
        let others = if self.reach.is_some() { tasks_of_user() } else { 0 };
        self.limits.apply(others)?;
        self.reach.as_ref().map_or(Ok(()), confinement::confine)?;
        seccomp::apply(self.network)
    }

    fn work(&self) -> io::Result<ExitCode> {
        match &self.work {
            Work::Shell(text) => {
                Err(Command::new(SHELL).arg("-c").arg(text).env_remove(VARIABLE).stdin(Stdio::null()).exec())
            }
            Work::SelfTest(test) => {
                serde_json::to_writer(io::stdout(), &test.breaches())?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn open_flags() -> rustix::fs::OFlags {
    rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC
}
