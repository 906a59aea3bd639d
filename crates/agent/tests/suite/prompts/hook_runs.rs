//! Records of hook runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use std::time::Duration;

use agent::{DOCUMENT_HOOK, MEMORY_HOOK, SKILLS_HOOK};
use hooks::{
    BackgroundJob, ContributionKind, Execution, FailurePolicy, HookContext, HookPackage, HookSubscription,
    Phase, PromptSection, RunStatus,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::conversation::Conversation;
use crate::fixture::World;

#[tokio::test]
async fn the_document_hook_is_recorded_without_its_text() {
    let world = World::new().await;
    world.save("the text of the document").await;
    let agent = world.agent();
    let (request, turn) = world.turn().await;
    agent.prepare(&request).await.unwrap();
    let runs = world.hook_runs(&agent, &turn).await;
    let mut ids: Vec<&str> = runs.iter().map(|run| run.hook_id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["foreword.memory_policy", MEMORY_HOOK, SKILLS_HOOK, DOCUMENT_HOOK]);
    let run = runs.iter().find(|run| run.hook_id == DOCUMENT_HOOK).unwrap();
    assert_eq!(run.status, RunStatus::Completed);
    assert_eq!(run.package_id, "foreword.prompt.agents_doc");
    assert_eq!(run.thread_id.as_ref(), Some(&request.scope.thread_id));
    assert_eq!(run.contributions, BTreeMap::from([(ContributionKind::PromptSection, 1)]));
    assert_eq!(run.failure, FailurePolicy::FailClosed);
    assert!(!format!("{run:?}").contains("the text of"), "{run:?}");
}

#[tokio::test]
async fn a_background_hook_is_recorded_without_delaying_the_phase() {
    let world = World::new().await;
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let background = HookSubscription::new("slow", Phase::PostPromptCompile, move |_: HookContext| {
        let released = Arc::clone(&released);
        async move {
            released.notified().await;
            Ok(vec![BackgroundJob { kind: "learn".to_owned(), payload: json!({}) }.into()])
        }
    })
    .execution(Execution::Background)
    .may_contribute([ContributionKind::BackgroundJob]);
    let agent = world.agent_with([HookPackage::new("p", "p").with(background)]);
    let (request, turn) = world.turn().await;
    agent.prepare(&request).await.unwrap();
    let before = world.store.hook_runs(&world.workspace, &turn).await.unwrap();
    assert!(before.iter().all(|run| run.hook_id != "slow"), "it is not waited for");
    release.notify_one();
    let runs = world.hook_runs(&agent, &turn).await;
    let run = runs.iter().find(|run| run.hook_id == "slow").unwrap();
    assert_eq!(run.status, RunStatus::Completed);
}

// A preview has no turn, and its hooks are recorded all the same.
#[tokio::test]
async fn an_unwritable_record_does_not_affect_others() {
    let world = World::new().await;
    let agent = world.agent();
    let (mut request, turn) = world.turn().await;
    agent.prepare(&request).await.unwrap();
    request.scope.turn_id = Some("019370aa-0000-7000-8000-000000000001".parse().unwrap());
    agent.prepare(&request).await.unwrap();
    request.scope.turn_id = Some(turn.clone());
    agent.prepare(&request).await.unwrap();
    // One record for each of the four built-in hooks.
    assert_eq!(world.hook_runs(&agent, &turn).await.len(), 8);
}

#[tokio::test]
async fn records_are_pruned_after_their_retention() {
    let mut world = World::new().await;
    let patient = world.agent();
    let (request, turn) = world.turn().await;
    patient.prepare(&request).await.unwrap();
    let recorded = world.hook_runs(&patient, &turn).await.len() as u64;
    assert!(recorded > 0);
    assert_eq!(patient.prune().await.unwrap().hook_runs, 0);
    tokio::time::sleep(Duration::from_millis(5)).await;
    world.settings.retention.hook_runs = None;
    assert_eq!(world.agent().prune().await.unwrap().hook_runs, 0, "kept for ever");
    world.settings.retention.hook_runs = Some(Duration::ZERO);
    assert_eq!(world.agent().prune().await.unwrap().hook_runs, recorded);
    assert!(world.store.hook_runs(&world.workspace, &turn).await.unwrap().is_empty());
}

#[tokio::test]
async fn post_turn_hook_sees_earlier_contributions_and_fingerprint() {
    let seen = Arc::new(Mutex::new(None));
    let sees = Arc::clone(&seen);
    let before = HookSubscription::new("before", Phase::PrePromptContext, |_: HookContext| async {
        Ok(vec![PromptSection::new("early", "early", "Early", "A text.").into()])
    })
    .may_contribute([ContributionKind::PromptSection]);
    let after = HookSubscription::new("after", Phase::PostTurn, move |context: HookContext| {
        *sees.lock().unwrap() = Some(context.turn);
        async { Ok(Vec::new()) }
    })
    .execution(Execution::Blocking);
    let directory = tempfile::tempdir().unwrap();
    let database = store::Database::Sqlite(directory.path().join("foreword.db"));
    let packages = [HookPackage::new("p", "p").with(before).with(after)];
    let chat = Conversation::chat_with(&database, directory, [], packages).await;
    chat.model.answer(scripted_model::Answer::text("done"));
    let turn_id = chat.run("go").await;
    let manifest = chat.agent.manifest(&chat.workspace_id, &turn_id, None).await.unwrap();
    chat.agent.shutdown(Duration::from_secs(30)).await;
    let seen = seen.lock().unwrap().take().unwrap();
    assert!(seen.earlier.iter().any(|contributed| contributed.hook_id == "before"), "{seen:?}");
    assert_eq!(seen.prompt_fingerprint.as_ref(), Some(&manifest.fingerprints.full));
    assert!(seen.status.is_some());
}

#[tokio::test]
async fn the_change_log_is_pruned_only_if_configured() {
    let mut world = World::new().await;
    let kept = world.agent().prune().await.unwrap();
    assert_eq!((kept.changes, kept.manifests), (0, 0), "both are kept unless settings say otherwise");
    tokio::time::sleep(Duration::from_millis(5)).await;
    world.settings.retention.change_log = Some(Duration::ZERO);
    assert!(world.agent().prune().await.unwrap().changes > 0);
    assert_eq!(world.agent().prune().await.unwrap().changes, 0, "what is gone is gone");
}
