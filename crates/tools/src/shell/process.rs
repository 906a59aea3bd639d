//! Runs a command as a group of processes that ends as a whole.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::capture::Capture;
use super::sandbox::{Confinement, Reach};
use super::{ShellSettings, environment};
use crate::{FileError, ToolContext};

/// How long output is waited for when the command is over: what escaped its group may keep the pipe open.
const GRACE: Duration = Duration::from_millis(300);

/// What became of a command.
pub(super) struct Outcome {
    pub(super) captured: Capture,
    pub(super) ended: Ended,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Exited(i32),
    Signalled(i32),
    TimedOut,
}

/// Runs a command. Dropping the future ends it and everything in its group.
pub(super) async fn run(
    context: &ToolContext,
    settings: &ShellSettings,
    confinement: Confinement,
    text: &str,
    timeout: Duration,
) -> Result<Outcome, FileError> {
    let deadline = Instant::now() + timeout;
    let (context_, settings_, text) = (context.clone(), settings.clone(), text.to_owned());
    let runtime = tokio::runtime::Handle::current();
    let started = tokio::task::spawn_blocking(move || {
        let _inside = runtime.enter();
        start(&context_, &settings_, confinement, &text)
    });
    let (mut group, mut output) = started.await.map_err(|_| FileError::Cancelled)??;
    let mut captured = Capture::new(context.limits().output_chars);
    let mut buffer = vec![0; crate::content::BLOCK];
    let mut open = true;
    let ended = {
        let over = group.wait();
        tokio::pin!(over);
        loop {
            tokio::select! {
                read = output.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(length) => captured.push(&buffer[..length]),
                },
                status = &mut over => break of_status(status.map_err(FileError::NotRun)?),
                () = tokio::time::sleep_until(deadline) => break Ended::TimedOut,
            }
        }
    };
    group.end();
    let rest = async {
        while let Ok(length) = output.read(&mut buffer).await
            && length > 0
        {
            captured.push(&buffer[..length]);
        }
    };
    if open {
        let _ = tokio::time::timeout(GRACE, rest).await;
    }
    Ok(Outcome { captured, ended })
}

fn of_status(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Signalled(signal.unwrap_or(0)),
    }
}

fn start(
    context: &ToolContext,
    settings: &ShellSettings,
    confinement: Confinement,
    text: &str,
) -> Result<(Group, pipe::Receiver), FileError> {
    let failed = FileError::NotRun;
    let cwd = context.find(context.cwd())?.open_directory()?;
    let temporary = tempfile::Builder::new().prefix("foreword-").tempdir().map_err(failed)?;
    let (reader, writer) = io::pipe().map_err(failed)?;
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(text)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer)
        .process_group(0)
        .current_dir(directory_path(&cwd, context));
    environment::apply(&mut command, settings, confinement, temporary.path());
    let reach = Reach {
        root: context.whole()?.open_directory()?,
        temporary: temporary.path().to_owned(),
        readable: settings.readable.clone(),
        writable: settings.writable.clone(),
    };
    let child = confinement.start(command, &reach).map_err(failed)?;
    let group = Group::new(child, temporary);
    Ok((group, pipe::Receiver::from_owned_fd(reader.into()).map_err(failed)?))
}

/// A path to a directory that was opened, whatever has become of its name.
#[cfg(target_os = "linux")]
fn directory_path(directory: &std::os::fd::OwnedFd, _: &ToolContext) -> std::path::PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", directory.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
fn directory_path(_: &std::os::fd::OwnedFd, context: &ToolContext) -> std::path::PathBuf {
    context.real_cwd().to_owned()
}

/// A command and everything it has started, unless that left the group.
struct Group {
    child: Child,
    leader: Option<Pid>,
    /// Removed when the group has ended.
    _temporary: tempfile::TempDir,
}

impl Group {
    fn new(child: Child, temporary: tempfile::TempDir) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { child, leader, _temporary: temporary }
    }

    /// Waits until the command itself is over, and ends what it left in its group.
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        // While the leader is not reaped, its number cannot belong to another group.
        self.exited().await;
        self.end();
        self.child.wait().await
    }

    /// Waits until the leader is over, and leaves it to be reaped.
    async fn exited(&self) {
        let (Some(leader), Ok(mut children)) = (self.leader, signal(SignalKind::child())) else { return };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while let Ok(None) | Err(Errno::INTR) = waitid(WaitId::Pid(leader), look) {
            children.recv().await;
        }
    }

    /// Ends every process of the group at once.
    fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
