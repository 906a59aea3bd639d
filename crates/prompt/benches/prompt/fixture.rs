//! Prompts of a given size.

use prompt::{
    AgentsContext, ContributedSection, PromptBudgets, PromptCompileInput, PromptRole, PromptSection,
};

/// Limits that no prompt here reaches.
pub(crate) const ENDLESS: PromptBudgets = PromptBudgets {
    bootstrap_file: usize::MAX,
    bootstrap_total: usize::MAX,
    agents_md: usize::MAX,
    section: usize::MAX,
    sections_total: usize::MAX,
};

/// Returns realistic text of exactly `characters` characters.
pub(crate) fn text(seed: usize, characters: usize) -> String {
    let mut text = String::with_capacity(characters + 80);
    let mut line = seed;
    while text.len() < characters {
        text.push_str(&format!(
            "- Rule {line}: run the tests before you commit, and say plainly what failed.\n"
        ));
        line += 1;
    }
    text.truncate(characters);
    text
}

/// Returns a section contributed by a hook.
pub(crate) fn section(section_id: &str, content: String) -> ContributedSection {
    ContributedSection {
        hook_id: "bench".to_owned(),
        subscription_id: "bench".to_owned(),
        section: PromptSection::new(section_id, section_id, section_id, content),
        ..ContributedSection::default()
    }
}

/// Returns an input with 40 sections and 100,000 characters: two built-in ones, a chain of files, a document, skills,
/// memory, 33 of hooks, and facts.
pub(crate) fn forty_sections() -> PromptCompileInput {
    let mut contributed = vec![
        section("agents_md", text(1, 16_000)),
        section("skills_runtime", text(2, 8_000)),
        section("memory_recall", text(3, 4_000)),
    ];
    contributed.extend((0..33).map(|index| section(&format!("hook{index:02}"), text(index, 1_060))));
    PromptCompileInput {
        agents_context: Some(AgentsContext {
            text: text(4, 36_000),
            sources: Vec::new(),
            truncated: false,
            role: PromptRole::System,
        }),
        extra_system: Some("Date: 2026-11-15 (UTC)".to_owned()),
        contributed,
        limits: ENDLESS,
        ..PromptCompileInput::default()
    }
}
