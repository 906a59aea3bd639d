//! The guard: starts the command, and ends everything below it when nobody holds its pipe any more.
//!
//! It has one thread: bubblewrap's `--die-with-parent` follows the thread that started it.

#[cfg(target_os = "linux")]
mod below;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitCode, Stdio};

use crate::guarded::{Ended, Report};
use crate::launch::Launch;

#[cfg(target_os = "linux")]
use linux::guard;
#[cfg(not(target_os = "linux"))]
use other::guard;

/// What the helper says when the command is about to begin; anything else it says before is why it does not.
pub(crate) const BEGINS: &str = "begins";

/// Most bytes of a reason.
const MAX_SAID_BYTES: usize = 16 << 10;

/// The whole life of a guard.
pub(crate) fn run() -> ExitCode {
    let report = match read_launch().and_then(|launch| guard(&launch)) {
        Ok(report) => report,
        Err(error) => Report::NotStarted(error.to_string()),
    };
    let line = serde_json::to_vec(&report).unwrap_or_default();
    // Nobody may be there to hear it.
    let _ = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
    ExitCode::SUCCESS
}

/// The one line that a guard is told. What follows it are signs of life.
fn read_launch() -> io::Result<Launch> {
    let mut line = Vec::new();
    let mut input = io::stdin().lock();
    let read = io::BufRead::read_until(&mut input, b'\n', &mut line)?;
    if read == 0 || line.last() != Some(&b'\n') {
        return Err(io::Error::other("nobody said what to run"));
    }
    Ok(serde_json::from_slice(&line)?)
}

/// Starts the program, with its output to our standard error. Where it says when the command begins, it says so on its
/// standard input, which the command does not get.
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
    // So that a signal for the command's group is none for its guard.
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

/// What the helper says before the command begins.
///
/// Once it has begun nobody listens any more: a process of the command's own namespace may still hold the other end, and
/// what comes from there then would be the command's words.
#[derive(Default)]
struct Beginning {
    /// Open as long as something may come.
    pipe: Option<PipeReader>,
    said: Vec<u8>,
}

impl Beginning {
    /// Where it can be waited for more; none when there is nothing more to wait for.
    #[cfg(target_os = "linux")]
    fn pipe(&self) -> Option<&PipeReader> {
        self.pipe.as_ref()
    }

    /// Reads what has come. Blocks if nothing has.
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

    /// What is told of a command that ended like this. To be asked when nothing of it is left.
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
