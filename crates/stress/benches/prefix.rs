//! Share of each request that a provider can reuse from its cache, measured over simulated turns.
//!
//! ```text
//! cargo bench -p stress --bench prefix -- [--quick] [simulation]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

use measure::{BenchArguments, Table, show_count};
use stress::simulation::Simulation;

fn main() -> anyhow::Result<()> {
    let arguments = BenchArguments::new(std::env::args().skip(1));
    if !arguments.ask_for("simulation") {
        return Ok(());
    }
    let simulation = Simulation { turns: arguments.effort.choose(60, 1_000), seed: 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(simulation.run())?;
    let reuse = &report.reuse;
    println!(
        "## {} turns at random, {} requests, {} summaries asked for\n",
        show_count(u64::from(report.turns)),
        show_count(report.requests),
        report.summaries
    );
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let mut table = Table::new(["tokens that came again in the same place", "share"]);
    table.row(["of the unchanged beginning of the request before".to_owned(), percent(reuse.share())]);
    table.row(["of the whole request before".to_owned(), percent(reuse.share_of_before())]);
    table.row(["of everything that was sent".to_owned(), percent(reuse.share_of_sent())]);
    println!("{table}");
    Ok(())
}
