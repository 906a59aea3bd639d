//! Real gateway processes that are killed and frozen while clients save, and a check of every acknowledged save.
//!
//! There is one gateway on SQLite and three on PostgreSQL, which is itself crashed, restarted and frozen. Clients log
//! every answer they receive, and the final check compares these logs with the database. SQLite runs on a small disk
//! that is filled at times; the clocks of the gateways on PostgreSQL differ by a minute. The report lists what the
//! machine did not permit.

mod clock;
mod disk;
mod fault;
mod follower;
mod ledger;
mod progress;
mod report;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use chance::Chance;
use client::{Client, ClientError};
use gateway_process::{ClockShift, GatewayProcess, Launch, check_clock};
use protocol::method::{
    FolderCreate, FolderCreateParams, ThreadTree, ThreadTreeParams, WorkspaceCreate, WorkspaceCreateParams,
};
use protocol::{FolderId, WorkspaceId};
use test_postgres::Cluster;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use report::TortureReport;

use crate::torture::disk::SmallDisk;
use crate::torture::fault::Driver;
use crate::torture::ledger::Ledger;
use crate::torture::progress::Progress;
use crate::torture::writer::{Writer, WriterKind};

/// Time limit for anything not delayed by a fault, generous because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of gateways on PostgreSQL; SQLite has one.
const NODES: usize = 3;
// Several workspaces, because saves of different ones run concurrently in a gateway while those of one are ordered.
const WORKSPACES: usize = 8;
/// Writers per workspace: sharing writers stay with one gateway and share a document; owning writers have their own
/// document and switch to the next gateway if theirs does not answer.
const SHARING: usize = 3;
const OWNING: usize = 3;

pub enum Database {
    Sqlite,
    Postgres(Cluster),
}

/// Parameters of a run.
pub struct Torture {
    pub program: PathBuf,
    pub database: Database,
    /// Duration of the faults; the final check comes on top.
    pub time: Duration,
    pub seed: u64,
}

/// A document that writers save.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SavedScope {
    workspace_id: WorkspaceId,
    folder_id: FolderId,
}

