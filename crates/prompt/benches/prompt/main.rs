//! Compares the cost of compiling a prompt with hashing its bytes, and measures reuse from turn to turn.
//!
//! ```text
//! cargo bench -p foreword-prompt --bench prompt -- [--quick] [compile] [hooks] [tokens] [turns]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark reports its results on standard output")]

mod compile;
mod fixture;
mod hook_runtime;
mod token_count;
mod turns;

use measure::{BenchArguments, Machine};

fn main() -> anyhow::Result<()> {
    let arguments = BenchArguments::new(std::env::args().skip(1));
    println!("{}\n", Machine::this());
    let runtime = measure::tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if arguments.ask_for("compile") {
        runtime.block_on(compile::measure(arguments.effort))?;
    }
    if arguments.ask_for("hooks") {
        runtime.block_on(hook_runtime::measure(arguments.effort))?;
    }
    if arguments.ask_for("tokens") {
        runtime.block_on(token_count::measure(arguments.effort))?;
    }
    if arguments.ask_for("turns") {
        turns::simulate(arguments.effort);
    }
    Ok(())
}
