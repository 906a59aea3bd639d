//! The guard: starts a command, and ends all its processes once the gateway's end of the pipe is closed.
//!
//! It is single-threaded, because bubblewrap's `--die-with-parent` refers to the thread that started it.

#[cfg(target_os = "linux")]
mod below;
mod held_file;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitCode, Stdio};

use crate::guard::held_file::HeldFile;
pub use crate::guard::held_file::when_released;
use crate::guarded::{Ended, Report};
use crate::launch::Launch;

#[cfg(target_os = "linux")]
use linux::guard;
#[cfg(not(target_os = "linux"))]
use other::guard;

/// Message of the helper right before the command begins. Anything else it writes earlier is an error message.
pub(crate) const BEGINS: &str = "begins";

/// Most bytes of an error message.
const MAX_SAID_BYTES: usize = 16 << 10;

/// Runs a guard to its end.
pub(crate) fn run() -> ExitCode {
    let report = match read_launch().and_then(|launch| guard_holding(&launch)) {
        Ok(report) => report,
        Err(error) => Report::NotStarted(error.to_string()),
    };
    let line = serde_json::to_vec(&report).unwrap_or_default();
    // The gateway may be gone already.
    let _ = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
    ExitCode::SUCCESS
}

fn guard_holding(launch: &Launch) -> io::Result<Report> {
    // Locked before the command starts, so that there is no moment at which it runs and its file looks released.
    let held = launch.held.as_deref().map(HeldFile::lock).transpose()?;
    let report = guard(launch);
    held.into_iter().for_each(HeldFile::release);
    report
}

/// Reads the launch, which is a single line. All further input consists of heartbeats.
fn read_launch() -> io::Result<Launch> {
    let mut line = Vec::new();
    let mut input = io::stdin().lock();
    let read = io::BufRead::read_until(&mut input, b'\n', &mut line)?;
    if read == 0 || line.last() != Some(&b'\n') {
        return Err(io::Error::other("the guard received no command"));
    }
    Ok(serde_json::from_slice(&line)?)
}

/// Starts the program with its output on the guard's standard error. If the program is a helper, its standard input is the
/// pipe on which it reports the beginning; the command itself does not inherit it.
fn start(launch: &Launch) -> io::Result<(Child, Beginning)> {
    let output = || io::stderr().as_fd().try_clone_to_owned();
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .env_clear()
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.directory)
        .stdout(output()?)
        .stderr(output()?);
    // A group of its own, so that a signal sent to the command's group does not hit the guard.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut beginning = Beginning::default();
    if launch.says_when_it_begins {
        let (reader, writer): (_, PipeWriter) = io::pipe()?;
        beginning.pipe = Some(reader);
        command.stdin(writer);
    } else {
        command.stdin(Stdio::null());
    }
    let shown = std::path::Path::new(&launch.program).display();
    // A missing program and a missing working directory give the same error, so they are distinguished here.
    let child = command.spawn().map_err(|error| {
        let missing = std::path::Path::new(&launch.directory);
        if missing.is_dir() {
            io::Error::new(error.kind(), format!("{shown}: {error}"))
        } else {
            io::Error::new(error.kind(), format!("{}: {error}", missing.display()))
        }
    })?;
    Ok((child, beginning))
}

/// Messages of the helper before the command begins.
///
/// The pipe is closed as soon as the command begins. A process in the command's namespace may still hold the other end, so
/// later messages could be forged by the command.
#[derive(Default)]
struct Beginning {
    /// `None` once nothing more is expected.
    pipe: Option<PipeReader>,
    said: Vec<u8>,
}

impl Beginning {
    /// Returns the pipe to poll. `None` once nothing more is expected.
    #[cfg(target_os = "linux")]
    fn pipe(&self) -> Option<&PipeReader> {
        self.pipe.as_ref()
    }

    /// Reads available bytes, or blocks until some arrive.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut buffer = [0; 1024];
        let length = match pipe.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            read => read?,
        };
        self.said.extend_from_slice(&buffer[..length]);
        if length == 0 || self.has_begun() || self.said.len() > MAX_SAID_BYTES {
            self.pipe = None;
        }
        Ok(())
    }

    fn has_begun(&self) -> bool {
        self.said.starts_with(BEGINS.as_bytes())
    }

    /// Returns the report for a command that ended. Must be called after all its processes are gone, because it reads the pipe
    /// to its end.
    fn report(mut self, ended: Ended, launch: &Launch) -> io::Result<Report> {
        while self.pipe.is_some() {
            self.read()?;
        }
        let is_ours = matches!(ended, Ended::TimedOut | Ended::Released);
        if !launch.says_when_it_begins || self.has_begun() || is_ours {
            return Ok(Report::Ended(ended));
        }
        let why = String::from_utf8_lossy(&self.said).into_owned();
        let unknown = || "the sandbox could not be set up".to_owned();
        Ok(Report::NotStarted(if why.is_empty() { unknown() } else { why }))
    }
}
