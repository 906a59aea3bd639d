//! A real gateway process with its own directories. It ends with the process that started it, however that ends.

mod clock;
mod watchdog;

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use client::Target;
use protocol::local::{GATEWAY_FILE, GatewayFile};

pub use crate::clock::{ClockShift, check_clock};
use crate::watchdog::Watchdog;

/// Time limit for a gateway to start, generous because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Parameters of a gateway process.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// The `foreword` program.
    pub program: PathBuf,
    /// Flags of `foreword serve`.
    pub flags: Vec<OsString>,
    /// Text of its configuration file.
    pub configuration: String,
    /// Command that the gateway's own command line is appended to, such as `nsenter`. It must replace itself with the
    /// gateway, which would otherwise have another process id.
    pub through: Vec<OsString>,
    /// Variables besides those that every gateway gets.
    pub variables: Vec<(&'static str, OsString)>,
    /// User that the gateway runs as, if this process is root. It gets the gateway's directories. A command in `through` must
    /// change the user itself.
    pub user: Option<u32>,
}

impl Launch {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    pub fn flag(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.flags.extend([name.into(), value.into()]);
        self
    }
}

/// A running gateway. Dropping it kills the process, even a frozen one, and removes its directories.
pub struct GatewayProcess {
    directory: PathBuf,
    launch: Launch,
    child: Child,
    // The last field, so that it is dropped last: it removes the directory.
    watchdog: Watchdog,
}

impl GatewayProcess {
    /// Starts a gateway and waits until it announces its address.
    pub fn start(launch: Launch) -> anyhow::Result<Self> {
        // Kept, because the watchdog removes it, also if this process is killed and drops nothing.
        let directory = tempfile::Builder::new().prefix("foreword-gateway-").tempdir()?.keep();
        let mut watchdog = Watchdog::start(&directory)?;
        let home = directory.join("home");
        std::fs::create_dir(&home)?;
        let configuration = home.join("config.toml");
        std::fs::write(&configuration, &launch.configuration)?;
        if let Some(user) = launch.user {
            for path in [&directory, &home, &configuration] {
                std::os::unix::fs::chown(path, Some(user), Some(user))?;
            }
        }
        let child = spawn(&launch, &directory)?;
        watchdog.watch(Some(child.id()))?;
        let mut process = Self { directory, launch, child, watchdog };
        process.wait_until_announced()?;
        Ok(process)
    }

    /// Returns connection parameters that stay valid after a restart at another port.
    pub fn target(&self) -> Target {
        Target::Local { data: data(&self.directory) }
    }

    /// Returns the directory that contains the gateway's own directories and is removed with it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its standard error since the last start.
    pub fn log(&self) -> String {
        std::fs::read_to_string(log(&self.directory)).unwrap_or_default()
    }

    /// Kills the process without a chance to shut down, like a power failure.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().context("could not kill a gateway")?;
        self.child.wait()?;
        self.watchdog.watch(None)
    }

    /// Starts the gateway again after [`GatewayProcess::kill`]. Retries, because its database may be unavailable for a
    /// moment.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            self.child = spawn(&self.launch, &self.directory)?;
            self.watchdog.watch(Some(self.child.id()))?;
            match self.wait_until_announced() {
                Ok(()) => return Ok(()),
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                Err(_) => self.child.wait()?,
            };
        }
    }

    pub fn freeze(&self) -> anyhow::Result<()> {
        signal(self.child.id(), "STOP")
    }

    pub fn thaw(&self) -> anyhow::Result<()> {
        signal(self.child.id(), "CONT")
    }

    fn wait_until_announced(&mut self) -> anyhow::Result<()> {
        let announced = data(&self.directory).join(GATEWAY_FILE);
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("a gateway ended with {status}: {}", self.log());
            }
            let file = std::fs::read(&announced).ok();
            let file = file.and_then(|bytes| serde_json::from_slice::<GatewayFile>(&bytes).ok());
            // The file of a killed predecessor is still there. Only the process id shows that this process has written
            // it.
            if file.is_some_and(|file| file.pid == self.child.id()) {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "a gateway did not start in time");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        // Errors are ignored, because the process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.watchdog.watch(None);
    }
}

fn spawn(launch: &Launch, directory: &Path) -> anyhow::Result<Child> {
    let mut words = launch.through.iter().cloned().chain([launch.program.clone().into()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    // Nothing is inherited, because a developer's own settings and API keys must not affect a test.
    command.args(words).env_clear().current_dir(directory);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", directory);
    command.env("FOREWORD_HOME", directory.join("home")).env("FOREWORD_DATA", data(directory));
    command.envs(launch.variables.iter().map(|(name, value)| (name, value)));
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(&launch.flags);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(log(directory))?);
    if let Some(user) = launch.user.filter(|_| launch.through.is_empty()) {
        command.uid(user).gid(user);
    }
    command.spawn().with_context(|| format!("could not start {}", launch.program.display()))
}

fn data(directory: &Path) -> PathBuf {
    directory.join("data")
}

fn log(directory: &Path) -> PathBuf {
    directory.join("serve.log")
}

fn signal(pid: u32, name: &str) -> anyhow::Result<()> {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status()?;
    ensure!(status.success(), "could not send {name} to process {pid}");
    Ok(())
}
