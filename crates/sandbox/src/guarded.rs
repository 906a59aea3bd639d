//! A running command as the gateway sees it: the pipe that keeps it alive, its output, and its result.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::launch::Launch;
use crate::program::GUARD;
use crate::{CommandRequest, Program};

/// Longest wait for a guard in `drop`. It takes a few milliseconds unless the machine is very busy; after that, a thread
/// takes over.
const ENDING_TIME: Duration = Duration::from_secs(2);

/// A running command. Dropping it ends the command with all its processes.
#[derive(Debug)]
pub struct Guarded {
    /// The guard exits once this is closed.
    hold: Option<PipeWriter>,
    /// Pipe with the guard's report, closed when the guard exits.
    report: PipeReader,
    guard: Option<Child>,
}

/// Final report of a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The command ran and ended.
    Ended(Ended),
    /// The command was not started, for the given reason. Bubblewrap's own message is in the output.
    NotStarted(String),
}

/// End of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The command exited with this status. For an isolated command ended by a signal it is 128 plus the signal number.
    Exited(i32),
    /// The command was ended by a signal.
    Signalled(i32),
    /// The guard ended the command because its time was over.
    TimedOut,
    /// The guard ended the command because the gateway released it or stopped responding.
    Released,
}

/// Error starting a command.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The request contradicts itself.
    #[error("{0}")]
    Contradiction(String),
    /// Error of the operating system.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Guarded {
    /// Starts a command, and returns it with the pipe of its output. Blocks until the guard has received the request.
    pub fn start(program: &Program, request: &CommandRequest) -> Result<(Self, PipeReader), StartError> {
        Self::start_holding(program, request, None)
    }

    /// Like [`Guarded::start`]. The guard locks the file `held` until no process of the command is left, even if the gateway is
    /// killed, and then appends the time for [`when_released`](crate::when_released).
    pub fn start_holding(
        program: &Program,
        request: &CommandRequest,
        held: Option<&Path>,
    ) -> Result<(Self, PipeReader), StartError> {
        if let Some(contradiction) = request.contradiction() {
            return Err(StartError::Contradiction(contradiction));
        }
        let mut launch = Launch::of(request)?;
        launch.held = held.map(Into::into);
        Ok(Self::start_launch(program, &launch)?)
    }

    pub(crate) fn start_launch(program: &Program, launch: &Launch) -> io::Result<(Self, PipeReader)> {
        let (told, mut hold) = io::pipe()?;
        let (report, says) = io::pipe()?;
        let (output, prints) = io::pipe()?;
        let guard = Command::new(program.path())
            .arg(GUARD)
            // The guard gets no variables of the gateway, which may contain keys. The command's own environment is part
            // of the launch.
            .env_clear()
            .current_dir("/")
            .stdin(told)
            .stdout(says)
            .stderr(prints)
            .spawn()?;
        let mut line = serde_json::to_vec(launch)?;
        line.push(b'\n');
        let mut guarded = Self { hold: None, report, guard: Some(guard) };
        // Written while `guarded` exists: if this fails, its drop closes the pipe and waits for the guard.
        let written = hold.write_all(&line);
        guarded.hold = Some(hold);
        written?;
        Ok((guarded, output))
    }

    /// Sends a heartbeat to the guard. Must be called every [`HEARTBEAT`](crate::HEARTBEAT).
    pub fn keep_alive(&self) {
        // The guard may have exited already. Its report or the missing one shows why.
        let _ = self.hold.as_ref().map(|mut hold| hold.write_all(b"."));
    }

    /// Releases the command: the guard ends it with all its processes.
    pub fn release(&mut self) {
        self.hold = None;
    }

    /// Returns the pipe with the guard's report, for callers that wait without blocking. The bytes read from it belong to
    /// [`Guarded::finish`].
    pub fn report(&self) -> io::Result<PipeReader> {
        self.report.try_clone()
    }

    /// Decodes the guard's report after its end. No process of the command is left then.
    pub fn finish(mut self, report: &[u8]) -> io::Result<Report> {
        self.hold = None;
        if let Some(mut guard) = self.guard.take() {
            guard.wait()?;
        }
        serde_json::from_slice(report).map_err(|_| io::Error::other("the command's guard died"))
    }

    /// Blocks until the command ends.
    pub fn wait(self) -> io::Result<Report> {
        let mut said = Vec::new();
        self.report()?.read_to_end(&mut said)?;
        self.finish(&said)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.hold = None;
        let Some(mut guard) = self.guard.take() else { return };
        // Callers rely on a dropped command being gone, so this waits for the guard, although briefly.
        let ended = PollFlags::HUP | PollFlags::IN;
        let time = Timespec::try_from(ENDING_TIME).ok();
        let _ = poll(&mut [PollFd::new(&self.report, ended)], time.as_ref());
        if !matches!(guard.try_wait(), Ok(Some(_))) {
            std::thread::spawn(move || guard.wait());
        }
    }
}
