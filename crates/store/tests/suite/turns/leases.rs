//! Leases: a turn whose gateway died is failed by another one, and no other turn is.

use protocol::{Timestamp, Turn, TurnId, TurnStatus};
use store::{Lease, StoreError, TurnHold};

use crate::fixture::{
    Fixture, OWNER, assert_ended, assert_not_holder, completed, failure, from_now, lease, message, new_turn,
};

/// Starts a turn in its own thread, with a lease that ends in some milliseconds.
async fn begin(given: &Fixture, milliseconds: i64) -> Turn {
    let thread = given.thread(None, "thread").await;
    let new = new_turn(&given.workspace, &thread);
    let lease = lease(OWNER, milliseconds);
    given.store.create_turn(new, lease, None, None).await.unwrap()
}

fn ids(turns: &[Turn]) -> Vec<TurnId> {
    turns.iter().map(|turn| turn.id.clone()).collect()
}

both_databases!(a_lease_is_renewed_by_who_holds_it, async |given| {
    let turn = begin(given, 1000).await;
    let hold = async || given.store.turn_hold(&given.workspace, &turn.id).await.unwrap();
    let before = hold().await;
    let longer = lease(OWNER, 90_000);
    given.store.renew_lease(&given.workspace, &turn.id, &longer).await.unwrap();
    let renewed = hold().await;
    assert_eq!(renewed, TurnHold { expires_at: Some(longer.expires_at), ..before });
    let stolen = Lease { owner: "gateway-2".to_owned(), ..lease("", 500_000) };
    assert_not_holder(given.store.renew_lease(&given.workspace, &turn.id, &stolen).await);
    assert_eq!(hold().await, renewed);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), turn);
});

both_databases!(a_turn_that_has_ended_has_no_lease_to_renew, async |given| {
    let turn = begin(given, 1000).await;
    let ended = given.finish(&turn.id, completed()).await.unwrap();
    assert_ended(given.store.renew_lease(&given.workspace, &turn.id, &lease(OWNER, 90_000)).await);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended);
});

both_databases!(only_running_turns_whose_lease_is_over_have_expired, async |given| {
    let older = begin(given, -60_000).await;
    let newer = begin(given, -30_000).await;
    begin(given, 60_000).await;
    let ended = begin(given, -60_000).await;
    given.finish(&ended.id, completed()).await.unwrap();
    let now = Timestamp::now();
    assert_eq!(ids(&given.store.expired_turns(now, 10).await.unwrap()), ids(&[older.clone(), newer.clone()]));
    assert_eq!(ids(&given.store.expired_turns(now, 1).await.unwrap()), ids(std::slice::from_ref(&older)));
    let hold = given.store.turn_hold(&given.workspace, &older.id).await.unwrap();
    let at_the_moment = hold.expires_at.unwrap();
    assert_eq!(ids(&given.store.expired_turns(at_the_moment, 10).await.unwrap()), ids(&[older]));
    assert_eq!(given.store.expired_turns(from_now(-120_000), 10).await.unwrap(), []);
});

both_databases!(expired_turns_are_failed_once_with_the_reason, async |given| {
    let dead = begin(given, -1).await;
    let alive = begin(given, 60_000).await;
    let seq = given.seq().await;
    let reason = failure("abandoned");
    let failed = given.store.fail_expired_turns(Timestamp::now(), 10, &[], &reason).await.unwrap();
    assert_eq!(ids(&failed), ids(std::slice::from_ref(&dead)));
    assert_eq!((failed[0].status, failed[0].error.as_ref()), (TurnStatus::Failed, Some(&reason)));
    assert_eq!(given.store.turn(&given.workspace, &dead.id).await.unwrap(), failed[0]);
    assert_eq!(given.seq().await, seq.next());
    assert_eq!(given.store.fail_expired_turns(Timestamp::now(), 10, &[], &reason).await.unwrap(), []);
    assert_eq!(given.store.turn(&given.workspace, &alive.id).await.unwrap(), alive);
    assert_ended(given.finish(&dead.id, completed()).await);
    assert_eq!(given.turn(&dead.thread_id).await.ordinal, 2);
});

both_databases!(expired_turns_of_every_workspace_are_failed, async |given| {
    let elsewhere = given.another_workspace().await;
    let thread = crate::fixture::new_thread(&elsewhere, None, "thread");
    let thread = given.store.create_thread(thread, None).await.unwrap().id;
    let new = new_turn(&elsewhere, &thread);
    let there = given.store.create_turn(new, lease(OWNER, -2000), None, None).await.unwrap();
    let here = begin(given, -1000).await;
    let failed =
        given.store.fail_expired_turns(Timestamp::now(), 10, &[], &failure("abandoned")).await.unwrap();
    assert_eq!(ids(&failed), ids(&[there, here]));
});

