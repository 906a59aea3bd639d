//! Cost of a gateway on top of its store: requests over real sockets, notifications, and a large answer.
//!
//! ```text
//! cargo bench -p foreword-gateway --bench gateway -- [--quick] [rates] [notify] [subscribers] [tree]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

mod asker;
mod fan_out;
mod notify;
mod open_files;
mod post;
mod rates;
mod serve;
mod subscribers;
mod tree;

use measure::{BenchArguments, Machine};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, data] = words.as_slice()
        && mode == serve::MODE
    {
        return serve::until_told(data).await;
    }
    let arguments = BenchArguments::new(words);
    println!("{}\n", Machine::this());
    if arguments.ask_for("rates") {
        rates::measure(arguments.effort).await?;
    }
    if arguments.ask_for("notify") {
        notify::measure(arguments.effort).await?;
    }
    if arguments.ask_for("subscribers") {
        subscribers::measure(arguments.effort).await?;
    }
    if arguments.ask_for("tree") {
        tree::measure(arguments.effort).await?;
    }
    Ok(())
}
