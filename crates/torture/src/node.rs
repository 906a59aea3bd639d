//! A real gateway process with a data directory of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use client::Target;
use protocol::local::{GATEWAY_FILE, GatewayFile};
use tempfile::TempDir;

use crate::PATIENCE;

/// Killed when dropped, frozen or not.
pub(crate) struct Node {
    directory: TempDir,
    program: PathBuf,
    flags: Vec<String>,
    child: Child,
}

impl Node {
    /// Starts a gateway and waits until it says where it listens.
    pub(crate) fn start(program: &Path, flags: &[String]) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("foreword-torture-").tempdir()?;
        let child = spawn(program, flags, directory.path())?;
        let node = Self { directory, program: program.to_owned(), flags: flags.to_owned(), child };
        Self::until_announced(node)
    }

    /// How clients find it, also after it was started again at another port.
    pub(crate) fn target(&self) -> Target {
        Target::Local { data: data(self.directory.path()) }
    }

    /// Ends it at once, like a power failure for this one process.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().context("could not kill a gateway")?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts it after [`Node::kill`]; its database may be away for a moment, then it is tried again.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            self.child = spawn(&self.program, &self.flags, self.directory.path())?;
            match self.wait_until_announced() {
                Ok(()) => return Ok(()),
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                Err(_) => self.child.wait()?,
            };
        }
    }

    pub(crate) fn freeze(&self) -> anyhow::Result<()> {
        signal(self.child.id(), "STOP")
    }

    pub(crate) fn thaw(&self) -> anyhow::Result<()> {
        signal(self.child.id(), "CONT")
    }

    fn until_announced(mut node: Self) -> anyhow::Result<Self> {
        node.wait_until_announced()?;
        Ok(node)
    }

    fn wait_until_announced(&mut self) -> anyhow::Result<()> {
        let announced = data(self.directory.path()).join(GATEWAY_FILE);
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                let said = std::fs::read_to_string(log(self.directory.path())).unwrap_or_default();
                bail!("a gateway ended with {status}: {said}");
            }
            let file = std::fs::read(&announced).ok();
            let file = file.and_then(|bytes| serde_json::from_slice::<GatewayFile>(&bytes).ok());
            if file.is_some_and(|file| file.pid == self.child.id()) {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "a gateway did not start in time");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Already ended is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &Path, flags: &[String], directory: &Path) -> anyhow::Result<Child> {
    let mut command = Command::new(program);
    command.env_clear().current_dir(directory);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", directory);
    command.env("FOREWORD_HOME", directory.join("home")).env("FOREWORD_DATA", data(directory));
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(log(directory))?);
    command.spawn().with_context(|| format!("could not start {}", program.display()))
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
