//! Cost of resolving a chain compared with its bare system calls and with other algorithms.
//!
//! ```text
//! cargo bench -p foreword-instructions --bench instructions -- [--quick] [chain] [calls] [tree]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

mod bare;
mod calls;
mod chain;
mod fixture;
mod large_tree;
mod on_a_runtime;

use measure::{BenchArguments, Machine};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [mode, directory, way] if mode == large_tree::MODE => return large_tree::resolve_all(directory, way),
        [mode] if mode == calls::MODE => return calls::be_watched(),
        _ => {}
    }
    let arguments = BenchArguments::new(words);
    println!("{}\n", Machine::this());
    if arguments.ask_for("chain") {
        chain::measure(arguments.effort)?;
    }
    if arguments.ask_for("calls") {
        calls::measure()?;
    }
    if arguments.ask_for("tree") {
        large_tree::measure(arguments.effort)?;
    }
    Ok(())
}
