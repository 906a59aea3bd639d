//! Records of hook runs: stored in batches, found by turn, pruned by age.

use std::collections::BTreeMap;

use protocol::hook::{ContributionKind, Execution, FailurePolicy, HookRun, Phase, RunStatus, Visibility};
use protocol::{ThreadId, Timestamp, Turn, TurnId, WorkspaceId};

use crate::fixture::{Fixture, assert_invalid, assert_not_found, from_now, minute, new_thread, new_turn};

/// Returns a run without a workspace.
pub(crate) fn run(hook: &str, started_at: Timestamp) -> HookRun {
    HookRun {
        workspace_id: None,
        thread_id: None,
        turn_id: None,
        package_id: "foreword.prompt".to_owned(),
        hook_id: hook.to_owned(),
        subscription_id: format!("{hook}#1"),
        phase: Phase::PrePromptCompile,
        execution: Execution::Blocking,
        failure: FailurePolicy::BestEffort,
        visibility: Visibility::Internal,
        started_at,
        duration_us: 1234,
        status: RunStatus::Completed,
        contributions: BTreeMap::from([(ContributionKind::PromptSection, 1)]),
        refused: 0,
        bytes: u64::MAX,
        error_preview: Some("a\u{0}b".to_owned()),
    }
}

pub(crate) fn run_of(turn: &Turn, hook: &str, started_at: Timestamp) -> HookRun {
    HookRun {
        workspace_id: Some(turn.workspace_id.clone()),
        thread_id: Some(turn.thread_id.clone()),
        turn_id: Some(turn.id.clone()),
        ..run(hook, started_at)
    }
}

async fn hooks_of(given: &Fixture, turn: &TurnId) -> Vec<String> {
    let runs = given.store.hook_runs(&given.workspace, turn).await.unwrap();
    runs.into_iter().map(|run| run.hook_id).collect()
}

async fn count(given: &Fixture) -> String {
    given.column("SELECT CAST(COUNT(*) AS TEXT) FROM hook_run").await.remove(0)
}

both_databases!(a_record_comes_back_as_it_went_in, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let new = HookRun { duration_us: u64::MAX, ..run_of(&turn, "one", from_now(0)) };
    given.store.record_hook_runs(std::slice::from_ref(&new)).await.unwrap();
    assert_eq!(given.store.hook_runs(&given.workspace, &turn.id).await.unwrap(), [new]);
});

both_databases!(the_runs_of_a_turn_are_listed_by_start_and_then_as_recorded, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let other = given.turn(&given.thread(None, "other").await).await;
    assert_eq!(hooks_of(given, &turn.id).await, [""; 0]);
    let now = from_now(0);
    let before = from_now(-10);
    let runs = [
        run_of(&turn, "second", now),
        run_of(&turn, "third", now),
        run_of(&other, "other", now),
        run("nobody's", now),
        run_of(&turn, "first", before),
    ];
    given.store.record_hook_runs(&runs).await.unwrap();
    assert_eq!(hooks_of(given, &turn.id).await, ["first", "second", "third"]);
    assert_eq!(count(given).await, "5");
});

both_databases!(no_records_are_no_records, async |given| {
    given.store.record_hook_runs(&[]).await.unwrap();
    assert_eq!(count(given).await, "0");
});

both_databases!(more_records_than_one_statement_takes_are_kept_as_one, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let many: Vec<_> = (0..1201).map(|number| run_of(&turn, &number.to_string(), from_now(0))).collect();
    given.store.record_hook_runs(&many).await.unwrap();
    assert_eq!(hooks_of(given, &turn.id).await.len(), 1201);
});

