//! A server's process: under a guard, with pipes of its own.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protocol::SandboxLevel;
use sandbox::{CommandRequest, Directory, Ended, Guarded, HEARTBEAT, Probe, Program, Report, ResourceLimits};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::secrets::Secrets;
use crate::settings::ServerSettings;

/// Passed on as they are.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"];
/// A server runs until it is stopped. A guard wants a time, and one that is reached is a restart and no harm.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Bytes of what a server prints that are kept, for whoever wants to know why it ended.
const MAX_PRINTED: usize = 2_048;

/// Between two looks at what a server prints: one that prints without end waits, and costs nothing.
const BETWEEN_READS: Duration = Duration::from_millis(5);

/// How the directories of servers begin; the number of the gateway's process follows.
const PREFIX: &str = "foreword-mcp-";
/// Whether what killed gateways have left was looked for.
static SWEPT: std::sync::Once = std::sync::Once::new();
/// Looks at what is left when it has ended: as much as a pipe holds.
const LAST_READS: usize = 32;

/// What servers run under, and what they cannot see where they are in a sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    pub(crate) program: Program,
    pub(crate) hidden: Vec<PathBuf>,
}

/// A server's standard input and output, as we have them.
pub(crate) struct Pipes {
    pub(crate) reader: pipe::Receiver,
    pub(crate) writer: pipe::Sender,
}

/// A process that runs. Dropping it ends the process and all that it has started.
pub(crate) struct Process {
    /// Why it has ended, once it has.
    pub(crate) end: End,
    _stop: DropGuard,
}

/// Whether a process has ended, and why.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    pub(crate) token: CancellationToken,
    why: Arc<Mutex<String>>,
    is_counted: Arc<AtomicBool>,
}

impl End {
    pub(crate) fn tell(&self, why: String) {
        let mut told = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        // The first reason is the cause of the others.
        if told.is_empty() {
            *told = why;
        }
        self.token.cancel();
    }

    /// True for the first who asks: whoever that is counts the failure.
    pub(crate) fn count_once(&self) -> bool {
        !self.is_counted.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn why(&self) -> String {
        let told = self.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if told.is_empty() { "the connection was closed".to_owned() } else { told }
    }
}

struct Started {
    guarded: Guarded,
    printed: pipe::Receiver,
    report: pipe::Receiver,
    pipes: Pipes,
    /// Removed when the process has ended.
    directory: tempfile::TempDir,
}

/// Starts a server's program, or says why not.
pub(crate) async fn start(
    settings: &ServerSettings,
    secrets: &Secrets,
    ground: &Ground,
) -> Result<(Pipes, Process), String> {
    let (settings, secrets_of, ground) = (settings.clone(), secrets.clone(), ground.clone());
    let runtime = tokio::runtime::Handle::current();
    // A guard is waited for, and which sandbox there is is found out by trying.
    let started = tokio::task::spawn_blocking(move || {
        let _inside = runtime.enter();
        start_blocking(&settings, &secrets_of, &ground)
    });
    let started = started.await.map_err(|_| "it was given up".to_owned())??;
    let Started { guarded, printed, report, pipes, directory } = started;
    let (stop, end) = (CancellationToken::new(), End::default());
    tokio::spawn(keep(guarded, printed, report, directory, stop.clone(), end.clone(), secrets.clone()));
    Ok((pipes, Process { end, _stop: stop.drop_guard() }))
}

/// Keeps a process alive until it is stopped or ends by itself, and says why it ended.
async fn keep(
    mut guarded: Guarded,
    mut printed: pipe::Receiver,
    mut report: pipe::Receiver,
    directory: tempfile::TempDir,
    stop: CancellationToken,
    end: End,
    secrets: Secrets,
) {
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    let (mut buffer, mut said_buffer) = (vec![0; 4_096], [0; 256]);
    let (mut said, mut last_words) = (Vec::new(), Vec::new());
    let (mut is_open, mut is_held) = (true, true);
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
    // What it said last is there by now, and says why it has ended.
    for _ in 0..LAST_READS {
        match printed.try_read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => keep_last(&mut last_words, &buffer[..length]),
        }
    }
    // A process may have left any number of files.
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
    end.tell(if words.is_empty() { how } else { format!("{how}: {words}") });
}

