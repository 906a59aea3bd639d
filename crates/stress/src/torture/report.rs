//! What came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Counts of a run in which everything held.
#[derive(Debug, Default)]
pub struct Report {
    pub seconds: u64,
    pub documents: usize,
    /// Saves that a client was told are there.
    pub acknowledged: u64,
    /// Saves that are there: also those whose answer was lost.
    pub stored: u64,
    /// Times that a client got no answer, or was told to try again.
    pub interruptions: u64,
    pub faults: BTreeMap<&'static str, u64>,
    pub subscribers: usize,
    pub notifications: u64,
    /// The longest time in which a gateway acknowledged nothing because another was frozen.
    pub longest_stall: Option<Duration>,
    /// How many seconds each gateway's clock was from the machine's; empty where all had the machine's.
    pub clock_shifts: Vec<i64>,
    /// What this machine does not allow, and why.
    pub not_tried: Vec<String>,
}

impl Report {
    pub fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }
}

impl fmt::Display for Report {
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
            "{acknowledged} saves of {documents} documents acknowledged, none lost or doubled"
        )?;
        writeln!(
            formatter,
            "{stored} saves are there, versions without a gap; {interruptions} interruptions"
        )?;
        write!(
            formatter,
            "{subscribers} subscribers were told {notifications} changes, complete and in order"
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
