//! Faults that are injected one after another while clients save.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use chance::Chance;
use gateway_process::GatewayProcess;
use test_postgres::Cluster;

use crate::torture::disk::SmallDisk;
use crate::torture::progress::Progress;
use crate::torture::{PATIENCE, TortureReport};

/// Acknowledged saves between two faults.
// Faults without saves in between would add up to one long outage, in which nothing is acknowledged and nothing could
// be lost.
const SAVES_BETWEEN: u64 = 250;
/// Polling interval for progress.
const LOOK: Duration = Duration::from_millis(10);

const SHORT: Duration = Duration::from_millis(200);
/// Longer than PostgreSQL lets a frozen gateway keep its locks.
const LONG: Duration = Duration::from_secs(7);
/// While the only gateway or the database is frozen nothing can be saved, so a longer freeze would test nothing more.
const LONG_ALONE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    KillAll,
    Freeze,
    CrashDatabase,
    RestartDatabase,
    FreezeDatabase,
    FillDisk,
}

/// Possible faults per setup. A fault that is listed twice occurs twice as often.
const ALONE: &[Fault] = &[Fault::Kill, Fault::Freeze];
const ALONE_ON_SMALL_DISK: &[Fault] = &[Fault::Kill, Fault::Freeze, Fault::FillDisk];
// Faults of a single gateway are listed twice: only then do the other gateways keep saving, and saves of several
// gateways have to be reconciled.
const TOGETHER: &[Fault] = &[
    Fault::Kill,
    Fault::Kill,
    Fault::Freeze,
    Fault::Freeze,
    Fault::KillAll,
    Fault::CrashDatabase,
    Fault::RestartDatabase,
    Fault::FreezeDatabase,
];

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::Kill => "a gateway killed (-9) and started again",
            Fault::KillAll => "all gateways killed (-9) and started again",
            Fault::Freeze => "a gateway frozen and continued",
            Fault::CrashDatabase => "PostgreSQL killed (-9) and started again",
            Fault::RestartDatabase => "PostgreSQL stopped and started again",
            Fault::FreezeDatabase => "PostgreSQL frozen and continued",
            Fault::FillDisk => "the disk filled and cleared",
        }
    }
}

pub(crate) struct Driver {
    pub(crate) nodes: Vec<GatewayProcess>,
    pub(crate) cluster: Option<Cluster>,
    /// Disk of the only gateway's database, if one could be created.
    pub(crate) disk: Option<SmallDisk>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) chance: Chance,
}

impl Driver {
    /// Waits until clients have saved, then injects a fault and repairs it.
    pub(crate) async fn next_fault(&mut self, report: &mut TortureReport) -> anyhow::Result<()> {
        // Also the check that the system recovers: without saves after a fault, the run fails here.
        self.wait_for_saves().await?;
        let faults = match (&self.cluster, &self.disk) {
            (Some(_), _) => TOGETHER,
            (None, Some(_)) => ALONE_ON_SMALL_DISK,
            (None, None) => ALONE,
        };
        let fault = faults[self.chance.below(faults.len())];
        let node = self.chance.below(self.nodes.len());
        match fault {
            Fault::Kill => {
                self.nodes[node].kill()?;
                tokio::task::block_in_place(|| self.nodes[node].start_again())?;
            }
            Fault::KillAll => {
                for node in &mut self.nodes {
                    node.kill()?;
                }
                for node in &mut self.nodes {
                    tokio::task::block_in_place(|| node.start_again())?;
                }
            }
            Fault::Freeze => {
                let longest = if self.nodes.len() > 1 { LONG } else { LONG_ALONE };
                let time = self.chance.time(SHORT, longest);
                self.nodes[node].freeze()?;
                // The error is returned only after the gateway continues, or it would stay frozen while the run is
                // taken down.
                let stall = self.watch_others(node, time).await;
                self.nodes[node].thaw()?;
                report.longest_stall = report.longest_stall.max(stall?);
            }
            Fault::CrashDatabase => self.with_database(|cluster| {
                cluster.crash()?;
                cluster.start_again()
            })?,
            Fault::RestartDatabase => self.with_database(|cluster| {
                cluster.stop()?;
                cluster.start_again()
            })?,
            Fault::FillDisk => {
                let time = self.chance.time(SHORT, LONG_ALONE);
                if let Some(disk) = &self.disk {
                    tokio::task::block_in_place(|| disk.fill())?;
                    tokio::time::sleep(time).await;
                    disk.clear()?;
                }
            }
            Fault::FreezeDatabase => {
                let time = self.chance.time(SHORT, LONG_ALONE);
                self.with_database(|cluster| {
                    let frozen = cluster.freeze()?;
                    std::thread::sleep(time);
                    frozen.thaw()
                })?;
            }
        }
        *report.faults.entry(fault.name()).or_default() += 1;
        Ok(())
    }

    fn with_database(&self, work: impl FnOnce(&Cluster) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.cluster.as_ref().map_or(Ok(()), |cluster| tokio::task::block_in_place(|| work(cluster)))
    }

    async fn wait_for_saves(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let enough = self.progress.saves() + SAVES_BETWEEN;
        while self.progress.saves() < enough {
            ensure!(
                begun.elapsed() < PATIENCE,
                "no save was acknowledged for {} s after a fault",
                PATIENCE.as_secs()
            );
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Returns the longest time another gateway acknowledged nothing while one is frozen. A stall also ends with the
    /// freeze.
    async fn watch_others(&self, frozen: usize, time: Duration) -> anyhow::Result<Option<Duration>> {
        let begun = Instant::now();
        let mut longest = None;
        while begun.elapsed() < time {
            for node in (0..self.nodes.len()).filter(|node| *node != frozen) {
                longest = longest.max(Some(self.progress.stall(node, begun)));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(longest)
    }
}
