//! Results of a load test.

use std::fmt;

use measure::{Samples, Table, show_bytes, show_count, show_time};

use crate::load::{CallKind, RateStep, Refusal, Resources, Tally};

#[derive(Debug, Default)]
pub struct LoadReport {
    pub connections: usize,
    pub workspaces: usize,
    /// Results at the steady rate.
    pub tally: Tally,
    pub subscribers: usize,
    /// Changes that subscribers received, complete and in order.
    pub received: u64,
    pub resources: Vec<Resources>,
    /// Results at higher rates.
    pub steps: Vec<RateStep>,
    pub refusals: Vec<Refusal>,
    /// Reasons of connections the gateway closed early.
    pub dropped: Vec<String>,
}

impl fmt::Display for LoadReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, workspaces, tally, subscribers, received, .. } = self;
        let seconds = tally.time.as_secs_f64();
        writeln!(formatter, "{connections} connections, {workspaces} workspaces, {seconds:.0} s\n")?;
        write!(formatter, "{}", calls(tally))?;
        writeln!(
            formatter,
            "{subscribers} subscribers received {} changes, complete and in order\n",
            show_count(*received)
        )?;
        write!(formatter, "{}", self.resource_table())?;
        writeln!(formatter, "\npast the steady rate, all kinds together:")?;
        write!(formatter, "{}", self.step_table())?;
        for step in &self.steps {
            problems(formatter, &step.tally)?;
        }
        writeln!(formatter, "\npast the limits:")?;
        for Refusal { wanted, message, ready } in &self.refusals {
            writeln!(formatter, "- {wanted}\n    answer: {message}\n    /readyz afterwards: {ready}")?;
        }
        match self.dropped.as_slice() {
            [] => write!(formatter, "the gateway closed no connection early"),
            dropped => write!(formatter, "connections that the gateway closed early: {}", dropped.join(", ")),
        }
    }
}

impl LoadReport {
    fn resource_table(&self) -> Table<3> {
        let mut table = Table::new(["the gateway", "memory", "handles"]);
        for Resources { moment, resident, handles } in &self.resources {
            table.row([moment.clone(), show_bytes(*resident), show_count(*handles as u64)]);
        }
        table
    }

    fn step_table(&self) -> Table<7> {
        let mut table =
            Table::new(["wanted a second", "answered", "p50", "p99", "p99.9", "errors", "not made"]);
        for RateStep { rate, tally } in &self.steps {
            let all = tally.all();
            let [p50, p99, p999] = quantiles(&all);
            let answered = per_second(tally, all.count());
            let errors = show_count(tally.problem_count());
            table.row([
                show_count(u64::from(*rate)),
                answered,
                p50,
                p99,
                p999,
                errors,
                show_count(tally.not_made),
            ]);
        }
        table
    }
}

/// Writes calls by kind, followed by errors.
fn calls(tally: &Tally) -> impl fmt::Display {
    fmt::from_fn(move |formatter| {
        let mut table = Table::new(["", "calls", "a second", "p50", "p99", "p99.9", "longest", "errors"]);
        let rows =
            CallKind::TABLE.iter().map(|(kind, name, _)| (*name, tally.samples(*kind), errors(tally, *kind)));
        for (name, samples, errors) in rows.chain([("all", tally.all(), tally.problem_count())]) {
            let [p50, p99, p999] = quantiles(&samples);
            let count = show_count(samples.count() as u64);
            let rate = per_second(tally, samples.count());
            let longest = show_time(samples.max());
            table.row([name.to_owned(), count, rate, p50, p99, p999, longest, show_count(errors)]);
        }
        write!(formatter, "{table}")?;
        if tally.not_made > 0 {
            writeln!(
                formatter,
                "{} calls were not made: those before them took too long",
                show_count(tally.not_made)
            )?;
        }
        problems(formatter, tally)
    })
}

fn errors(tally: &Tally, kind: CallKind) -> u64 {
    tally.problems.iter().filter(|((of, _), _)| *of == kind).map(|(_, count)| count).sum()
}

fn problems(formatter: &mut fmt::Formatter<'_>, tally: &Tally) -> fmt::Result {
    for ((kind, message), count) in &tally.problems {
        writeln!(formatter, "  {} × {}: {message}", show_count(*count), kind.name())?;
    }
    Ok(())
}

fn quantiles(samples: &Samples) -> [String; 3] {
    [0.5, 0.99, 0.999].map(|part| show_time(samples.quantile(part)))
}

fn per_second(tally: &Tally, count: usize) -> String {
    format!("{:.1}", tally.rate(count))
}
