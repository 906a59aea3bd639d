//! Compilation of prompts: thirty sections with 40,000 characters.

use std::error::Error;

use prompt::{AgentsContext, Compiler, ContributedSection, PromptCompileInput, PromptRole, PromptSection};

fn input(turn: usize) -> PromptCompileInput {
    let line = "- Run the tests before you commit, and say what failed.\n";
    let contributed = (0..28).map(|index| {
        let id = format!("section{index:02}");
        ContributedSection {
            hook_id: "gate".to_owned(),
            subscription_id: "gate".to_owned(),
            section: PromptSection::new(id.clone(), id, "Section", line.repeat(16)),
            ..ContributedSection::default()
        }
    });
    PromptCompileInput {
        agents_context: Some(AgentsContext {
            text: line.repeat(256),
            sources: Vec::new(),
            truncated: false,
            role: PromptRole::System,
        }),
        contributed: contributed.collect(),
        // Two texts alternate, so that one section differs from the previous compilation each time and all others can
        // be reused.
        extra_system: Some(format!("Turn {}", turn % 2)),
        ..PromptCompileInput::default()
    }
}

/// Compilation with a new compiler, which has counted no tokens yet.
pub(crate) fn compile(times: usize) -> Result<(), Box<dyn Error>> {
    let input = input(0);
    (0..times).for_each(|_| drop(std::hint::black_box(Compiler::default().compile(&input))));
    Ok(())
}

/// Compilation with one changed section, as in consecutive turns.
pub(crate) fn compile_again(times: usize) -> Result<(), Box<dyn Error>> {
    let inputs = [input(0), input(1)];
    let mut compiler = Compiler::default();
    (0..times).for_each(|turn| drop(std::hint::black_box(compiler.compile(&inputs[turn % 2]))));
    Ok(())
}
