//! Budgets of zero, and budgets larger than any text.

use prompt::{BUDGET_SETTINGS, PromptBudgets, PromptProfile};

use crate::fixture::{World, codes, ids};

fn all(characters: usize) -> PromptBudgets {
    let mut budgets = PromptBudgets::default();
    for budget in BUDGET_SETTINGS {
        *(budget.field)(&mut budgets) = characters;
    }
    budgets
}

#[tokio::test]
async fn zero_budgets_keep_built_in_sections_and_chain() {
    let mut world = World::new().await;
    world.write("home/USER.md", "Ada.");
    world.save("From the document.").await;
    world.settings.prompt.budgets = all(0);
    let compiled = world.prompt().await.unwrap();
    assert_eq!(
        ids(&compiled.manifest),
        ["identity", "safety", "agents_guidance", "environment", "agents_context"]
    );
    for id in ["agents_md", "extra_system"] {
        assert_eq!(codes(&compiled.manifest, id), ["section_omitted"], "{id}");
    }
    for id in ["soul_core", "identity_core", "user_persona"] {
        assert_eq!(codes(&compiled.manifest, id), ["file_truncated"], "{id}");
    }
    assert!(!compiled.full_text.contains("Ada") && !compiled.full_text.contains("yours to evolve"));
}

#[tokio::test]
async fn huge_budgets_cut_nothing() {
    let mut world = World::new().await;
    let soul = "A long soul.\n".repeat(20_000);
    world.write("home/SOUL.md", &soul);
    world.save(&"A long document.\n".repeat(3_500)).await;
    world.settings.prompt.budgets = all(usize::MAX);
    let compiled = world.prompt().await.unwrap();
    assert!(compiled.stable_text.contains(soul.trim_end()));
    assert_eq!(compiled.manifest.diagnostics, []);
    assert!(compiled.manifest.sections.iter().all(|section| !section.truncated));
}

#[tokio::test]
async fn the_profile_selects_the_sections() {
    let mut world = World::new().await;
    world.save("From the document.").await;
    world.settings.prompt.profile = PromptProfile::Minimal;
    let compiled = world.prompt().await.unwrap();
    assert_eq!(ids(&compiled.manifest), ["identity", "safety", "environment", "agents_md", "agents_context"]);
    world.settings.prompt.profile = PromptProfile::None;
    let agent = world.agent();
    let (turn, compiled) = world.keep(&agent).await;
    assert_eq!(compiled.full_text, "");
    let manifest = agent.manifest(&world.workspace, &turn, Some(1)).await.unwrap();
    assert_eq!(agent.rebuild(&world.workspace, &manifest).await.unwrap().full_text, "");
}
