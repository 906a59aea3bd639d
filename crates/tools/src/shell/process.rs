//! Runs a command under its guard and captures the output.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use protocol::SandboxLevel;
use sandbox::{CommandRequest, Directory, Ended, Guarded, HEARTBEAT, Report, ResourceLimits};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::{ShellSettings, environment};
use crate::{FileError, ToolContext};

/// Delay after which the gateway ends a command that its guard should have ended. Only needed if the guard hangs.
const GRACE: Duration = Duration::from_secs(10);
/// Time to wait for buffered output after the guard has exited.
const REST: Duration = Duration::from_millis(300);

/// Result of a command.
pub(super) struct CommandOutcome {
    pub(super) captured: Capture,
    pub(super) ended: Ended,
}

/// A command and its limits.
pub(super) struct ShellCommand {
    pub(super) level: SandboxLevel,
    pub(super) text: String,
    pub(super) timeout: Duration,
    /// Paths mounted read-only, if the sandbox can do that.
    pub(super) protected: Vec<PathBuf>,
    /// File that the guard locks while a process of the command may run.
    pub(super) journal: Option<PathBuf>,
}

struct StartedCommand {
    guarded: Guarded,
    output: pipe::Receiver,
    report: pipe::Receiver,
    /// Temporary directory, removed after the command.
    temporary: tempfile::TempDir,
}

/// Runs a command to its end, which comes soon after it is stopped. No process of it is left afterwards.
pub(super) async fn run(
    context: &ToolContext,
    settings: &ShellSettings,
    order: ShellCommand,
    stop: CancellationToken,
) -> Result<CommandOutcome, FileError> {
    if stop.is_cancelled() {
        return Err(FileError::Cancelled);
    }
    let timeout = order.timeout;
    let its_context = context.clone();
    let settings = settings.clone();
    let runtime = tokio::runtime::Handle::current();
    // `Guarded::start` registers pipes with the reactor, which a blocking thread does not know by default.
    let started = tokio::task::spawn_blocking(move || {
        let _inside = runtime.enter();
        start(&its_context, &settings, order)
    });
    let mut started = started.await.map_err(|_| FileError::Cancelled)??;
    let mut captured = Capture::new(context.limits().output_chars);
    // The guard enforces the time limit itself; the deadline here only covers a guard that hangs.
    let said = listen(&mut started, &mut captured, Instant::now() + timeout + GRACE, stop).await;
    // Waiting for the guard may block, and a command may have left any number of temporary files to remove: neither
    // belongs on a runtime thread.
    let ended = tokio::task::spawn_blocking(move || {
        let StartedCommand { guarded, temporary, .. } = started;
        let report = match said {
            Some(said) => guarded.finish(&said),
            None => {
                // Dropping the handle closes the guard's pipe, which is its signal to end the command, and waits only
                // briefly for a guard that hangs.
                drop(guarded);
                Err(io::Error::other("its guard did not end it when its time was over"))
            }
        };
        drop(temporary);
        report
    });
    match ended.await.map_err(|_| FileError::Cancelled)?.map_err(FileError::NotRun)? {
        Report::Ended(ended) => Ok(CommandOutcome { captured, ended }),
        Report::NotStarted(why) => {
            let printed = captured.into_output().text;
            let why = if printed.trim().is_empty() { why } else { format!("{why}: {}", printed.trim()) };
            Err(FileError::NotRun(io::Error::other(why)))
        }
    }
}

/// Captures output until the guard has exited, and returns its report. `None` if it is still running at the deadline.
async fn listen(
    started: &mut StartedCommand,
    captured: &mut Capture,
    mut deadline: Instant,
    stop: CancellationToken,
) -> Option<Vec<u8>> {
    let mut buffer = vec![0; crate::files::content::BLOCK];
    let mut said = Vec::new();
    let mut said_buffer = [0; 256];
    let mut is_open = true;
    let mut is_held = true;
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    loop {
        tokio::select! {
            read = started.output.read(&mut buffer), if is_open => match read {
                Ok(0) | Err(_) => is_open = false,
                Ok(length) => captured.push(&buffer[..length]),
            },
            read = started.report.read(&mut said_buffer) => match read {
                Ok(0) | Err(_) => break,
                Ok(length) => said.extend_from_slice(&said_buffer[..length]),
            },
            () = stop.cancelled(), if is_held => {
                is_held = false;
                started.guarded.release();
                // The loop continues after the release, so that output up to the end of the command is captured, but
                // not for its whole time limit.
                deadline = deadline.min(Instant::now() + GRACE);
            }
            _ = heartbeat.tick() => started.guarded.keep_alive(),
            () = tokio::time::sleep_until(deadline) => return None,
        }
    }
    // The guard is gone, but a process outside its reach may hold the pipe open, so the rest is read only for a short time.
    let rest = async {
        while let Ok(length @ 1..) = started.output.read(&mut buffer).await {
            captured.push(&buffer[..length]);
        }
    };
    if is_open {
        let _ = tokio::time::timeout(REST, rest).await;
    }
    Some(said)
}

fn start(
    context: &ToolContext,
    settings: &ShellSettings,
    order: ShellCommand,
) -> Result<StartedCommand, FileError> {
    let failed = FileError::NotRun;
    if order.text.contains('\0') {
        return Err(failed(io::Error::other("it contains a NUL character")));
    }
    let cwd = context.find(context.cwd())?;
    let root = context.whole()?;
    // An explicit mode, because a permissive umask would let other users write the settings that a command finds here.
    let private = std::fs::Permissions::from_mode(0o700);
    let temporary =
        tempfile::Builder::new().prefix("foreword-").permissions(private).tempdir().map_err(failed)?;
    let request = CommandRequest {
        level: order.level,
        // The request records the inodes of the opened directories, and the helper checks that the paths still lead to
        // them. A directory that is swapped in between is noticed.
        cwd: Directory::of(&cwd.real(), cwd.open_directory()?).map_err(failed)?,
        root: Directory::of(&root.real(), root.open_directory()?).map_err(failed)?,
        temporary: temporary.path().canonicalize().map_err(failed)?,
        readable: settings.readable.iter().filter_map(|path| path.canonicalize().ok()).collect(),
        writable: settings.writable.iter().filter_map(|path| path.canonicalize().ok()).collect(),
        hidden: context.hidden().to_vec(),
        protected: order.protected,
        environment: environment::variables(settings, order.level),
        text: order.text,
        limits: ResourceLimits { time: order.timeout, ..settings.limits },
    };
    let (guarded, output) = Guarded::start_holding(&settings.program, &request, order.journal.as_deref())
        .map_err(|error| failed(io::Error::other(error)))?;
    let report = guarded.report().map_err(failed)?;
    Ok(StartedCommand {
        guarded,
        output: pipe::Receiver::from_owned_fd(output.into()).map_err(failed)?,
        report: pipe::Receiver::from_owned_fd(report.into()).map_err(failed)?,
        temporary,
    })
}
