//! The process of a server, under a guard and with its own pipes.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use protocol::SandboxLevel;
use sandbox::{CommandRequest, Directory, Ended, Guarded, HEARTBEAT, Probe, Program, Report, ResourceLimits};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::secrets::Secrets;
use crate::settings::ServerSettings;

/// Variables passed on unchanged.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"];
/// Time limit that the guard requires. A server runs until it is stopped, and reaching the limit only restarts it.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Bytes kept of a server's error output, to explain its end.
const MAX_PRINTED: usize = 2_048;

/// Pause between two reads of the error output, so that a server that prints endlessly blocks instead of using CPU.
const BETWEEN_READS: Duration = Duration::from_millis(5);

/// Prefix of servers' directories, followed by the gateway's process id.
const PREFIX: &str = "foreword-mcp-";
/// Guards the removal of directories that killed gateways left behind.
static SWEPT: std::sync::Once = std::sync::Once::new();
/// Reads of the remaining error output after the end: enough for a full pipe.
const LAST_READS: usize = 32;

/// Guard program of servers, and the paths hidden from sandboxed ones.
#[derive(Debug, Clone)]
pub(crate) struct SandboxContext {
    pub(crate) program: Program,
    pub(crate) hidden: Vec<PathBuf>,
}

/// Our ends of a server's standard input and output.
pub(crate) struct Pipes {
    pub(crate) reader: pipe::Receiver,
    pub(crate) writer: pipe::Sender,
}

/// A running process. Dropping it ends the process with its children.
pub(crate) struct Process {
    /// Reason for its end, once it has ended.
    pub(crate) end: ServerEnd,
    _stop: DropGuard,
}

/// State shared by everything that may notice the end of a process.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerEnd {
    pub(crate) token: CancellationToken,
    why: Arc<Mutex<String>>,
    is_counted: Arc<AtomicBool>,
}

impl ServerEnd {
    pub(crate) fn record(&self, reason: String) {
        let mut why = self.why.lock();
        // The first reason is the cause of all others.
        if why.is_empty() {
            *why = reason;
        }
        self.token.cancel();
    }

    /// Returns true for the first caller only, which counts the failure.
    pub(crate) fn count_once(&self) -> bool {
        !self.is_counted.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn why(&self) -> String {
        let why = self.why.lock().clone();
        if why.is_empty() { "the connection was closed".to_owned() } else { why }
    }
}

struct StartedServer {
    guarded: Guarded,
    printed: pipe::Receiver,
    report: pipe::Receiver,
    pipes: Pipes,
    /// Removed after the process has ended.
    directory: tempfile::TempDir,
}

/// Starts a server's program.
pub(crate) async fn start(
    settings: &ServerSettings,
    secrets: &Secrets,
    sandbox_context: &SandboxContext,
) -> Result<(Pipes, Process), String> {
    let settings = settings.clone();
    let secrets_of = secrets.clone();
    let sandbox_context = sandbox_context.clone();
    let runtime = tokio::runtime::Handle::current();
    // Starting waits for a guard, and the first start probes the sandbox: both block.
    let started = tokio::task::spawn_blocking(move || {
        let _inside = runtime.enter();
        start_blocking(&settings, &secrets_of, &sandbox_context)
    });
    let started = started.await.map_err(|_| "it was given up".to_owned())??;
    let StartedServer { guarded, printed, report, pipes, directory } = started;
    let stop = CancellationToken::new();
    let end = ServerEnd::default();
    // A task of its own holds the guard. Dropping the connection then only cancels a token, while the process is ended
    // and its directory removed without blocking the caller.
    tokio::spawn(keep(guarded, printed, report, directory, stop.clone(), end.clone(), secrets.clone()));
    Ok((pipes, Process { end, _stop: stop.drop_guard() }))
}

/// Keeps a process alive until it is stopped or ends, and records the reason.
async fn keep(
    mut guarded: Guarded,
    mut printed: pipe::Receiver,
    mut report: pipe::Receiver,
    directory: tempfile::TempDir,
    stop: CancellationToken,
    end: ServerEnd,
    secrets: Secrets,
) {
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    let mut buffer = vec![0; 4_096];
    let mut said_buffer = [0; 256];
    let mut said = Vec::new();
    let mut last_words = Vec::new();
    let mut is_open = true;
    let mut is_held = true;
    let mut next_read = Instant::now();
    loop {
        tokio::select! {
            read = printed_after(next_read, &mut printed, &mut buffer), if is_open => match read {
                Ok(0) | Err(_) => is_open = false,
                Ok(length) => {
                    next_read = Instant::now() + BETWEEN_READS;
                    keep_last(&mut last_words, &buffer[..length]);
                }
            },
            read = report.read(&mut said_buffer) => match read {
                Ok(0) | Err(_) => break,
                Ok(length) => said.extend_from_slice(&said_buffer[..length]),
            },
            _ = heartbeat.tick() => guarded.keep_alive(),
            () = stop.cancelled(), if is_held => {
                is_held = false;
                guarded.release();
            }
        }
    }
    // The last output usually explains the end, and is complete by now.
    for _ in 0..LAST_READS {
        match printed.try_read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => keep_last(&mut last_words, &buffer[..length]),
        }
    }
    // Removing the directory may take long, because the process may have left any number of files.
    let finished = tokio::task::spawn_blocking(move || {
        let report = guarded.finish(&said);
        drop(directory);
        report
    });
    let words = secrets.mask(String::from_utf8_lossy(&last_words).trim().to_owned());
    let how = match finished.await {
        Ok(Ok(Report::Ended(Ended::Exited(status)))) => format!("it ended with status {status}"),
        Ok(Ok(Report::Ended(Ended::Signalled(signal)))) => format!("it was ended by signal {signal}"),
        Ok(Ok(Report::Ended(Ended::TimedOut | Ended::Released))) => "it was stopped".to_owned(),
        Ok(Ok(Report::NotStarted(why))) => secrets.mask(why),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it was given up".to_owned(),
    };
    end.record(if words.is_empty() { how } else { format!("{how}: {words}") });
}

