//! Time a gateway adds to a model's own: turns compared with the same requests made with the provider crate alone.
//!
//! ```text
//! cargo bench -p foreword-gateway --bench turn -- [--quick] [first] [deltas] [rates] [delegation] [memory]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

mod bare;
mod child;
mod clock;
mod delegation;
mod deltas;
mod first;
mod memory;
mod model;
mod rates;
mod request;
mod rows;
mod talker;

use measure::{BenchArguments, Machine};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, rest @ ..] = words.as_slice()
        && let Some(role) = child::ChildRole::of(mode)
    {
        return role.play(rest).await;
    }
    let arguments = BenchArguments::new(words);
    println!("{}\n", Machine::this());
    if arguments.ask_for("first") {
        on_a_worker(first::measure(arguments.effort)).await?;
    }
    if arguments.ask_for("deltas") {
        on_a_worker(deltas::measure(arguments.effort)).await?;
    }
    if arguments.ask_for("rates") {
        rates::measure(arguments.effort).await?;
    }
    if arguments.ask_for("delegation") {
        delegation::measure(arguments.effort).await?;
    }
    if arguments.ask_for("memory") {
        memory::measure(arguments.effort).await?;
    }
    Ok(())
}

/// Runs a measurement of single moments on a worker thread: waking the main thread takes longer, and would hide the
/// difference.
async fn on_a_worker(work: impl Future<Output = anyhow::Result<()>> + Send + 'static) -> anyhow::Result<()> {
    tokio::spawn(work).await?
}
