//! Retention of past prompts, and their uses.

use std::time::Duration;

use agent::AgentError;
use prompt::RebuildError;

use crate::fixture::{OWNER, World};

#[tokio::test]
async fn texts_are_pruned_after_their_retention() {
    let mut world = World::new().await;
    world.save("One.").await;
    let patient = world.agent();
    let (turn, compiled) = world.keep(&patient).await;
    world.age_texts(Duration::from_secs(1_200));
    world.settings.retention.prompt_texts = Some(Duration::from_secs(600));
    let hasty = world.agent();
    world.save("Two.").await;
    let (new, _) = world.keep(&hasty).await;
    assert_eq!(patient.prune().await.unwrap().prompt_texts, 0);
    let old = patient.manifest(&world.workspace, &turn, None).await.unwrap();
    assert_eq!(patient.rebuild(&world.workspace, &old).await.unwrap().full_text, compiled.full_text);

    let forgotten = hasty.prune().await.unwrap().prompt_texts;
    assert_eq!(forgotten, compiled.sections.len() as u64, "but not the one that is new");
    let error = hasty.rebuild(&world.workspace, &old).await.unwrap_err();
    assert!(matches!(error, AgentError::Rebuild(RebuildError::Missing { .. })), "{error}");
    let new = hasty.manifest(&world.workspace, &new, None).await.unwrap();
    let blame = hasty.blame(&world.workspace, &old, &new, None, None).await.unwrap();
    let difference = blame.first_difference.unwrap();
    assert_eq!((difference.section_id.as_str(), difference.line), ("agents_md", None));
    assert_eq!(difference.sources_before[0].version, Some(1));
}

#[tokio::test]
async fn without_stored_texts_manifests_remain() {
    let mut world = World::new().await;
    world.save("One.").await;
    let keeping = world.agent();
    let (_, _) = world.keep(&keeping).await;
    world.settings.prompt.keep_texts = false;
    let agent = world.agent();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(agent.prune().await.unwrap().prompt_texts > 0, "what was kept before is forgotten, too");
    let (turn, compiled) = world.keep(&agent).await;
    let manifest = agent.manifest(&world.workspace, &turn, None).await.unwrap();
    assert_eq!(manifest, compiled.manifest);
    let error = agent.rebuild(&world.workspace, &manifest).await.unwrap_err();
    assert!(matches!(error, AgentError::Rebuild(RebuildError::Missing { .. })), "{error}");
    world.save("Two.").await;
    let next = agent.prepare(&world.thread().await).await.unwrap().compiled;
    let blame = agent.blame(&world.workspace, &manifest, &next.manifest, Some(&next), None).await.unwrap();
    assert_eq!(blame.first_difference.unwrap().section_id, "agents_md");
    assert_eq!(blame.changed_sections, ["agents_md"]);
}

#[tokio::test]
async fn blame_finds_the_edited_line_in_stored_and_new_text() {
    let world = World::new().await;
    world.save("One.\nTwo.\nThree.\n").await;
    let agent = world.agent();
    let (turn, compiled) = world.keep(&agent).await;
    let before = agent.manifest(&world.workspace, &turn, None).await.unwrap();
    let same = agent.blame(&world.workspace, &before, &compiled.manifest, None, None).await.unwrap();
    assert_eq!((same.first_difference, same.lost_tokens), (None, 0));
    world.save("One.\nTwo!\nThree.\n").await;
    let next = agent.prepare(&world.thread().await).await.unwrap().compiled;
    let blame = agent.blame(&world.workspace, &before, &next.manifest, Some(&next), None).await.unwrap();
    let difference = blame.first_difference.unwrap();
    let text = next.sections.iter().find(|section| section.id == "agents_md").unwrap();
    assert_eq!(text.text.lines().nth(difference.line.unwrap() as usize - 1), Some("Two!"));
    assert!(blame.lost_prefix_tokens > 0 && blame.lost_prefix_tokens <= blame.lost_tokens);
}

#[tokio::test]
async fn each_round_has_a_manifest_and_missing_ones_are_errors() {
    let world = World::new().await;
    let agent = world.agent();
    let (request, turn) = world.turn().await;
    let missing = agent.manifest(&world.workspace, &turn, None).await.unwrap_err();
    assert_eq!(missing.to_string(), format!("turn `{turn}` has no manifest"));
    let compiled = agent.prepare(&request).await.unwrap().compiled;
    for _ in 0..2 {
        agent.record(&world.workspace, &turn, OWNER, 1, &compiled).await.unwrap();
    }
    world.save("Another prompt.").await;
    let other = agent.prepare(&request).await.unwrap().compiled;
    assert!(agent.record(&world.workspace, &turn, OWNER, 1, &other).await.is_err());
    assert!(agent.record(&world.workspace, &turn, "somebody else", 2, &other).await.is_err());
    agent.record(&world.workspace, &turn, OWNER, 2, &other).await.unwrap();
    let last = agent.manifest(&world.workspace, &turn, None).await.unwrap();
    assert_eq!(last, other.manifest);
    let missing = agent.manifest(&world.workspace, &turn, Some(3)).await.unwrap_err();
    assert_eq!(missing.to_string(), format!("turn `{turn}` has no manifest of round 3"));
}
