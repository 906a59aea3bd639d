//! Counting tokens compared with the usual library.

use measure::{Comparison, Effort, Rounds};
use tokens::{Counter, Encoding};

use crate::fixture::forty_sections;

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let text = prompt::compile_prompt(&forty_sections()).full_text;
    let usual = tiktoken_rs::cl100k_base_singleton();
    let counter = Counter::default();
    anyhow::ensure!(usual.encode_ordinary(&text).len() == tokens::count(Encoding::Cl100k, &text));
    let figures = Comparison::against("tiktoken-rs", async || {
        std::hint::black_box(usual.encode_ordinary(&text).len());
        Ok(())
    })
    .with("tokens::count", async || {
        std::hint::black_box(tokens::count(Encoding::Cl100k, &text));
        Ok(())
    })
    .with("tokens::Counter, known text", async || {
        std::hint::black_box(counter.count(Encoding::Cl100k, &text));
        Ok(())
    })
    .run(Rounds { warm_up: effort.choose(1, 10), measured: effort.choose(5, 200) })
    .await?;
    println!("## Count the tokens of {} characters\n\n{figures}", text.chars().count());
    Ok(())
}