// A laptop that wakes up has expired leases and running turns. Its own sweep must not fail them.
both_databases!(a_turn_that_runs_although_its_lease_is_over_is_spared, async |given| {
    let turn = begin(given, -1000).await;
    let sweep = async |living: &[protocol::TurnId]| {
        given
            .store
            .fail_expired_turns(Timestamp::now(), 10, living, &failure("abandoned"))
            .await
            .unwrap()
            .len()
    };
    assert_eq!(sweep(std::slice::from_ref(&turn.id)).await, 0);
    assert_eq!(sweep(&[]).await, 1);
});

// An expired lease only allows others to fail the turn. A slow owner can still finish it.
both_databases!(a_turn_whose_lease_is_over_is_still_its_owners_until_it_is_failed, async |given| {
    let turn = begin(given, -1000).await;
    given.store.renew_lease(&given.workspace, &turn.id, &lease(OWNER, 60_000)).await.unwrap();
    assert_eq!(
        given.store.fail_expired_turns(Timestamp::now(), 10, &[], &failure("abandoned")).await.unwrap(),
        []
    );
    let late = begin(given, -1000).await;
    given.finish(&late.id, completed()).await.unwrap();
});

// The owner finishes at the moment in which another gateway takes it for dead.
both_databases!(of_an_end_and_a_failure_exactly_one_happens, async |given| {
    let another = given.another_store().await;
    for round in 0..30 {
        let turn = begin(given, -1000).await;
        let sweeper = another.clone();
        let sweep = tokio::spawn(async move {
            sweeper.fail_expired_turns(Timestamp::now(), 10, &[], &failure("abandoned")).await
        });
        let ended = given.finish(&turn.id, completed()).await;
        let failed = sweep.await.unwrap().unwrap();
        let status = given.store.turn(&given.workspace, &turn.id).await.unwrap().status;
        match ended {
            Ok(_) => assert_eq!((status, failed.len()), (TurnStatus::Completed, 0), "round {round}"),
            refused => {
                assert_ended(refused);
                assert_eq!((status, failed.len()), (TurnStatus::Failed, 1), "round {round}");
            }
        }
    }
    another.close().await;
});

// Every gateway sweeps, so each expired turn is found by several of them.
both_databases!(of_two_sweepers_each_turn_is_failed_by_one, async |given| {
    let another = given.another_store().await;
    for _ in 0..10 {
        begin(given, -1000).await;
    }
    let sweep = |store: store::Store| async move {
        store.fail_expired_turns(Timestamp::now(), 100, &[], &failure("abandoned")).await.unwrap().len()
    };
    let one = tokio::spawn(sweep(given.store.clone()));
    let two = tokio::spawn(sweep(another.clone()));
    assert_eq!(one.await.unwrap() + two.await.unwrap(), 10);
    another.close().await;
});

// Both lock the workspace and the turn. Different orders would be a deadlock on PostgreSQL.
both_databases!(adding_to_and_failing_a_turn_never_deadlock, async |given| {
    let another = given.another_store().await;
    for round in 0..40 {
        let turn = begin(given, -1000).await;
        let adder = another.clone();
        let workspace = given.workspace.clone();
        let add = tokio::spawn(async move {
            let items = vec![message("text"); 100];
            adder.add_turn_items(&workspace, &turn.id, OWNER, &items, Vec::new()).await
        });
        given.store.fail_expired_turns(Timestamp::now(), 10, &[], &failure("abandoned")).await.unwrap();
        match add.await.unwrap() {
            Ok(()) | Err(StoreError::TurnEnded { .. }) => {}
            Err(error) => panic!("round {round}: {error:?}"),
        }
    }
    another.close().await;
});

// The lease would otherwise keep the turn running, and its thread blocked, until the clock has caught up.
both_databases!(a_lease_from_before_the_clock_was_set_back_holds_no_sqlite_turn, async |given| {
    let turn = begin(given, 15_000).await;
    let past = from_now(-3_600_000);
    let failed = failure("abandoned");
    let fail = |living: Vec<_>| {
        let store = given.store.clone();
        let failed = failed.clone();
        async move { store.fail_turns_leased_beyond(past, 10, &living, &failed).await.unwrap().len() }
    };
    assert_eq!(fail(vec![turn.id.clone()]).await, 0, "a turn that runs here goes on");
    // PostgreSQL gateways share the database's clock, so a machine's clock cannot mislead them.
    assert_eq!(fail(Vec::new()).await, usize::from(matches!(given.database, store::Database::Sqlite(_))));
});
