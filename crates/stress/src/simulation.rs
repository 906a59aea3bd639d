//! Many turns at random against a real gateway over SQLite, and a check of every request a model gets.
//!
//! Files are edited, deleted and brought back, also while a turn runs; documents are saved and archived; threads and folders
//! move; providers stumble, fail, cut and refuse; turns are cancelled; the gateway is stopped and started; summaries come,
//! fail, and are far too long. Chance is seeded, so that a failure can be repeated. What must be true of every request is
//! in `checker.rs`, computed from what the simulation did itself, never from what the gateway says.

mod call;
mod checker;
mod director;
mod documents;
mod prefix;
mod report;
mod request;
mod script;
mod stage;
mod told;
mod world;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

pub use prefix::PrefixReuse;
pub use report::Report;

use crate::simulation::checker::Inputs;
use crate::simulation::documents::call;
use crate::simulation::stage::Stage;
use crate::simulation::world::DIRECTORIES;

/// How long anything may take; a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is asked whether a turn has ended.
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// What to simulate.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    pub turns: u32,
    pub seed: u64,
}

impl Simulation {
    /// Runs all turns; the error says which invariant which request broke, and where the request is.
    pub async fn run(self) -> anyhow::Result<Report> {
        let mut stage = Stage::set(self.seed).await?;
        let mut report = Report { turns: self.turns, ..Report::default() };
        for turn in 1..=self.turns {
            Self::change_something(&mut stage, &mut report).await?;
            self.turn(&mut stage, turn, &mut report).await?;
            stage.forget_requests();
        }
        let mut director = stage.director();
        report.requests = director.total_requests;
        report.summaries = director.summaries;
        report.threads = stage.documents.thread_count();
        report.reuse = std::mem::take(&mut director.checker.reuse);
        Ok(report)
    }

    /// What happens between two turns.
    async fn change_something(stage: &mut Stage, report: &mut Report) -> anyhow::Result<()> {
        for _ in 0..3 {
            let chance = stage.director().random.below(100);
            let what = match chance {
                0..=17 => {
                    let mut director = stage.director();
                    let director = &mut *director;
                    director.world.change_file(&mut director.random)?
                }
                18..=22 => stage.change_document().await?,
                23 => {
                    stage.director().world.write_persona()?;
                    "wrote USER.md".to_owned()
                }
                24 => {
                    report.restarts += 1;
                    stage.restart().await?;
                    "stopped the gateway and started it again".to_owned()
                }
                25 => stage.add_thread().await?,
                _ => continue,
            };
            stage.director().note(what);
        }
        Ok(())
    }

    async fn turn(self, stage: &mut Stage, turn: u32, report: &mut Report) -> anyhow::Result<()> {
        // Chosen before the turn begins: from then on the model draws from the same chance.
        let (mut will_change, will_stop) = {
            let random = &mut stage.director().random;
            (random.percent(6), random.percent(25))
        };
        let (thread, cwd, fact) = Self::begin(stage, turn);
        let thread_id = stage.documents.thread_id(thread).to_owned();
        let input = format!("FACT-{fact}. Go on.");
        let params = json!({
            "workspace_id": stage.workspace, "thread_id": thread_id, "input": input, "cwd": cwd,
        });
        let started = call(&stage.client, "turn/start", &params).await?;
        let turn_id = started["turn"]["id"].as_str().unwrap_or_default().to_owned();
        let params = json!({ "workspace_id": stage.workspace, "turn_id": turn_id });
        // What changes in the store while a turn runs is the next turn's.
        let begun = Instant::now();
        let status = loop {
            let (requests, is_silent) = {
                let director = stage.director();
                (director.requests, director.is_silent)
            };
            if requests > 0 && std::mem::take(&mut will_change) {
                let what = stage.change_document().await?;
                stage.director().note(format!("  while the turn runs: {what}"));
            }
            if is_silent {
                stage.director().is_silent = false;
                if will_stop {
                    report.restarts += 1;
                    stage.director().note("  the gateway is stopped".to_owned());
                    stage.restart().await?;
                } else {
                    call(&stage.client, "turn/cancel", &params).await?;
                }
            }
            let got = call(&stage.client, "turn/get", &params).await?;
            match got["turn"]["status"].as_str() {
                Some("running") => {}
                Some(status) => break status.to_owned(),
                None => anyhow::bail!("turn {turn} of seed {} has no status: {got}", self.seed),
            }
            anyhow::ensure!(begun.elapsed() < PATIENCE, "turn {turn} of seed {} does not end", self.seed);
            tokio::time::sleep(ASK_AGAIN).await;
        };
        let mut director = stage.director();
        director.note(format!("  {status}"));
        director.checker.end(status == "completed");
        match status.as_str() {
            "completed" => report.completed += 1,
            "cancelled" => report.cancelled += 1,
            _ => report.failed += 1,
        }
        match director.violation.take() {
            None => Ok(()),
            Some((violation, body)) => {
                let path = dump(self.seed, turn, &body)?;
                let log: Vec<String> = director.log.iter().cloned().collect();
                anyhow::bail!(
                    "seed {}, turn {turn}: broken is \"{}\"\n{}\nthe request: {}\nwhat happened before:\n{}",
                    self.seed,
                    violation.invariant,
                    violation.detail,
                    path.display(),
                    log.join("\n")
                )
            }
        }
    }

    /// Chooses what a turn is about, and writes its script.
    fn begin(stage: &Stage, turn: u32) -> (usize, PathBuf, u64) {
        let count = stage.documents.thread_count();
        let mut director = stage.director();
        let director = &mut *director;
        // Mostly the newest ones, so that some threads become long and some are taken up again late.
        let newest = if director.random.percent(80) { count.min(3) } else { count };
        let thread = count - 1 - director.random.below(newest);
        let directory = if director.random.percent(80) { "" } else { director.random.pick(DIRECTORIES) };
        let cwd = clean(&director.world.project.join(directory));
        let frozen = director.checker.thread(thread).frozen.clone();
        let inputs = Inputs {
            persona: director.world.persona,
            document: stage.documents.effective(thread),
            start: frozen.unwrap_or_else(|| (director.world.revision, cwd.clone())),
        };
        let fact = director.world.number();
        director.script = stage.script(thread, director);
        director.requests = 0;
        director.is_silent = false;
        director.today = stage::today();
        director.note(format!("turn {turn}: thread {thread} in {}, FACT-{fact}", cwd.display()));
        let files = director.world.files.clone();
        director.checker.begin(thread, fact, &cwd, inputs, &files);
        (thread, cwd, fact)
    }
}

/// A path without the slash that joining nothing leaves at its end.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Keeps a request for whoever looks into what is wrong with it.
fn dump(seed: u64, turn: u32, body: &serde_json::Value) -> anyhow::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("foreword-simulation-seed-{seed}-turn-{turn}.json"));
    std::fs::write(&path, serde_json::to_string_pretty(body)?)?;
    Ok(path)
}
