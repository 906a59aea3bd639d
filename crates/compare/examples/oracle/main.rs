//! Compares our profiles with the real agents on random layouts of files.
//!
//! ```text
//! cargo xtask oracle --layouts 30 --seed 1
//! ```
//!
//! Every agent runs in a network of its own, which contains only a model that records and refuses requests. The first
//! request of the agent is compared with the blocks of our profile, byte for byte and by role. No other text of the
//! layout may be in it. Prints Markdown; a note describes each difference in full.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is what it is for")]

mod agent;
mod layout;
mod model;
mod verdict;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use chance::Chance;
use instructions::{FileSettings, HomeDirectories, Profile, Request, resolve};

use agent::{AGENTS, RealAgent};
use layout::Layout;
use verdict::Verdict;

/// Arguments of the command.
struct Arguments {
    /// Directory in which npm installed the agents.
    agents: PathBuf,
    /// Directory for notes about differences.
    notes: PathBuf,
    layouts: u64,
    seed: u64,
    only: Vec<String>,
    /// True for the child process in a network of its own.
    is_inside: bool,
}

impl Arguments {
    fn read() -> anyhow::Result<Self> {
        let mut read = Self {
            agents: PathBuf::new(),
            notes: PathBuf::new(),
            layouts: 30,
            seed: 1,
            only: Vec::new(),
            is_inside: false,
        };
        let mut words = std::env::args_os().skip(1);
        while let Some(word) = words.next() {
            if word == "--inside" {
                read.is_inside = true;
                continue;
            }
            let value = words.next().with_context(|| format!("{} needs a value", word.display()))?;
            let text = || value.to_str().context("not UTF-8");
            match word.to_str() {
                Some("--agents") => read.agents = value.into(),
                Some("--notes") => read.notes = value.into(),
                Some("--layouts") => read.layouts = text()?.parse()?,
                Some("--seed") => read.seed = text()?.parse()?,
                Some("--agent") => read.only.push(text()?.to_owned()),
                _ => bail!("what is {}?", word.display()),
            }
        }
        Ok(read)
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::read()?;
    let agents: Vec<&RealAgent> = AGENTS
        .iter()
        .filter(|agent| arguments.only.is_empty() || arguments.only.iter().any(|name| name == agent.profile))
        .collect();
    ensure!(!agents.is_empty(), "none of these agents is known; they are {}", agent::names());
    // The parent appends its agent to the arguments, so the last one is the agent of this child.
    if let (true, Some(agent)) = (arguments.is_inside, arguments.only.last()) {
        let agent = agents.iter().find(|known| known.profile == agent).context("an agent")?;
        return hold(agent, &arguments);
    }
    println!("| profile | version | layouts | agree | differ |\n| --- | --- | ---: | ---: | ---: |");
    for agent in agents {
        let status = Command::new("unshare")
            .args(["--net", "--map-root-user"])
            .arg(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .args([OsString::from("--inside"), "--agent".into(), agent.profile.into()])
            .status()
            .context("unshare makes the network in which an agent runs")?;
        ensure!(status.success(), "{} could not be held against its profile", agent.profile);
    }
    Ok(())
}

/// Compares one agent with its profile and prints a row.
fn hold(agent: &RealAgent, arguments: &Arguments) -> anyhow::Result<()> {
    // A new network namespace has a loopback device, but it is down.
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().context("ip")?;
    ensure!(up.success(), "there is no loopback in a network of our own");
    let profile = Profile::find(agent.profile).context("a profile")?;
    let mut agree = 0;
    let mut differ = 0;
    for number in 0..arguments.layouts {
        let directory = tempfile::Builder::new().prefix("oracle-").tempdir()?;
        let parent = directory.path().canonicalize()?;
        // Each layout has a seed of its own, so that a difference can be reproduced without drawing the layouts before
        // it.
        let layout = Layout::draw(&mut Chance::new(arguments.seed * 1_000_003 + number), profile);
        layout.make(&parent)?;
        let cwd = parent.join(&layout.cwd).canonicalize()?;
        let sent = agent.first_request(&arguments.agents, &parent.join("home"), &cwd)?;
        let homes = HomeDirectories::find(Some(parent.join("home")), |_| None);
        let settings = FileSettings { homes, ..FileSettings::of(profile) };
        let resolution = resolve(&Request { cwd: &cwd, settings: &settings }, None);
        let verdict = Verdict::of(resolution.as_ref().map(|found| found.blocks.as_slice()), sent.as_ref());
        match verdict {
            Verdict::Agrees => agree += 1,
            Verdict::Differs(how) => {
                differ += 1;
                eprintln!("{} differs in layout {number} of seed {}: {how}", agent.profile, arguments.seed);
                let blocks = resolution.map(|found| found.blocks.clone()).unwrap_or_default();
                let note = serde_json::json!({
                    "layout": layout.described(), "parent": parent, "difference": how,
                    "ours": blocks, "sent": sent.map(|sent| sent.texts),
                });
                let name = format!("{}-{}-{number}.json", agent.profile, arguments.seed);
                write_note(&arguments.notes.join(name), &note)?;
            }
        }
    }
    let version = profile.agent.version.unwrap_or_default();
    println!("| `{}` | {version} | {} | {agree} | {differ} |", agent.profile, arguments.layouts);
    Ok(())
}

fn write_note(path: &Path, note: &serde_json::Value) -> anyhow::Result<()> {
    std::fs::create_dir_all(path.parent().context("a directory")?)?;
    std::fs::write(path, serde_json::to_string_pretty(note)?).with_context(|| path.display().to_string())
}