fn keep_last(words: &mut Vec<u8>, more: &[u8]) {
    words.extend_from_slice(more);
    let excess = words.len().saturating_sub(MAX_PRINTED);
    words.drain(..excess);
}

/// Reads the error output, but not before a given time.
async fn printed_after(at: Instant, printed: &mut pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    tokio::time::sleep_until(at).await;
    printed.read(buffer).await
}

fn start_blocking(
    settings: &ServerSettings,
    secrets: &Secrets,
    sandbox_context: &SandboxContext,
) -> Result<StartedServer, String> {
    let level = match settings.sandbox {
        None | Some(SandboxLevel::Off) => SandboxLevel::Off,
        Some(weakest) => Probe::of_system(&sandbox_context.program)
            .choose(weakest)
            .map_err(|why| format!("there is no sandbox as strong as its setting asks ({why})"))?,
    };
    // Checked here, because a shell's message about a missing program would only appear in the error output.
    let path = std::env::var("PATH").ok();
    let program = settings.command.as_deref().unwrap_or_default();
    find_program(program, settings.cwd.as_deref(), path).map_err(|missing| {
        if program.contains(' ') { format!("{missing}; arguments belong in `args`") } else { missing }
    })?;
    let failed = |error: io::Error| error.to_string();
    let private = std::fs::Permissions::from_mode(0o700);
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let directory =
        tempfile::Builder::new().prefix(&prefix).permissions(private).tempdir().map_err(failed)?;
    SWEPT.call_once(|| remove_left_behind(directory.path()));
    // A sandbox mounts by resolved paths, and the temporary directory may be reached through a link.
    let inside = directory.path().canonicalize().map_err(failed)?;
    let work = inside.join("work");
    let ways = inside.join("pipes");
    let temporary = inside.join("tmp");
    for part in [&work, &ways, &temporary] {
        // Separate directories, so that files that the server creates in its working or temporary directory cannot
        // collide with the pipes.
        std::fs::create_dir(part).map_err(failed)?;
    }
    let input = ways.join("in");
    let output = ways.join("out");
    // Opened before the program opens them: opening a pipe blocks until its other end is open.
    let writer = open_pipe(&input).and_then(pipe::Sender::from_owned_fd).map_err(failed)?;
    let reader = open_pipe(&output).and_then(pipe::Receiver::from_owned_fd).map_err(failed)?;
    let cwd = settings.cwd.clone().unwrap_or(work);
    let at = |path: &Path| {
        Directory::look(path).map_err(|error| format!("its directory {}: {error}", path.display()))
    };
    let real = cwd.canonicalize().map_err(|error| format!("its directory {}: {error}", cwd.display()))?;
    let request = CommandRequest {
        level,
        root: at(&real)?,
        cwd: at(&real)?,
        temporary,
        readable: Vec::new(),
        writable: vec![ways],
        hidden: sandbox_context.hidden.clone(),
        protected: Vec::new(),
        environment: environment(settings, secrets, level),
        text: command(settings, &input, &output),
        limits: ResourceLimits { time: LONGEST, ..ResourceLimits::default() },
    };
    let (guarded, printed) =
        Guarded::start(&sandbox_context.program, &request).map_err(|error| error.to_string())?;
    let report = guarded.report().map_err(failed)?;
    Ok(StartedServer {
        printed: pipe::Receiver::from_owned_fd(printed.into()).map_err(failed)?,
        report: pipe::Receiver::from_owned_fd(report.into()).map_err(failed)?,
        guarded,
        pipes: Pipes { reader, writer },
        directory,
    })
}

