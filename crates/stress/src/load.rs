//! Many clients of a real gateway at a steady rate: how long calls take, what memory and file handles do meanwhile, and what a
//! client is told past the limits.
//!
//! A call's time counts from the moment it was due, so that calls which wait behind a slow one are slow, too. The model is
//! scripted and answers at once: a turn's time is ours.

mod call;
mod crowd;
mod follower;
mod http;
mod overload;
mod report;
mod resources;
mod stage;
mod tally;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chance::Chance;
use test_postgres::Cluster;

pub use call::Kind;
pub use overload::{Refusal, Step};
pub use report::Report;
pub use resources::Resources;
pub use tally::Tally;

use crate::load::crowd::Crowd;
use crate::load::resources::Watched;
use crate::load::stage::Stage;

/// How long anything may take that is not measured; a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often memory and handles are looked at.
const MINUTE: Duration = Duration::from_secs(60);
/// How long each rate past the steady one is tried, at most.
const LONGEST_STEP: Duration = Duration::from_secs(10);

/// What to run.
pub struct Load {
    /// The `foreword` program.
    pub program: PathBuf,
    /// None: SQLite.
    pub postgres: Option<Cluster>,
    pub connections: usize,
    pub workspaces: usize,
    /// Calls a second, turns included.
    pub rate: u32,
    /// How long at that rate; what happens past the limits comes on top.
    pub time: Duration,
    pub seed: u64,
}

impl Load {
    /// Runs it; the error says what could not be done, or what a subscriber missed. What clients were refused is in the
    /// report.
    pub async fn run(self) -> anyhow::Result<Report> {
        raise_handle_limit();
        let mut chance = Chance::new(self.seed);
        let mut report =
            Report { connections: self.connections, workspaces: self.workspaces, ..Report::default() };
        let stage = Stage::set(&self).await?;
        let stage = Arc::new(stage);
        let watched = Watched::of(stage.gateway.pid());
        report.resources.push(watched.look("with its workspaces, before anybody has come")?);

        let mut crowd = Crowd::connect(&stage, self.connections, &mut chance).await?;
        report.subscribers = crowd.subscriber_count();
        report.resources.push(watched.look("all connected")?);
        let begun = Instant::now();
        while begun.elapsed() < self.time {
            let rest = self.time.saturating_sub(begun.elapsed());
            report.tally.add(crowd.work(f64::from(self.rate), rest.min(MINUTE)).await?);
            report.resources.push(watched.look(&format!("after {} s", begun.elapsed().as_secs()))?);
        }
        report.told = crowd.leave(&stage).await?;
        stage.until_alone().await?;
        report.resources.push(watched.look("all have left")?);

        let crowd = Crowd::connect(&stage, self.connections, &mut chance).await?;
        let step = self.time.min(LONGEST_STEP);
        (report.steps, report.refusals) = overload::overload(&stage, crowd, self.rate, step).await?;
        stage.until_alone().await?;
        report.resources.push(watched.look("after all of this")?);
        report.dropped = stage.dropped_connections().await?;
        Ok(report)
    }
}

/// A thousand connections are a thousand files of ours, too.
fn raise_handle_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is not allowed, a connection fails and says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
