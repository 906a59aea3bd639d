//! Steady load of many clients on a real gateway: latency, memory, file handles, and behavior past the limits.
//!
//! A call's latency counts from the moment it was due, so calls that wait behind a slow one count as slow as well. The
//! scripted model answers immediately, so a turn's time is the gateway's own.

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

pub use call::CallKind;
pub use overload::{RateStep, Refusal};
pub use report::LoadReport;
pub use resources::Resources;
pub use tally::Tally;

use crate::load::crowd::Crowd;
use crate::load::resources::WatchedProcess;
use crate::load::stage::Stage;

/// Time limit for anything that is not measured, generous because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval for recording memory and handles.
const MINUTE: Duration = Duration::from_secs(60);
/// Maximum duration of each rate above the steady one.
const LONGEST_STEP: Duration = Duration::from_secs(10);

/// Parameters of a load test.
pub struct Load {
    pub program: PathBuf,
    /// `None` for SQLite.
    pub postgres: Option<Cluster>,
    pub connections: usize,
    pub workspaces: usize,
    /// Calls per second, including turns.
    pub rate: u32,
    /// Duration at the steady rate; the steps past the limits come on top.
    pub time: Duration,
    pub seed: u64,
}

impl Load {
    /// Runs the test. Fails if it could not be performed or a subscriber missed a change; rejected calls are part of
    /// the report.
    pub async fn run(self) -> anyhow::Result<LoadReport> {
        raise_handle_limit();
        let mut chance = Chance::new(self.seed);
        let mut report = LoadReport {
            connections: self.connections,
            workspaces: self.workspaces,
            ..LoadReport::default()
        };
        let stage = Stage::set(&self).await?;
        let stage = Arc::new(stage);
        let watched = WatchedProcess::of(stage.gateway.pid());
        report.resources.push(watched.record("with its workspaces, before anybody has come")?);

        let mut crowd = Crowd::connect(&stage, self.connections, &mut chance).await?;
        report.subscribers = crowd.subscriber_count();
        report.resources.push(watched.record("all connected")?);
        let begun = Instant::now();
        while begun.elapsed() < self.time {
            let rest = self.time.saturating_sub(begun.elapsed());
            report.tally.add(crowd.work(f64::from(self.rate), rest.min(MINUTE)).await?);
            report.resources.push(watched.record(&format!("after {} s", begun.elapsed().as_secs()))?);
        }
        report.received = crowd.leave(&stage).await?;
        stage.wait_until_alone().await?;
        report.resources.push(watched.record("all have left")?);

        // The first crowd had to leave, because memory without clients is compared before and after. The limits need
        // clients again.
        let crowd = Crowd::connect(&stage, self.connections, &mut chance).await?;
        let step = self.time.min(LONGEST_STEP);
        (report.steps, report.refusals) = overload::overload(&stage, crowd, self.rate, step).await?;
        stage.wait_until_alone().await?;
        report.resources.push(watched.record("after all of this")?);
        report.dropped = stage.dropped_connections().await?;
        Ok(report)
    }
}

/// A thousand connections need a thousand file handles on the client side too.
fn raise_handle_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If raising the limit is not permitted, a connection fails with an error that names the cause.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