/// Returns an error unless a shell would find a program: on the path, or at its own path if it has a directory.
pub(crate) fn find_program(program: &str, cwd: Option<&Path>, path: Option<String>) -> Result<(), String> {
    let is_program = |file: &Path| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        let file = cwd.unwrap_or(Path::new("/")).join(program);
        let is_found = is_program(&file);
        return if is_found { Ok(()) } else { Err(format!("there is no program {}", file.display())) };
    }
    let path = path.unwrap_or_default();
    let is_found = std::env::split_paths(&path).any(|directory| is_program(&directory.join(program)));
    if is_found { Ok(()) } else { Err(format!("the program `{program}` is not on PATH")) }
}

/// Removes the directories of killed gateways, which could not do that themselves. Only directories beside our own that belong
/// to the same user are removed.
fn remove_left_behind(own: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| path.symlink_metadata().map(|metadata| metadata.uid()).ok();
    let (Some(place), user) = (own.parent(), owner(own)) else { return };
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((id, _)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')) else { continue };
        // Other systems have no `/proc`, and every gateway would look dead there. A process id that was used again only
        // delays the removal.
        let is_gone = cfg!(target_os = "linux") && id.parse::<u32>().is_ok_and(|id| !is_running(id));
        if is_gone && user.is_some() && owner(&entry.path()) == user {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Returns the shell command. Error output goes to the guard's standard error.
fn command(settings: &ServerSettings, input: &Path, output: &Path) -> String {
    let words = settings.command.iter().chain(&settings.args).map(|word| quoted(word));
    let words: Vec<String> = words.collect();
    let [input, output] = [input, output].map(|path| quoted(&path.to_string_lossy()));
    // `exec` replaces the shell, so that signals and the exit status are those of the server itself.
    format!("exec {} <{input} >{output}", words.join(" "))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\0', "").replace('\'', r"'\''"))
}

fn environment(
    settings: &ServerSettings,
    secrets: &Secrets,
    level: SandboxLevel,
) -> Vec<(OsString, OsString)> {
    // A sandbox sets its own home directory.
    let home = (level == SandboxLevel::Off).then_some("HOME");
    let common = home.into_iter().chain(PASSED.iter().copied());
    let common = common.filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let named = settings.env.iter().filter_map(|name| Some((name.into(), secrets.get(name)?.into())));
    common.chain(named).collect()
}

/// Creates a named pipe and opens both of its ends, so that neither opening nor writing depends on the other side. The guard
/// reports when that side is gone.
fn open_pipe(path: &Path) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    make_pipe(path)?;
    Ok(rustix::fs::open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

#[cfg(target_os = "linux")]
fn make_pipe(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?)
}

#[cfg(not(target_os = "linux"))]
fn make_pipe(path: &Path) -> io::Result<()> {
    let made = std::process::Command::new("/usr/bin/mkfifo").arg("-m").arg("600").arg(path).status()?;
    if made.success() { Ok(()) } else { Err(io::Error::other("a pipe could not be made")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_killed_gateways_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: String| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.join("work")).unwrap();
            path
        };
        // Higher than the largest possible process id on Linux.
        let left = make(format!("{PREFIX}4194999-abc"));
        let kept = [
            make(format!("{PREFIX}{}-own", std::process::id())),
            make(format!("{PREFIX}1-other")),
            make(format!("{PREFIX}abc")),
            make("another".to_owned()),
        ];
        remove_left_behind(&kept[0]);
        assert!(!left.exists() || !cfg!(target_os = "linux"));
        assert!(kept.iter().all(|path| path.exists()), "{kept:?}");
    }

    #[test]
    fn shell_command_is_quoted() {
        let settings = ServerSettings {
            command: Some("it's".to_owned()),
            args: vec!["$HOME; `x`".to_owned(), String::new()],
            ..ServerSettings::default()
        };
        let text = command(&settings, Path::new("/a b/in"), Path::new("/a b/out"));
        assert_eq!(text, r"exec 'it'\''s' '$HOME; `x`' '' <'/a b/in' >'/a b/out'");
    }
}
