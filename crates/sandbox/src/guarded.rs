//! A command that runs, as the gateway has it: a pipe that keeps it alive, its output, and how it ended.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::launch::Launch;
use crate::program::GUARD;
use crate::{CommandRequest, Program};

/// How long a guard whose pipe was closed is waited for where nobody else can wait. It takes a few milliseconds, unless
/// the machine is very busy; what is left then is left to a thread.
const ENDING_TIME: Duration = Duration::from_secs(2);

/// A command that runs. Dropping it ends the command and everything it has started.
#[derive(Debug)]
pub struct Guarded {
    /// The guard lives as long as this is open.
    hold: Option<PipeWriter>,
    /// What the guard says at the end; closed when it is gone.
    report: PipeReader,
    guard: Option<Child>,
}

/// What a guard says at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The command ran, and this is how it ended.
    Ended(Ended),
    /// The command was never run, because of this. What bubblewrap says about it is in the output.
    NotStarted(String),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself, with this status. An isolated command that a signal ended has 128 and the signal's number.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// By its guard, because its time was over.
    TimedOut,
    /// By its guard, because nobody held it any more.
    Released,
}

/// Why a command cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What is asked for contradicts itself.
    #[error("{0}")]
    Contradiction(String),
    /// The system refused.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Guarded {
    /// Starts a command, and returns the pipe that its output comes from. Blocks until the guard has heard what to do.
    pub fn start(program: &Program, request: &CommandRequest) -> Result<(Self, PipeReader), StartError> {
        if let Some(contradiction) = request.contradiction() {
            return Err(StartError::Contradiction(contradiction));
        }
        Ok(Self::start_launch(program, &Launch::of(request)?)?)
    }

    pub(crate) fn start_launch(program: &Program, launch: &Launch) -> io::Result<(Self, PipeReader)> {
        let (told, mut hold) = io::pipe()?;
        let (report, says) = io::pipe()?;
        let (output, prints) = io::pipe()?;
        let guard = Command::new(program.path())
            .arg(GUARD)
            .env_clear()
            .current_dir("/")
            .stdin(told)
            .stdout(says)
            .stderr(prints)
            .spawn()?;
        let mut line = serde_json::to_vec(launch)?;
        line.push(b'\n');
        let mut guarded = Self { hold: None, report, guard: Some(guard) };
        let written = hold.write_all(&line);
        guarded.hold = Some(hold);
        written?;
        Ok((guarded, output))
    }

    /// Tells the guard that somebody is there. To be called every [`HEARTBEAT`](crate::HEARTBEAT).
    pub fn keep_alive(&self) {
        // A guard that is gone has said why, or is about to be missed.
        let _ = self.hold.as_ref().map(|mut hold| hold.write_all(b"."));
    }

    /// Lets go of the command: the guard ends it and everything it has started.
    pub fn release(&mut self) {
        self.hold = None;
    }

    /// The pipe with the guard's report, for somebody who waits for its end without blocking; its bytes are for
    /// [`Guarded::finish`].
    pub fn report(&self) -> io::Result<PipeReader> {
        self.report.try_clone()
    }

    /// What the guard said, once its report has ended. Nothing of the command is left then.
    pub fn finish(mut self, report: &[u8]) -> io::Result<Report> {
        self.hold = None;
        if let Some(mut guard) = self.guard.take() {
            guard.wait()?;
        }
        serde_json::from_slice(report).map_err(|_| io::Error::other("the command's guard died"))
    }

    /// Waits for the end. Blocks.
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
        // Whoever drops a command that runs may believe that it has ended: cancelled means gone.
        let ended = PollFlags::HUP | PollFlags::IN;
        let time = Timespec::try_from(ENDING_TIME).ok();
        let _ = poll(&mut [PollFd::new(&self.report, ended)], time.as_ref());
        if !matches!(guard.try_wait(), Ok(Some(_))) {
            std::thread::spawn(move || guard.wait());
        }
    }
}