both_databases!(of_a_refused_batch_nothing_is_kept, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let good = run_of(&turn, "good", from_now(0));
    let refuse = async |bad: HookRun| given.store.record_hook_runs(&[good.clone(), bad]).await;
    assert_invalid(refuse(HookRun { workspace_id: None, ..good.clone() }).await, "workspace_id");
    assert_invalid(refuse(HookRun { hook_id: "a\0b".to_owned(), ..good.clone() }).await, "hook_id");
    let bad = HookRun { subscription_id: "a\0b".to_owned(), ..good.clone() };
    assert_invalid(refuse(bad).await, "subscription_id");
    let unknown = WorkspaceId::new();
    let bad = HookRun { workspace_id: Some(unknown.clone()), ..run("bad", from_now(0)) };
    assert_not_found(refuse(bad).await, "workspace", unknown);
    let unknown = ThreadId::new();
    let bad = HookRun { thread_id: Some(unknown.clone()), ..good.clone() };
    assert_not_found(refuse(bad).await, "thread", unknown);
    let unknown = TurnId::new();
    let bad = HookRun { turn_id: Some(unknown.clone()), ..good.clone() };
    assert_not_found(refuse(bad).await, "turn", unknown);
    assert_eq!(count(given).await, "0");
});

both_databases!(a_record_is_of_one_workspace, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let elsewhere = given.another_workspace().await;
    let thread = given.store.create_thread(new_thread(&elsewhere, None, "thread"), None).await.unwrap().id;
    let there = given.store.create_turn(new_turn(&elsewhere, &thread), minute(), None, None).await.unwrap();
    let here = run_of(&turn, "here", from_now(0));
    let bad = HookRun { thread_id: Some(thread.clone()), ..here.clone() };
    assert_not_found(given.store.record_hook_runs(&[bad]).await, "thread", thread);
    let bad = HookRun { turn_id: Some(there.id.clone()), ..here.clone() };
    assert_not_found(given.store.record_hook_runs(&[bad]).await, "turn", &there.id);
    given.store.record_hook_runs(&[here, run_of(&there, "there", from_now(0))]).await.unwrap();
    assert_eq!(hooks_of(given, &turn.id).await, ["here"]);
});

both_databases!(more_than_one_write_forgets_is_forgotten, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let many: Vec<_> =
        (0..2345).map(|number| run_of(&turn, &number.to_string(), from_now(-60_000))).collect();
    given.store.record_hook_runs(&many).await.unwrap();
    given.store.record_hook_runs(&[run_of(&turn, "new", from_now(0))]).await.unwrap();
    let before = given.store.statements();
    assert_eq!(given.store.prune_hook_runs(None, from_now(-30_000)).await.unwrap(), 2345);
    let transactions = given.store.statements().transactions - before.transactions;
    assert_eq!(transactions, 4, "three of a thousand at most, and one that finds nothing");
    assert_eq!(hooks_of(given, &turn.id).await, ["new"]);
});

// Each skips the rows that the other has locked, instead of waiting for it.
both_databases!(two_gateways_forget_the_same_rows_at_once, async |given| {
    let another = given.another_store().await;
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let many: Vec<_> =
        (0..3000).map(|number| run_of(&turn, &number.to_string(), from_now(-60_000))).collect();
    given.store.record_hook_runs(&many).await.unwrap();
    let prune = |store: store::Store| {
        tokio::spawn(async move { store.prune_hook_runs(None, from_now(-30_000)).await.unwrap() })
    };
    let one = prune(given.store.clone());
    let two = prune(another.clone());
    let pruned = one.await.unwrap() + two.await.unwrap();
    // Rows that one pruner had locked may have been left by the other.
    let left: u64 = count(given).await.parse().unwrap();
    assert_eq!((pruned, left), (3000, 0));
    another.close().await;
});

both_databases!(runs_are_forgotten_by_age, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let old = from_now(-60_000);
    let new = from_now(0);
    let runs = [run_of(&turn, "old", old), run_of(&turn, "new", new), run("nobody's old", old)];
    given.store.record_hook_runs(&runs).await.unwrap();
    let elsewhere = given.another_workspace().await;
    assert_eq!(given.store.prune_hook_runs(Some(&elsewhere), from_now(1000)).await.unwrap(), 0);
    assert_eq!(given.store.prune_hook_runs(Some(&given.workspace), old).await.unwrap(), 0);
    assert_eq!(given.store.prune_hook_runs(Some(&given.workspace), from_now(-30_000)).await.unwrap(), 1);
    assert_eq!(hooks_of(given, &turn.id).await, ["new"]);
    assert_eq!(given.store.prune_hook_runs(None, from_now(-30_000)).await.unwrap(), 1);
    assert_eq!(given.store.prune_hook_runs(None, from_now(1000)).await.unwrap(), 1);
});
