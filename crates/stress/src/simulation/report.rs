//! Results of a simulation.

use std::fmt;

use crate::simulation::PrefixReuse;

/// Counts of a run without violations.
#[derive(Default)]
pub struct SimulationReport {
    pub turns: u32,
    pub completed: u32,
    pub failed: u32,
    pub cancelled: u32,
    /// Restarts of the gateway, including those during a turn.
    pub restarts: u32,
    pub threads: usize,
    pub requests: u64,
    /// Requests for summaries, including failed ones.
    pub summaries: u64,
    pub reuse: PrefixReuse,
}

impl fmt::Display for SimulationReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turns, completed, failed, cancelled, restarts, threads, requests, summaries, reuse } =
            self;
        writeln!(
            formatter,
            "{turns} turns of {threads} threads: {completed} completed, {failed} failed, {cancelled} cancelled"
        )?;
        writeln!(
            formatter,
            "{requests} requests hold, {summaries} summaries were asked for, {restarts} restarts"
        )?;
        write!(
            formatter,
            "reused: {:.2} % of what could be, {:.1} % of the requests before, {:.1} % of what was sent",
            reuse.share() * 100.0,
            reuse.share_of_before() * 100.0,
            reuse.share_of_sent() * 100.0
        )
    }
}
