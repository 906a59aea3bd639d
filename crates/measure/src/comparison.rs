//! Comparison of several subjects, measured in turns.

use std::fmt;
use std::pin::Pin;
use std::time::Instant;

use crate::{Samples, Table, show_ratio, show_time};

/// Numbers of runs.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// Rounds whose times are discarded.
    pub warm_up: usize,
    /// Rounds whose times count.
    pub measured: usize,
}

/// The measured subjects; the first is the reference.
pub struct Comparison<'a> {
    subjects: Vec<(String, Box<dyn MeasuredSubject + 'a>)>,
}

/// Object-safe form of an async closure.
trait MeasuredSubject {
    fn run(&mut self) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + '_>>;
}

impl<F: AsyncFnMut() -> anyhow::Result<()>> MeasuredSubject for F {
    fn run(&mut self) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + '_>> {
        Box::pin(self())
    }
}

impl<'a> Comparison<'a> {
    /// Creates a comparison with its reference.
    pub fn against(name: &str, subject: impl AsyncFnMut() -> anyhow::Result<()> + 'a) -> Self {
        Self { subjects: Vec::new() }.with(name, subject)
    }

    /// Adds a subject to compare with the reference.
    pub fn with(mut self, name: &str, subject: impl AsyncFnMut() -> anyhow::Result<()> + 'a) -> Self {
        self.subjects.push((name.to_owned(), Box::new(subject)));
        self
    }

    /// Runs all subjects in every round. The order rotates, so that none always follows the same one.
    pub async fn run(mut self, rounds: Rounds) -> anyhow::Result<Figures> {
        let count = self.subjects.len();
        let mut times = vec![Vec::with_capacity(rounds.measured); count];
        for round in 0..rounds.warm_up + rounds.measured {
            for turn in 0..count {
                // Caches and the allocator are in the state that the previous subject left, hence the rotation.
                let index = (round + turn) % count;
                let started = Instant::now();
                self.subjects[index].1.run().await?;
                let took = started.elapsed();
                if round >= rounds.warm_up {
                    times[index].push(took);
                }
            }
        }
        let names = self.subjects.into_iter().map(|(name, _)| name);
        Ok(Figures { rows: names.zip(times.into_iter().map(Samples::new)).collect() })
    }
}

/// Results of a comparison, in the order of the subjects.
#[derive(Debug, Clone)]
pub struct Figures {
    rows: Vec<(String, Samples)>,
}

impl Figures {
    /// Returns the times of a subject. Empty for an unknown name.
    pub fn of(&self, name: &str) -> Samples {
        let found = self.rows.iter().find(|(row, _)| row == name);
        found.map_or_else(Samples::default, |(_, samples)| samples.clone())
    }

    /// Returns a subject's median divided by that of the reference.
    pub fn ratio(&self, name: &str) -> f64 {
        self.ratio_of(&self.of(name))
    }

    fn ratio_of(&self, samples: &Samples) -> f64 {
        let first = self.rows.first().map_or(0.0, |(_, first)| first.median().as_secs_f64());
        samples.median().as_secs_f64() / first
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["", "p50", "p99", "ratio"]);
        for (name, samples) in &self.rows {
            let ratio = show_ratio(self.ratio_of(samples));
            table.row([name.clone(), show_time(samples.median()), show_time(samples.quantile(0.99)), ratio]);
        }
        table.fmt(formatter)
    }
}
