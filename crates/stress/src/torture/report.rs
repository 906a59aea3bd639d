//! Results of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Counts of a run without violations.
#[derive(Debug, Default)]
pub struct TortureReport {
    pub seconds: u64,
    pub documents: usize,
    pub acknowledged: u64,
    /// Stored saves, including those whose answer was lost.
    pub stored: u64,
    /// Saves without an answer, or with an answer to retry.
    pub interruptions: u64,
    pub faults: BTreeMap<&'static str, u64>,
    pub subscribers: usize,
    pub notifications: u64,
    /// Longest time a gateway acknowledged nothing while another was frozen.
    pub longest_stall: Option<Duration>,
    /// Clock offset of each gateway in seconds; empty if all used the machine's clock.
    pub clock_shifts: Vec<i64>,
    /// Faults the machine does not permit, with the reason.
    pub not_tried: Vec<String>,
}

impl TortureReport {
    pub fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }
}

impl fmt::Display for TortureReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seconds, documents, acknowledged, stored, interruptions, subscribers, notifications, ..
        } = self;
        writeln!(formatter, "{} faults in {seconds} seconds:", self.fault_count())?;
        for (name, count) in &self.faults {
            writeln!(formatter, "  {count} × {name}")?;
        }
        writeln!(
            formatter,
            "{acknowledged} saves of {documents} documents acknowledged, none lost or duplicated"
        )?;
        writeln!(
            formatter,
            "{stored} saves are stored, versions without a gap; {interruptions} interruptions"
        )?;
        write!(
            formatter,
            "{subscribers} subscribers received {notifications} changes, complete and in order"
        )?;
        if let Some(stall) = self.longest_stall {
            write!(
                formatter,
                "\nlongest stall of a gateway while another was frozen: {:.1} s",
                stall.as_secs_f64()
            )?;
        }
        if !self.clock_shifts.is_empty() {
            write!(formatter, "\nseconds by which the gateways' clocks were off: {:?}", self.clock_shifts)?;
        }
        for reason in &self.not_tried {
            write!(formatter, "\nnot tried: {reason}")?;
        }
        Ok(())
    }
}
