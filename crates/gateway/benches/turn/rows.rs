//! Times under their names, each compared with the first.

use std::time::Duration;

use measure::{Samples, Table, show_ratio, show_time};

/// Times of several things, in the order of their names.
pub(crate) struct Rows<const COUNT: usize> {
    rows: [(&'static str, Vec<Duration>); COUNT],
}

impl<const COUNT: usize> Rows<COUNT> {
    pub(crate) fn new(names: [&'static str; COUNT]) -> Self {
        Self { rows: names.map(|name| (name, Vec::new())) }
    }

    /// Adds one time to every row.
    pub(crate) fn push(&mut self, times: [Duration; COUNT]) {
        self.extend(times.map(|time| vec![time]));
    }

    /// Adds times to every row.
    pub(crate) fn extend(&mut self, times: [Vec<Duration>; COUNT]) {
        for ((_, row), times) in self.rows.iter_mut().zip(times) {
            row.extend(times);
        }
    }

    /// Returns a table with each row's ratio to the first row's median, and the difference.
    pub(crate) fn compared(self) -> Table<5> {
        let mut table = Table::new(["", "p50", "p99", "ratio", "more"]);
        let mut first = None;
        for (name, times) in self.rows {
            let samples = Samples::new(times);
            let median = samples.median();
            let least = *first.get_or_insert(median);
            let ratio = show_ratio(median.as_secs_f64() / least.as_secs_f64());
            let more = if median > least { show_time(median - least) } else { String::new() };
            table.row([name.to_owned(), show_time(median), show_time(samples.quantile(0.99)), ratio, more]);
        }
        table
    }

    /// Returns a table without a comparison, for the parts of one time.
    pub(crate) fn listed(self, heading: &str) -> Table<3> {
        let mut table = Table::new([heading, "p50", "p99"]);
        for (name, times) in self.rows {
            let samples = Samples::new(times);
            table.row([name.to_owned(), show_time(samples.median()), show_time(samples.quantile(0.99))]);
        }
        table
    }
}
