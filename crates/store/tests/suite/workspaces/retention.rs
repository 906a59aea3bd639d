//! Pruning the change log and manifests. Hook runs and prompt texts have their own tests.

use protocol::{Sequence, Timestamp};
use store::StoreError;

use crate::fixture::{Fixture, OWNER, assert_not_found, bare_round, completed, from_now};

/// Moves the changes up to a sequence number an hour into the past.
async fn age_changes(given: &Fixture, through: Sequence) {
    let then = from_now(-3_600_000).milliseconds();
    let workspace = &given.workspace;
    let connection = given.connection().await;
    let aged = format!(
        "UPDATE change_log SET changed_at = {then} WHERE workspace_id = '{workspace}' AND seq <= {through}"
    );
    connection.execute(&aged).await.unwrap();
    connection.close().await;
}

/// Moves the first round of every turn an hour into the past.
async fn age_first_round(given: &Fixture) {
    let then = from_now(-3_600_000).milliseconds();
    let connection = given.connection().await;
    let aged = format!("UPDATE prompt_manifest SET created_at = {then} WHERE round = 1");
    connection.execute(&aged).await.unwrap();
    connection.close().await;
}

/// Returns the oldest number from the error for a pruned one.
#[track_caller]
fn pruned<T: std::fmt::Debug>(result: Result<T, StoreError>) -> u64 {
    match result {
        Err(StoreError::LogPruned { oldest, .. }) => oldest.0,
        other => panic!("nothing is missing: {other:?}"),
    }
}

both_databases!(a_number_that_was_never_given_out_is_refused, async |given| {
    let seq = given.seq().await;
    assert_eq!(given.store.check_since(&given.workspace, seq).await.unwrap(), seq);
    assert_eq!(given.store.check_since(&given.workspace, Sequence(0)).await.unwrap(), seq);
    assert_eq!(pruned(given.store.check_since(&given.workspace, seq.next()).await), 1);
    let unknown = "unknown".parse().unwrap();
    assert_not_found(given.store.check_since(&unknown, seq).await, "workspace", "unknown");
});

// Pruning computes its limit first. A change that is committed afterwards has not been read by any follower.
both_databases!(a_change_that_is_made_meanwhile_is_not_forgotten, async |given| {
    for number in 0..40 {
        let seq = given.seq().await;
        age_changes(given, seq).await;
        let name = format!("folder {number}");
        let an_hour_ago = from_now(-1_800_000);
        let (pruned, _) =
            tokio::join!(given.store.prune_changes(None, an_hour_ago), given.folder(None, &name));
        pruned.unwrap();
        let left: Vec<_> = given.told_after(seq).await.iter().map(|told| told.seq()).collect();
        assert_eq!(left, [seq.next()], "round {number}");
    }
});

both_databases!(old_changes_are_pruned_and_their_readers_get_an_error, async |given| {
    for name in ["a", "b", "c", "d"] {
        given.folder(None, name).await;
    }
    let another = given.another_workspace().await;
    age_changes(given, Sequence(3)).await;
    let hour_ago = from_now(-60_000);
    assert_eq!(given.store.prune_changes(None, from_now(-7_200_000)).await.unwrap(), 0);
    assert_eq!(given.store.prune_changes(None, hour_ago).await.unwrap(), 3);
    assert_eq!(given.store.prune_changes(Some(&given.workspace), hour_ago).await.unwrap(), 0);
    let left: Vec<_> = given.told_after(Sequence(0)).await.iter().map(|told| told.seq().0).collect();
    assert_eq!(left, [4, 5]);
    for since in [0, 2] {
        assert_eq!(pruned(given.store.check_since(&given.workspace, Sequence(since)).await), 4);
    }
    assert_eq!(given.store.check_since(&given.workspace, Sequence(3)).await.unwrap(), Sequence(5));
    assert_eq!(given.store.check_since(&another, Sequence(0)).await.unwrap(), Sequence(1));
    // Everything is old, so the oldest possible number is the next one.
    assert_eq!(given.store.prune_changes(Some(&given.workspace), from_now(60_000)).await.unwrap(), 2);
    assert_eq!(pruned(given.store.check_since(&given.workspace, Sequence(4)).await), 6);
    assert_eq!(given.store.check_since(&given.workspace, Sequence(5)).await.unwrap(), Sequence(5));
    given.folder(None, "e").await;
    assert_eq!(given.seq().await, Sequence(6));
    let unknown = "unknown".parse().unwrap();
    assert_not_found(given.store.prune_changes(Some(&unknown), hour_ago).await, "workspace", "unknown");
});

both_databases!(old_manifests_of_ended_turns_are_forgotten, async |given| {
    let mut turns = Vec::new();
    for title in ["ended", "running"] {
        let turn = given.turn(&given.thread(None, title).await).await.id;
        for round in [1, 2] {
            let round = bare_round(round, "f");
            given.store.begin_round(&given.workspace, &turn, OWNER, round).await.unwrap();
        }
        turns.push(turn);
    }
    given.finish(&turns[0], completed()).await.unwrap();
    let count = async |turn| given.store.manifests(&given.workspace, turn).await.unwrap().len();
    assert_eq!(given.store.prune_manifests(None, from_now(-60_000)).await.unwrap(), 0);
    let another = given.another_workspace().await;
    assert_eq!(given.store.prune_manifests(Some(&another), from_now(60_000)).await.unwrap(), 0);
    age_first_round(given).await;
    let hour_ago = from_now(-60_000);
    assert_eq!(given.store.prune_manifests(None, hour_ago).await.unwrap(), 0, "the second refers to it");
    assert_eq!(given.store.prune_manifests(Some(&given.workspace), from_now(60_000)).await.unwrap(), 2);
    assert_eq!((count(&turns[0]).await, count(&turns[1]).await), (0, 2));
    let unknown = "unknown".parse().unwrap();
    assert_not_found(
        given.store.prune_manifests(Some(&unknown), Timestamp::now()).await,
        "workspace",
        "unknown",
    );
});
