//! Bubblewrap: sets up the mounts and namespaces of an isolated command.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::CommandRequest;
use crate::helper::{Network, Task};
use crate::launch::Launch;
use crate::mounts::{HELPER_PATH, HOME, Mount, TEMPORARY, mounts, within};
use crate::pin::{Expected, Pin};
use crate::program::HELPER;

/// Path of bubblewrap. It is not searched for on `PATH`, which may be under the control of others.
pub(crate) const PROGRAM: &str = "/usr/bin/bwrap";

/// Arguments for namespaces, privileges and lifetime.
const ALONE: &[&str] = &[
    "--unshare-user",
    "--disable-userns",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--hostname",
    "sandbox",
    "--unshare-cgroup-try",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    // Without this, bubblewrap's own first process would be free of every filter and limit, and a command could act
    // through it.
    "--as-pid-1",
];

pub(crate) fn launch(request: &CommandRequest) -> io::Result<Launch> {
    launch_task(request, &Task::shell(request, Network::Own))
}

/// Returns the launch of the helper with the given task.
pub(crate) fn launch_task(request: &CommandRequest, task: &Task) -> io::Result<Launch> {
    let mut arguments: Vec<OsString> = ALONE.iter().map(OsString::from).collect();
    let within = within(request);
    let task = task.mounted(pins(request, &within)?);
    // The order matters: a later mount hides an earlier one at the same path or below it.
    for mount in mounts(request, &own_file()?, within) {
        mount.write_to(&mut arguments);
    }
    arguments.extend(["--chdir".into(), request.cwd.path().into(), "--".into()]);
    arguments.extend([HELPER_PATH.into(), HELPER.into()]);
    let mut environment = request.environment.clone();
    environment.extend([("HOME".into(), HOME.into()), ("TMPDIR".into(), TEMPORARY.into())]);
    environment.extend(task.variables()?);
    Ok(Launch {
        program: PROGRAM.into(),
        arguments,
        environment,
        directory: "/".into(),
        says_when_it_begins: true,
        time: request.limits.time,
        held: None,
    })
}

/// Returns the checks that the helper makes inside. Bubblewrap follows links in both source and target of a mount, and
/// another command of the same workspace may create one at any moment.
fn pins(request: &CommandRequest, within: &[Mount]) -> io::Result<Vec<Pin>> {
    let mut pins = Vec::new();
    for mount in within {
        pins.extend(match mount {
            Mount::Read(path) | Mount::Write(path) => Some(Pin::look(path, path, Expected::Mounted)?),
            Mount::Hidden { at, real } | Mount::HiddenFile { at, real } => {
                Some(Pin::look(real, at, Expected::Hidden)?)
            }
            _ => None,
        });
    }
    let is_hidden = |path: &Path| request.hidden.iter().any(|hidden| path.starts_with(hidden));
    for path in request.readable.iter().chain(&request.writable) {
        // A path that does not exist is not mounted.
        if !is_hidden(path) && path.exists() {
            pins.push(Pin::look(path, path, Expected::Same)?);
        }
    }
    Ok(pins)
}

/// Returns the path of this program, which is mounted into the sandbox.
fn own_file() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    if path.exists() {
        return Ok(path);
    }
    let path = path.display();
    Err(io::Error::other(format!("{path} was replaced since this program was started; restart the gateway")))
}

impl Mount {
    fn write_to(&self, arguments: &mut Vec<OsString>) {
        let mut add = |flag: &str, paths: &[&Path]| {
            arguments.push(flag.into());
            arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
        };
        match self {
            Self::Read(path) => add("--ro-bind", &[path, path]),
            Self::ReadIfThere(path) => add("--ro-bind-try", &[path, path]),
            Self::ReadAt { from, at } => add("--ro-bind", &[from, at]),
            Self::Write(path) => add("--bind", &[path, path]),
            Self::Link { to, at } => add("--symlink", &[Path::new(to), at]),
            Self::Directory(path) => add("--dir", &[path]),
            Self::Temporary { at, bytes } => {
                add("--perms", &[Path::new("1777")]);
                add("--size", &[Path::new(&bytes.to_string())]);
                add("--tmpfs", &[at]);
            }
            Self::HiddenFile { at, .. } => add("--ro-bind", &[Path::new("/dev/null"), at]),
            Self::Hidden { at: path, .. } => {
                add("--perms", &[Path::new("0000")]);
                add("--size", &[Path::new("4096")]);
                add("--tmpfs", &[path]);
                add("--remount-ro", &[path]);
            }
            Self::Processes => add("--proc", &[Path::new("/proc")]),
            Self::Devices => add("--dev", &[Path::new("/dev")]),
            Self::Seal(path) => add("--remount-ro", &[path]),
        }
    }
}
