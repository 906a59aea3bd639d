//! The cost of the store on top of its bare statements, on both databases.
//!
//! ```text
//! cargo bench -p foreword-store --bench store -- [--quick] [resolve] [save] [callers] [tree] [memory]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

mod bare;
mod callers;
mod databases;
mod large_tree;
mod memory;
mod resolve;
mod save;
mod tree;

use measure::{BenchArguments, Machine};

use crate::databases::Databases;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, address, workspace_id] = words.as_slice()
        && mode == tree::MEMORY_MODE
    {
        return tree::print_memory(address, workspace_id).await;
    }
    let arguments = BenchArguments::new(words);
    println!("{}\n", Machine::this());
    for databases in Databases::available()? {
        if arguments.ask_for("resolve") {
            resolve::measure(&databases, arguments.effort).await?;
        }
        if arguments.ask_for("save") {
            save::measure(&databases, arguments.effort).await?;
        }
        if arguments.ask_for("callers") {
            callers::measure(&databases, arguments.effort).await?;
        }
        if arguments.ask_for("tree") {
            tree::measure(&databases, arguments.effort).await?;
        }
        if arguments.ask_for("memory") {
            memory::measure(&databases, arguments.effort).await?;
        }
    }
    Ok(())
}
