//! A client that waits for a model in its own process, so that its memory can be measured separately.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use gateway::{Gateway, GatewaySettings};
use provider::{ChatRequest, Message};
use tokio::task::JoinSet;

use crate::model::{self, MODEL};

const READY: &str = "ready";

/// Mode of a process.
#[derive(Clone, Copy)]
pub(crate) enum ChildRole {
    /// A gateway on a data directory, until standard input ends.
    Serve,
    /// Sends the given number of requests with the provider crate alone; the numbers come one per line.
    Ask,
}

const ROLES: [(&str, ChildRole); 2] = [("--serve", ChildRole::Serve), ("--ask", ChildRole::Ask)];

impl ChildRole {
    /// Returns the role that a command-line argument names.
    pub(crate) fn of(argument: &str) -> Option<Self> {
        ROLES.iter().find(|(name, _)| *name == argument).map(|(_, role)| *role)
    }

    /// Runs the process's mode.
    pub(crate) async fn play(self, arguments: &[String]) -> anyhow::Result<()> {
        let [data, model] = arguments else { anyhow::bail!("a data directory and a model are needed") };
        match self {
            Self::Serve => serve(data, model).await,
            Self::Ask => ask(model).await,
        }
    }
}

async fn serve(data: &str, model: &str) -> anyhow::Result<()> {
    let mut settings = GatewaySettings::new(data);
    settings.listen = "127.0.0.1:0".to_owned();
    // All measured turns wait concurrently.
    settings.agent.turns.limits.running = 10_000;
    settings.agent.turns.limits.running_in_workspace = 10_000;
    model::install(&mut settings, model::at(model)?);
    let gateway = Gateway::start(settings).await?;
    println!("{READY}");
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    gateway.shutdown().await;
    Ok(())
}

async fn ask(model: &str) -> anyhow::Result<()> {
    let provider = model::at(model)?;
    println!("{READY}");
    let mut running = JoinSet::new();
    loop {
        let mut line = String::new();
        let read = move || std::io::stdin().read_line(&mut line).map(|_| line);
        let line = tokio::task::spawn_blocking(read).await??;
        if line.is_empty() {
            return Ok(());
        }
        for _ in 0..line.trim().parse()? {
            let provider = provider.clone();
            let request = ChatRequest::new(MODEL, vec![Message::user(model::text(0))]);
            running.spawn(async move { provider.complete(&request).await });
        }
    }
}

/// A process that was started; it stops when the value is dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts this program in a role, and waits until it is ready.
    pub(crate) fn start(name: &str, data: &Path, model: &str) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(name)
            .arg(data)
            .arg(model)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("the process has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        anyhow::ensure!(line.trim() == READY, "the process did not start");
        Ok(Self { child })
    }

    /// Writes a line to its standard input.
    pub(crate) fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        let input = self.child.stdin.as_mut().context("the process has no input")?;
        writeln!(input, "{line}")?;
        Ok(())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The child ends with its standard input. Waiting without closing it would never return.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