fn keep_last(words: &mut Vec<u8>, more: &[u8]) {
    words.extend_from_slice(more);
    let excess = words.len().saturating_sub(MAX_PRINTED);
    words.drain(..excess);
}

/// What is printed, once it may be read.
async fn printed_after(at: Instant, printed: &mut pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    tokio::time::sleep_until(at).await;
    printed.read(buffer).await
}

fn start_blocking(settings: &ServerSettings, secrets: &Secrets, ground: &Ground) -> Result<Started, String> {
    let level = match settings.sandbox {
        None | Some(SandboxLevel::Off) => SandboxLevel::Off,
        Some(weakest) => Probe::of_system(&ground.program)
            .choose(weakest)
            .map_err(|why| format!("there is no sandbox as strong as its setting asks ({why})"))?,
    };
    // A shell would say it, in its own words.
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
    let inside = directory.path().canonicalize().map_err(failed)?;
    let (work, ways, temporary) = (inside.join("work"), inside.join("pipes"), inside.join("tmp"));
    for part in [&work, &ways, &temporary] {
        std::fs::create_dir(part).map_err(failed)?;
    }
    let (input, output) = (ways.join("in"), ways.join("out"));
    // Opened before the program opens them: a pipe without another end would make it wait for one.
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
        hidden: ground.hidden.clone(),
        protected: Vec::new(),
        environment: environment(settings, secrets, level),
        text: command(settings, &input, &output),
        limits: ResourceLimits { time: LONGEST, ..ResourceLimits::default() },
    };
    let (guarded, printed) = Guarded::start(&ground.program, &request).map_err(|error| error.to_string())?;
    let report = guarded.report().map_err(failed)?;
    Ok(Started {
        printed: pipe::Receiver::from_owned_fd(printed.into()).map_err(failed)?,
        report: pipe::Receiver::from_owned_fd(report.into()).map_err(failed)?,
        guarded,
        pipes: Pipes { reader, writer },
        directory,
    })
}

/// Whether a shell would find a program: on the path, or, where it has a directory, there.
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

/// Removes the directories of gateways that were killed: they could not do it themselves. Beside one of our own, and only what
/// belongs to the same user.
fn remove_left_behind(own: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| path.symlink_metadata().map(|metadata| metadata.uid()).ok();
    let (Some(place), user) = (own.parent(), owner(own)) else { return };
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((id, _)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')) else { continue };
        let is_gone = cfg!(target_os = "linux") && id.parse::<u32>().is_ok_and(|id| !is_running(id));
        if is_gone && user.is_some() && owner(&entry.path()) == user {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// What the shell is told. What is printed besides goes where the guard has it.
fn command(settings: &ServerSettings, input: &Path, output: &Path) -> String {
    let words = settings.command.iter().chain(&settings.args).map(|word| quoted(word));
    let words: Vec<String> = words.collect();
    let [input, output] = [input, output].map(|path| quoted(&path.to_string_lossy()));
    format!("exec {} <{input} >{output}", words.join(" "))
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\0', "").replace('\'', r"'\''"))
}

fn environment(
    settings: &ServerSettings,
    secrets: &Secrets,
    level: SandboxLevel,
) -> Vec<(OsString, OsString)> {
    // In a sandbox there is a home of its own.
    let home = (level == SandboxLevel::Off).then_some("HOME");
    let common = home.into_iter().chain(PASSED.iter().copied());
    let common = common.filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let named = settings.env.iter().filter_map(|name| Some((name.into(), secrets.get(name)?.into())));
    common.chain(named).collect()
}

/// Makes a pipe with a name, and opens both ends of it, so that neither opening it nor writing to it depends on who is at
/// the other end. That nobody is any more is known from the guard.
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
    fn what_a_killed_gateway_has_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: String| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.join("work")).unwrap();
            path
        };
        // No process has a number as high as this.
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
    fn a_shell_reads_the_words_back() {
        let settings = ServerSettings {
            command: Some("it's".to_owned()),
            args: vec!["$HOME; `x`".to_owned(), String::new()],
            ..ServerSettings::default()
        };
        let text = command(&settings, Path::new("/a b/in"), Path::new("/a b/out"));
        assert_eq!(text, r"exec 'it'\''s' '$HOME; `x`' '' <'/a b/in' >'/a b/out'");
    }
}
