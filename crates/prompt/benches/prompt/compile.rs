//! Compiling compared with hashing the same bytes once.

use std::sync::Arc;

use measure::{Comparison, Effort, Rounds};
use prompt::{Compiler, ContentHash, PromptCompileInput};
use tokens::Counter;

use crate::fixture::forty_sections;

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let rounds = Rounds { warm_up: effort.choose(5, 100), measured: effort.choose(30, 2_000) };
    let input = forty_sections();
    let counter = Arc::new(Counter::default());
    let compiled = Compiler::new(Arc::clone(&counter)).compile(&input);
    anyhow::ensure!(compiled.manifest.sections.len() == 40 && compiled.manifest.diagnostics.is_empty());
    let full = compiled.full_text.clone();
    let mut knowing = Compiler::new(Arc::clone(&counter));
    let figures = Comparison::against("SHA-256 of the text, once", async || {
        std::hint::black_box(ContentHash::of(&full));
        Ok(())
    })
    .with("compile again, nothing changed", async || {
        std::hint::black_box(knowing.compile(&input));
        Ok(())
    })
    .with("compile, texts counted before", async || {
        std::hint::black_box(Compiler::new(Arc::clone(&counter)).compile(&input));
        Ok(())
    })
    .with("compile, nothing known", async || {
        std::hint::black_box(Compiler::default().compile(&input));
        Ok(())
    })
    .run(rounds)
    .await?;
    let characters = full.chars().count();
    println!("## Compile 40 sections with {characters} characters\n\n{figures}");

    let changed = |turn: usize| PromptCompileInput {
        extra_system: Some(format!("Date: 2026-11-15 (UTC)\nTurn {turn} of a long day.")),
        ..input.clone()
    };
    let inputs = [changed(1), changed(2)];
    let small = ContentHash::of(inputs[0].extra_system.as_deref().unwrap_or_default());
    anyhow::ensure!(small.as_str().len() == 64);
    let mut compiler = Compiler::new(Arc::clone(&counter));
    let mut turn = 0;
    let turn_text = Compiler::default().compile(&inputs[0]).turn_text;
    let figures = Comparison::against("SHA-256 of the turn's part, three times", async || {
        (0..3).for_each(|_| drop(std::hint::black_box(ContentHash::of(&turn_text))));
        Ok(())
    })
    .with("compile again, one section of the turn changed", async || {
        turn += 1;
        std::hint::black_box(compiler.compile(&inputs[turn % 2]));
        Ok(())
    })
    .with("compile anew", async || {
        std::hint::black_box(Compiler::new(Arc::clone(&counter)).compile(&inputs[0]));
        Ok(())
    })
    .run(rounds)
    .await?;
    println!("## Compile again after one section of the turn has changed\n\n{figures}");
    Ok(())
}
