//! The program that a guard starts for a [`CommandRequest`](crate::CommandRequest).

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use protocol::SandboxLevel;
use serde::{Deserialize, Serialize};

use crate::CommandRequest;

/// Instructions for a guard, sent as a line of JSON because process arguments are public.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) directory: OsString,
    /// True if the program reports on its standard input when the command begins.
    pub(crate) says_when_it_begins: bool,
    /// Time limit.
    pub(crate) time: Duration,
    /// File that the guard locks until no process of the command is left, and in which it then writes the time.
    pub(crate) held: Option<OsString>,
}

/// The shell that runs commands.
pub(crate) const SHELL: &str = "/bin/sh";

impl Launch {
    pub(crate) fn of(request: &CommandRequest) -> io::Result<Self> {
        match request.level {
            SandboxLevel::Off => Ok(Self::plain(request)),
            #[cfg(target_os = "linux")]
            SandboxLevel::Isolated => crate::bubblewrap::launch(request),
            #[cfg(target_os = "linux")]
            SandboxLevel::Confined => crate::confinement::launch(request),
            #[cfg(target_os = "macos")]
            SandboxLevel::Confined => Ok(crate::macos::launch(request)),
            #[cfg(not(target_os = "linux"))]
            _ => Err(io::Error::other(format!("this system has no level `{}`", request.level.name()))),
        }
    }

    fn plain(request: &CommandRequest) -> Self {
        let mut environment = request.environment.clone();
        environment.push(("TMPDIR".into(), request.temporary.clone().into()));
        Self {
            program: SHELL.into(),
            arguments: vec!["-c".into(), request.text.clone().into()],
            environment,
            directory: request.cwd.path().into(),
            says_when_it_begins: false,
            time: request.limits.time,
            held: None,
        }
    }
}
