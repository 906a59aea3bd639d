//! Random turns against a real gateway on SQLite, with a check of every request to the model.
//!
//! Files are edited, deleted and restored, also while a turn runs; documents are saved and archived; threads and
//! folders move; providers fail in several ways; turns are cancelled; the gateway restarts; summaries succeed, fail, or
//! are far too long. Randomness is seeded, so that failures can be reproduced. The invariants are in `checker.rs` and
//! computed from the simulation's own actions, never from what the gateway reports.

mod call;
mod checker;
mod director;
mod documents;
mod file_mentions;
mod prefix;
mod report;
mod request;
mod script;
mod stage;
mod world;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

pub use prefix::PrefixReuse;
pub use report::SimulationReport;

use crate::simulation::checker::Inputs;
use crate::simulation::documents::call;
use crate::simulation::stage::Stage;
use crate::simulation::world::DIRECTORIES;

/// Time limit for anything, generous because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval for polling a turn's status.
const POLL_EVERY: Duration = Duration::from_millis(2);

/// Parameters of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    pub turns: u32,
    pub seed: u64,
}

impl Simulation {
    /// Runs all turns. The error contains the violated invariant and the path of the request.
    pub async fn run(self) -> anyhow::Result<SimulationReport> {
        let mut stage = Stage::set(self.seed).await?;
        let mut report = SimulationReport { turns: self.turns, ..SimulationReport::default() };
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

    /// Makes random changes between two turns.
    async fn change_something(stage: &mut Stage, report: &mut SimulationReport) -> anyhow::Result<()> {
        // Several changes can happen between two turns, so that reminders about more than one file are tested.
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

    async fn turn(self, stage: &mut Stage, turn: u32, report: &mut SimulationReport) -> anyhow::Result<()> {
        // Drawn before the turn starts, because the model draws from the same generator while the turn runs, and the
        // order would depend on timing.
        let (mut changes_document, stops_gateway) = {
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
        // A running turn must not see changes in the store, so the checker applies them to the next turn.
        let begun = Instant::now();
        let status = loop {
            let (requests, is_silent) = {
                let director = stage.director();
                (director.requests, director.is_silent)
            };
            if requests > 0 && std::mem::take(&mut changes_document) {
                let what = stage.change_document().await?;
                stage.director().note(format!("  while the turn runs: {what}"));
            }
            // Both ends of an unanswered turn are tested: a cancellation, and a gateway that stops while the model is
            // silent.
            if is_silent {
                stage.director().is_silent = false;
                if stops_gateway {
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
            tokio::time::sleep(POLL_EVERY).await;
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

    /// Chooses a turn's thread and directory and writes its script.
    fn begin(stage: &Stage, turn: u32) -> (usize, PathBuf, u64) {
        let count = stage.documents.thread_count();
        let mut director = stage.director();
        let director = &mut *director;
        // Prefers recent threads, so that some threads grow long and others are resumed late.
        let newest = if director.random.percent(80) { count.min(3) } else { count };
        let thread = count - 1 - director.random.below(newest);
        let directory = if director.random.percent(80) { "" } else { director.random.pick(DIRECTORIES) };
        let cwd = clean(&director.world.project.join(directory));
        let frozen = director.checker.thread(thread).frozen.clone();
        let inputs = Inputs {
            persona: director.world.persona,
            document: stage.documents.effective(thread),
            // A thread keeps the start of its first completed turn; until there is one, every turn starts anew.
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

/// Removes the trailing slash that joining an empty path leaves.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Writes a request to a file for debugging.
fn dump(seed: u64, turn: u32, body: &serde_json::Value) -> anyhow::Result<PathBuf> {
    // The request is too long for an error message, and it is needed to understand the violation.
    let path = std::env::temp_dir().join(format!("foreword-simulation-seed-{seed}-turn-{turn}.json"));
    std::fs::write(&path, serde_json::to_string_pretty(body)?)?;
    Ok(path)
}
