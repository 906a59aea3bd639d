//! Several things measured in turns.

use std::fmt;
use std::pin::Pin;
use std::time::Instant;

use crate::{Samples, Table, show_ratio, show_time};

/// How often everything is run.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// Rounds whose times are thrown away.
    pub warm_up: usize,
    /// Rounds whose times count.
    pub measured: usize,
}

/// What is measured; the first is what the others are compared with.
pub struct Comparison<'a> {
    subjects: Vec<(String, Box<dyn Subject + 'a>)>,
}

/// An async closure in a form that can be boxed.
trait Subject {
    fn run(&mut self) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + '_>>;
}

impl<F: AsyncFnMut() -> anyhow::Result<()>> Subject for F {
    fn run(&mut self) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + '_>> {
        Box::pin(self())
    }
}

impl<'a> Comparison<'a> {
    /// Names what the others are compared with.
    pub fn against(name: &str, subject: impl AsyncFnMut() -> anyhow::Result<()> + 'a) -> Self {
        Self { subjects: Vec::new() }.with(name, subject)
    }

    /// Adds something to hold against the first.
    pub fn with(mut self, name: &str, subject: impl AsyncFnMut() -> anyhow::Result<()> + 'a) -> Self {
        self.subjects.push((name.to_owned(), Box::new(subject)));
        self
    }

    /// Runs everything once a round. Who begins changes from round to round, so that none always follows the same.
    pub async fn run(mut self, rounds: Rounds) -> anyhow::Result<Figures> {
        let count = self.subjects.len();
        let mut times = vec![Vec::with_capacity(rounds.measured); count];
        for round in 0..rounds.warm_up + rounds.measured {
            for turn in 0..count {
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

/// What a comparison found, in the order its subjects were named.
#[derive(Debug, Clone)]
pub struct Figures {
    rows: Vec<(String, Samples)>,
}

impl Figures {
    /// The times of one subject; none were taken of one that was never named.
    pub fn of(&self, name: &str) -> Samples {
        let found = self.rows.iter().find(|(row, _)| row == name);
        found.map_or_else(Samples::default, |(_, samples)| samples.clone())
    }

    /// How many times the first subject's median this one's is.
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
