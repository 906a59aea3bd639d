//! A gateway in its own process, so that its memory can be measured separately.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use gateway::{Gateway, GatewaySettings};

/// Makes this program a gateway on the data directory that follows.
pub(crate) const MODE: &str = "--serve";
const READY: &str = "ready";

/// Runs [`MODE`]: serves until standard input ends.
pub(crate) async fn until_told(data: &str) -> anyhow::Result<()> {
    let mut settings = GatewaySettings::new(data);
    settings.listen = "127.0.0.1:0".to_owned();
    // All clients use the owner's token.
    settings.listener.of_token = settings.listener.connections;
    let gateway = Gateway::start(settings).await?;
    println!("{READY}");
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    gateway.shutdown().await;
    Ok(())
}

/// A gateway that was started; it stops when the value is dropped.
pub(crate) struct Served {
    child: Child,
}

impl Served {
    /// Starts a gateway and waits until it listens.
    pub(crate) fn start(data: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(MODE)
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("the gateway has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        anyhow::ensure!(line.trim() == READY, "the gateway did not start");
        Ok(Self { child })
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the number of open files and sockets.
    pub(crate) fn open_files(&self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.process_id()))?.count())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The gateway serves until its standard input ends, so waiting without closing it would never return.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
