//! A workspace with files outside of it, and commands that run there as an ordinary user.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use sandbox::{CommandRequest, Directory, Ended, Report, ResourceLimits, SandboxLevel};
use serde::Deserialize;
use test_sandbox::OTHER_USER;

/// Longest wait before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with a workspace in it, all owned by the user of the commands.
pub(crate) struct Trial {
    directory: tempfile::TempDir,
    program: PathBuf,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) limits: ResourceLimits,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// User of the commands if the tests run as root.
    pub(crate) user: u32,
}

/// End and output of a command.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) report: Report,
    pub(crate) output: String,
}

impl Trial {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        // Other users may be unable to enter the build directory, so the program is copied.
        let program = path.join("trial");
        let built = test_sandbox::guard_program().unwrap();
        fs::hard_link(&built, &program).or_else(|_| fs::copy(&built, &program).map(|_| ())).unwrap();
        let limits = ResourceLimits { time: Duration::from_secs(30), ..ResourceLimits::default() };
        let hidden = Vec::new();
        let protected = Vec::new();
        let environment = passed();
        let user = OTHER_USER;
        let trial = Self { directory, program, hidden, protected, limits, environment, user };
        trial.make_directory("");
        trial.make_directory("root");
        trial.make_directory("temporary");
        trial.write("outside", "secret\n");
        trial
    }

    /// Returns a path beside the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn root(&self, path: &str) -> PathBuf {
        self.path("root").join(path)
    }

    pub(crate) fn make_directory(&self, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(&path).unwrap();
        let ours = self.directory.path().canonicalize().unwrap();
        for directory in path.ancestors().take_while(|above| above.starts_with(&ours)) {
            give(directory);
        }
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        if let Some((directory, _)) = path.rsplit_once('/') {
            self.make_directory(directory);
        }
        fs::write(self.path(path), content).unwrap();
        give(&self.path(path));
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.push((name.into(), value.into()));
    }

    pub(crate) fn request(&self, level: SandboxLevel, text: &str) -> CommandRequest {
        let root = Directory::look(&self.path("root")).unwrap();
        CommandRequest {
            level,
            cwd: root.clone(),
            root,
            temporary: self.path("temporary"),
            readable: Vec::new(),
            writable: Vec::new(),
            hidden: self.hidden.clone(),
            protected: self.protected.clone(),
            environment: self.environment.clone(),
            text: text.to_owned(),
            limits: self.limits,
        }
    }

    /// Returns the program that runs a request, as a permitted user.
    pub(crate) fn command(&self, request: &CommandRequest) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(serde_json::to_string(request).unwrap()).stdin(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(self.user).gid(self.user);
        }
        command
    }

    /// Runs a request. The error is the message of a command that cannot start.
    pub(crate) fn try_run(&self, request: &CommandRequest) -> Result<Answer, String> {
        answer(&mut self.command(request))
    }

    /// Runs a request with a shell script that is executed before the guard.
    pub(crate) fn run_with_guard(&self, request: &CommandRequest, first: &str) -> Result<Answer, String> {
        let guard = self.path("guard");
        let program = self.program.display();
        fs::write(&guard, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{first}\nexec {program} \"$@\"\n"))
            .unwrap();
        fs::set_permissions(&guard, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = self.command(request);
        answer(command.arg("").arg(guard))
    }

    pub(crate) fn run(&self, level: SandboxLevel, text: &str) -> Answer {
        self.try_run(&self.request(level, text)).unwrap()
    }

    /// Returns the output of a command that must succeed.
    pub(crate) fn output(&self, level: SandboxLevel, text: &str) -> String {
        let answer = self.run(level, text);
        assert_eq!(answer.report, Report::Ended(Ended::Exited(0)), "{}: {}", level.name(), answer.output);
        answer.output
    }

    /// Starts a process of the same user outside of every sandbox.
    pub(crate) fn begin_outside(&self) -> Outside {
        let mut command = Command::new("sleep");
        command.arg("300").env("SECRET", "x");
        if rustix::process::geteuid().is_root() {
            command.uid(OTHER_USER).gid(OTHER_USER);
        }
        Outside(command.spawn().unwrap())
    }

    /// Creates shared memory that any process of the user can use.
    pub(crate) fn make_shared_memory(&self) -> SharedMemory {
        let said = self.python(
            "import ctypes, os; l = ctypes.CDLL(None); k = int.from_bytes(os.urandom(3), 'big') + 1; \
                                print(k, l.shmget(k, 64, 0o1666))",
        );
        let (key, id) = said.trim().split_once(' ').unwrap();
        SharedMemory { key: key.to_owned(), id: id.to_owned() }
    }

    fn python(&self, script: &str) -> String {
        let said = Command::new("python3").args(["-c", script]).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    }

    /// Starts a command and waits until it has created the file `begun` in the workspace.
    pub(crate) fn begin(&self, level: SandboxLevel, text: &str) -> Child {
        let request = self.request(level, &format!("{text}\ntouch begun; sleep 300"));
        let child = self.command(&request).stdout(Stdio::null()).spawn().unwrap();
        eventually("the command to begin", || self.root("begun").exists());
        child
    }
}

fn answer(command: &mut Command) -> Result<Answer, String> {
    let Output { status, stdout, stderr } = command.output().unwrap();
    if status.success() {
        return Ok(serde_json::from_slice(&stdout).unwrap());
    }
    Err(String::from_utf8_lossy(&stderr).into_owned())
}

/// A process that is ended on drop.
pub(crate) struct Outside(Child);

impl Outside {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Shared memory that is removed on drop.
pub(crate) struct SharedMemory {
    pub(crate) key: String,
    id: String,
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        let script = format!("import ctypes; ctypes.CDLL(None).shmctl({}, 0, None)", self.id);
        let _ = Command::new("python3").args(["-c", &script]).status();
    }
}

/// Returns the environment of every command.
fn passed() -> Vec<(OsString, OsString)> {
    let names = ["PATH", "LANG"].into_iter();
    names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

/// Changes the owner of a file to the user of the commands.
fn give(path: &Path) {
    if rustix::process::geteuid().is_root() {
        chown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    }
}

#[track_caller]
pub(crate) fn eventually(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
