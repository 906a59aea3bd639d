//! The guard: starts the command, and ends everything below it when nobody holds its pipe any more.
//!
//! It has one thread: bubblewrap's `--die-with-parent` follows the thread that started it.

#[cfg(target_os = "linux")]
mod below;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitCode, Stdio};

use crate::guarded::Report;
use crate::launch::Launch;

#[cfg(target_os = "linux")]
use linux::guard;
#[cfg(not(target_os = "linux"))]
use other::guard;

/// What the helper says when the command is about to begin; anything else it says is why it does not.
pub(crate) const BEGINS: &str = "begins";

/// The whole life of a guard.
pub(crate) fn run() -> ExitCode {
    let report = match heard().and_then(|launch| guard(&launch)) {
        Ok(report) => report,
        Err(error) => Report::NotStarted(error.to_string()),
    };
    let line = serde_json::to_vec(&report).unwrap_or_default();
    // Nobody may be there to hear it.
    let _ = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
    ExitCode::SUCCESS
}

/// The one line that a guard is told. What follows it are signs of life.
fn heard() -> io::Result<Launch> {
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
fn start(launch: &Launch) -> io::Result<(Child, Option<io::PipeReader>)> {
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
    let mut said = None;
    if launch.says_when_it_begins {
        let (reader, writer): (_, PipeWriter) = io::pipe()?;
        said = Some(reader);
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
    Ok((child, said))
}

/// Why the command never began; none if it did. To be asked when nothing of it is left.
fn never_began(said: Option<io::PipeReader>) -> Option<String> {
    let mut text = String::new();
    said?.read_to_string(&mut text).ok()?;
    match text.strip_prefix(BEGINS) {
        Some("") => None,
        Some(why) => Some(why.to_owned()),
        None if text.is_empty() => Some("the sandbox could not be set up".to_owned()),
        None => Some(text),
    }
}
