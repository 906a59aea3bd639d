//! Measures the cost of a sandbox: `true` at each level compared with a plain `sh -c true`.
//!
//! ```text
//! cargo bench -p foreword-sandbox --bench sandbox -- [--quick]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use measure::{BenchArguments, Comparison, Effort, Machine, Rounds};
use sandbox::{CommandRequest, Directory, Ended, Guarded, Program, Report, ResourceLimits, SandboxLevel};

/// User id of commands if the benchmark is run by root, which commands must not be: `nobody`.
const OTHER_USER: u32 = 65_534;

fn main() -> anyhow::Result<()> {
    if sandbox::run_if_asked().is_some() {
        return Ok(());
    }
    if rustix::process::geteuid().is_root() {
        let mut again = Command::new(std::env::current_exe()?);
        again.args(std::env::args().skip(1)).current_dir("/").uid(OTHER_USER).gid(OTHER_USER);
        ensure!(again.status()?.success(), "the benchmark failed as another user");
        return Ok(());
    }
    let arguments = BenchArguments::new(std::env::args().skip(1));
    println!("{}\n", Machine::this());
    let rounds = match arguments.effort {
        Effort::Quick => Rounds { warm_up: 2, measured: 20 },
        _ => Rounds { warm_up: 10, measured: 200 },
    };
    let directory = tempfile::tempdir()?;
    let root = directory.path().canonicalize()?;
    let runtime = measure::tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = runtime.block_on(
        Comparison::against("sh", async || plain(&root))
            .with("off: guard", async || run(SandboxLevel::Off, &root))
            .with("confined: guard, Landlock, seccomp", async || run(SandboxLevel::Confined, &root))
            .with("isolated: guard, bubblewrap, seccomp", async || run(SandboxLevel::Isolated, &root))
            .run(rounds),
    )?;
    println!("## `true`\n\n{figures}");
    Ok(())
}

fn plain(root: &Path) -> anyhow::Result<()> {
    let status =
        Command::new("/bin/sh").args(["-c", "true"]).current_dir(root).stdin(Stdio::null()).status()?;
    ensure!(status.success(), "sh ended with {status}");
    Ok(())
}

fn run(level: SandboxLevel, root: &Path) -> anyhow::Result<()> {
    let directory = Directory::look(root)?;
    let request = CommandRequest {
        level,
        cwd: directory.clone(),
        root: directory,
        temporary: root.to_owned(),
        readable: Vec::new(),
        writable: Vec::new(),
        hidden: Vec::new(),
        protected: Vec::new(),
        environment: Vec::new(),
        text: "true".to_owned(),
        limits: ResourceLimits::default(),
    };
    let (guarded, mut output) = Guarded::start(&Program::this(), &request).context("start a guard")?;
    let mut said = String::new();
    output.read_to_string(&mut said)?;
    let report = guarded.wait()?;
    ensure!(report == Report::Ended(Ended::Exited(0)), "{report:?}: {said}");
    Ok(())
}