impl Torture {
    /// Runs the test. The error describes what was lost, duplicated, missing or out of order.
    pub async fn run(self) -> anyhow::Result<TortureReport> {
        let mut report = TortureReport::default();
        // Shifted clocks only where there are several gateways: a single one has no other clock to disagree with. A
        // full disk only on SQLite, whose file can be moved to a small one.
        let (cluster, disk, launches) = match self.database {
            Database::Sqlite => {
                let (disk, launch) = on_small_disk(Launch::new(self.program), self.time, &mut report);
                (None, disk, vec![launch])
            }
            Database::Postgres(cluster) => {
                let launch = Launch::new(self.program).flag("--database", cluster.create_database()?);
                (Some(cluster), None, with_shifted_clocks(&launch, &mut report))
            }
        };
        let count = launches.len();
        let mut nodes = Vec::new();
        for launch in launches {
            nodes.push(GatewayProcess::start(launch)?);
        }
        let targets: Vec<_> = nodes.iter().map(GatewayProcess::target).collect();
        let progress = Arc::new(Progress::new(count));
        let owner = Client::connect(&targets[0]).await?;
        // A library that is not loaded changes nothing, and the run would pass without having tested anything.
        for (target, seconds) in targets.iter().zip(&report.clock_shifts) {
            check_clock(target, *seconds)?;
        }

        let disk_fills = disk.is_some();
        let (stop, stopped) = watch::channel(false);
        let mut writers = JoinSet::new();
        let mut followers = JoinSet::new();
        let mut ends = Vec::new();
        for workspace in 0..WORKSPACES {
            let workspace_id = make_workspace(&owner, workspace).await?;
            let (end, ended) = watch::channel(None);
            // They follow from change 0, so each must receive everything from number 1, no matter when it connects.
            for target in &targets {
                followers.spawn(follower::follow(target.clone(), workspace_id.clone(), ended.clone()));
            }
            // Created before the faults begin: the writers check saves, and a lost answer to creating a folder would
            // leave them without a document.
            let shared = make_document(&owner, &workspace_id, "shared").await?;
            for number in 0..SHARING + OWNING {
                let (kind, place) = if number < SHARING {
                    (WriterKind::Sharing, shared.clone())
                } else {
                    (
                        WriterKind::Owning,
                        make_document(&owner, &workspace_id, &format!("own {number}")).await?,
                    )
                };
                let name = format!("workspace {workspace}, writer {number}");
                let progress = Arc::clone(&progress);
                let writer = Writer { name, kind, place, targets: targets.clone(), progress, disk_fills };
                writers.spawn(writer.run(number, stopped.clone()));
            }
            ends.push((workspace_id, end));
        }
        // Its gateway is about to be killed, and nothing uses it until the end.
        drop(owner);

        let begun = Instant::now();
        let mut driver =
            Driver { nodes, cluster, disk, progress: Arc::clone(&progress), chance: Chance::new(self.seed) };
        while begun.elapsed() < self.time {
            driver.next_fault(&mut report).await?;
            // A writer ends early only after an answer it must never get.
            if let Some(ended) = writers.try_join_next() {
                ended??;
            }
        }
        report.seconds = begun.elapsed().as_secs();

        // The writers finish first. Only then is the newest change known that the subscribers wait for.
        stop.send(true)?;
        let mut ledger = Ledger::default();
        while let Some(ended) = writers.join_next().await {
            ledger.add(ended??)?;
        }
        let client = Client::connect(&targets[0]).await?;
        for (workspace_id, end) in &ends {
            let newest = client.call::<ThreadTree>(&ThreadTreeParams::whole(workspace_id.clone())).await?.seq;
            end.send(Some(newest))?;
        }
        let mut followed = Vec::new();
        while let Some(ended) = tokio::time::timeout(PATIENCE, followers.join_next())
            .await
            .context("a subscriber did not get everything in time")?
        {
            followed.push(ended??);
        }
        ledger.check(&client, &mut report).await?;
        follower::check(&followed, &ledger, &mut report)?;
        ensure!(report.acknowledged > 0, "nothing was saved");
        // Kept until here, because dropping the driver ends the gateways that the checks above ask.
        drop(driver);
        Ok(report)
    }
}

/// Puts a gateway's database on a disk that can be filled.
fn on_small_disk(
    mut launch: Launch,
    time: Duration,
    report: &mut TortureReport,
) -> (Option<SmallDisk>, Launch) {
    match SmallDisk::make(time) {
        Ok(disk) => {
            launch.through = disk.enter();
            let launch = launch.flag("--database", disk.database());
            (Some(disk), launch)
        }
        Err(error) => {
            report.not_tried.push(format!("a disk that fills: {error:#}"));
            (None, launch)
        }
    }
}

/// Returns one launch per gateway, each with a different clock.
fn with_shifted_clocks(launch: &Launch, report: &mut TortureReport) -> Vec<Launch> {
    let Some(clock) = ClockShift::find() else {
        let reason = "clocks that differ: libfaketime is not installed (Debian's package is `faketime`)";
        report.not_tried.push(reason.to_owned());
        return vec![launch.clone(); NODES];
    };
    report.clock_shifts = (0..NODES).map(clock::shift).collect();
    report.clock_shifts.iter().map(|seconds| clock.apply(launch.clone(), *seconds)).collect()
}

async fn make_workspace(client: &Client, number: usize) -> Result<WorkspaceId, ClientError> {
    let name = format!("workspace {number}");
    let params = WorkspaceCreateParams { name, root_path: None, agents: None };
    Ok(client.call::<WorkspaceCreate>(&params).await?.workspace.id)
}

/// Creates a folder; its document is created by the first save.
async fn make_document(
    client: &Client,
    workspace_id: &WorkspaceId,
    name: &str,
) -> Result<SavedScope, ClientError> {
    let workspace_id = workspace_id.clone();
    let params = FolderCreateParams {
        workspace_id: workspace_id.clone(),
        parent_folder_id: None,
        name: name.to_owned(),
    };
    Ok(SavedScope { workspace_id, folder_id: client.call::<FolderCreate>(&params).await?.folder.id })
}
