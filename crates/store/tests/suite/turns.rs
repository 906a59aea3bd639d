//! Turns: numbered by thread, one at a time, ended once.

mod approvals;
mod delegation;
pub(crate) mod hook_runs;
mod leases;
mod manifests;
mod prompt_texts;
mod rounds;
mod sessions;
mod stops;
mod thread_contexts;
mod turn_events;
mod turn_items;
mod turn_sessions;

use protocol::method::TurnStartParams;
use protocol::notification::TurnStarted;
use protocol::{Sequence, TokenUsage, TurnStatus};
use store::{FinishTurn, INSERT_TURN, StoreError, TurnEnd};

use crate::fixture::{
    Connection, Engine, OWNER, Told, assert_ended, assert_invalid, assert_invalid_state, completed, failed,
    failure, minute, new_turn, run, turn_running,
};

both_databases!(a_turn_begins_as_it_was_asked, async |given| {
    let thread = given.thread(None, "thread").await;
    let new = new_turn(&given.workspace, &thread);
    let lease = minute();
    let new = TurnStartParams {
        model: Some("anthropic/model".to_owned()),
        cwd: Some("/project/crate".to_owned()),
        input: "first line\nsecond line\t✓".to_owned(),
        ..new
    };
    let turn = given.store.create_turn(new.clone(), lease.clone(), None, Some("ada")).await.unwrap();
    assert_eq!((turn.ordinal, turn.status), (1, TurnStatus::Running));
    assert_eq!((&turn.input, &turn.model, &turn.cwd), (&new.input, &new.model, &new.cwd));
    let hold = given.store.turn_hold(&given.workspace, &turn.id).await.unwrap();
    assert_eq!((hold.status, hold.owner.as_deref()), (TurnStatus::Running, Some(OWNER)));
    assert_eq!((hold.expires_at, hold.stop_requested_at), (Some(lease.expires_at), None));
    assert_eq!((&turn.error, &turn.usage, turn.finished_at), (&None, &None, None));
    assert_eq!((&turn.thread_id, turn.created_by.as_deref()), (&thread, Some("ada")));
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), turn);
});

both_databases!(every_thread_counts_its_turns_from_1, async |given| {
    for title in ["one", "two"] {
        let thread = given.thread(None, title).await;
        for ordinal in 1..=3 {
            let turn = given.turn(&thread).await;
            assert_eq!(turn.ordinal, ordinal);
            given.finish(&turn.id, completed()).await.unwrap();
        }
    }
});

both_databases!(a_turn_ends_in_one_of_three_ways, async |given| {
    let thread = given.thread(None, "thread").await;
    for (end, status) in [
        (completed(), TurnStatus::Completed),
        (TurnEnd::Failed(failure("a\u{0}b")), TurnStatus::Failed),
        (TurnEnd::Cancelled, TurnStatus::Cancelled),
    ] {
        let turn = given.turn(&thread).await;
        let usage = Some(TokenUsage { input: 12, output: 3, ..TokenUsage::default() });
        let finish = FinishTurn { usage, ..FinishTurn::new(end) };
        let ended = given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await.unwrap();
        assert_eq!((ended.status, ended.usage), (status, usage));
        let error = (status == TurnStatus::Failed).then(|| failure("a\u{0}b"));
        assert_eq!(ended.error, error);
        assert!(ended.finished_at.is_some_and(|finished| finished >= ended.created_at));
        let hold = given.store.turn_hold(&given.workspace, &turn.id).await.unwrap();
        assert_eq!((hold.status, hold.owner.as_deref(), hold.expires_at), (status, Some(OWNER), None));
        assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended);
    }
});

both_databases!(ending_a_turn_the_same_way_again_changes_nothing, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let ended = given.finish(&turn.id, completed()).await.unwrap();
    let seq = given.seq().await;
    assert_eq!(given.finish(&turn.id, completed()).await.unwrap(), ended);
    assert_eq!(given.seq().await, seq);
});

both_databases!(a_turn_that_has_ended_cannot_end_otherwise, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let ended = given.finish(&turn.id, TurnEnd::Cancelled).await.unwrap();
    let seq = given.seq().await;
    assert_ended(given.finish(&turn.id, completed()).await);
    let another = FinishTurn { usage: Some(TokenUsage::default()), ..FinishTurn::new(TurnEnd::Cancelled) };
    assert_ended(given.store.finish_turn(&given.workspace, &turn.id, OWNER, another, None).await);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended);
    assert_eq!(given.seq().await, seq);
});

both_databases!(only_the_owner_ends_a_turn, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let finish = FinishTurn::new(completed());
    let stranger = given.store.finish_turn(&given.workspace, &turn.id, "gateway-2", finish, None).await;
    let error = stranger.unwrap_err();
    assert!(matches!(error, StoreError::NotHolder { .. }), "{error:?}");
    assert!(error.to_string().contains("is run by `gateway-1`"), "{error}");
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), turn);
});

both_databases!(a_thread_has_one_running_turn_at_a_time, async |given| {
    let (thread, other) = (given.thread(None, "thread").await, given.thread(None, "other").await);
    let turn = given.turn(&thread).await;
    let seq = given.seq().await;
    let refused = given.store.create_turn(new_turn(&given.workspace, &thread), minute(), None, None).await;
    let message = refused.as_ref().unwrap_err().to_string();
    assert!(message.contains(turn.id.as_str()) && message.contains("still running"), "{message}");
    assert_eq!(turn_running(refused, &thread), Some(turn.id.clone()));
    assert_eq!(given.seq().await, seq);
    given.turn(&other).await;
    given.finish(&turn.id, failed()).await.unwrap();
    assert_eq!(given.turn(&thread).await.ordinal, 2);
});

// A thread with two running turns would have two histories.
both_databases!(of_two_turns_that_begin_at_once_exactly_one_does, async |given| {
    let another = given.another_store().await;
    let thread = given.thread(None, "thread").await;
    for round in 1..=50 {
        let begin = |store: &store::Store| {
            let store = store.clone();
            let new = new_turn(&given.workspace, &thread);
            tokio::spawn(async move { store.create_turn(new, minute(), None, None).await })
        };
        let one = begin(&given.store);
        let two = begin(&another);
        let (won, lost) = match (one.await.unwrap(), two.await.unwrap()) {
            (Ok(won), lost @ Err(_)) | (lost @ Err(_), Ok(won)) => (won, lost),
            both => panic!("round {round}: {both:?}"),
        };
        turn_running(lost, &thread);
        assert_eq!(won.ordinal, round);
        given.finish(&won.id, completed()).await.unwrap();
    }
    another.close().await;
});

both_databases!(turns_are_listed_newest_first_in_pages, async |given| {
    let thread = given.thread(None, "thread").await;
    for _ in 0..5 {
        let turn = given.turn(&thread).await;
        given.finish(&turn.id, completed()).await.unwrap();
    }
    let page = async |limit, before| {
        let turns = given.store.turns(&given.workspace, &thread, limit, before).await.unwrap();
        turns.into_iter().map(|turn| turn.ordinal).collect::<Vec<_>>()
    };
    assert_eq!(page(2, None).await, [5, 4]);
    assert_eq!(page(2, Some(4)).await, [3, 2]);
    assert_eq!(page(100, Some(2)).await, [1]);
    assert_eq!(page(100, Some(1)).await, [0; 0]);
    assert_eq!(page(1, Some(u64::MAX)).await, [5]);
    assert_eq!(page(0, None).await, [0; 0]);
});

both_databases!(a_thread_without_turns_has_none, async |given| {
    let thread = given.thread(None, "thread").await;
    given.turn(&given.thread(None, "other").await).await;
    assert_eq!(given.store.turns(&given.workspace, &thread, 100, None).await.unwrap(), []);
});

both_databases!(an_archived_thread_keeps_its_turns_and_begins_no_more, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given.turn(&thread).await;
    given.store.archive_thread(&given.workspace, &thread, None).await.unwrap();
    let ended = given.finish(&turn.id, completed()).await.unwrap();
    assert_invalid_state(
        given.store.create_turn(new_turn(&given.workspace, &thread), minute(), None, None).await,
    );
    assert_eq!(given.store.turns(&given.workspace, &thread, 100, None).await.unwrap(), [ended]);
});

both_databases!(a_turn_that_no_database_could_hold_is_refused, async |given| {
    let new = new_turn(&given.workspace, &given.thread(None, "thread").await);
    let seq = given.seq().await;
    let some = |text: &str| Some(text.to_owned());
    for (field, refused) in [
        ("input", TurnStartParams { input: "a\0b".to_owned(), ..new.clone() }),
        ("model", TurnStartParams { model: some(""), ..new.clone() }),
        ("model", TurnStartParams { model: some("a\0b"), ..new.clone() }),
        ("cwd", TurnStartParams { cwd: some("/a\0b"), ..new.clone() }),
        ("cwd", TurnStartParams { cwd: Some("x".repeat(4097)), ..new.clone() }),
    ] {
        assert_invalid(given.store.create_turn(refused, minute(), None, None).await, field);
    }
    let no_owner = store::Lease { owner: " ".to_owned(), ..minute() };
    assert_invalid(given.store.create_turn(new, no_owner, None, None).await, "lease_owner");
    assert_eq!(given.seq().await, seq);
});

both_databases!(the_start_and_the_end_of_a_turn_are_logged, async |given| {
    let thread = given.thread(None, "thread").await;
    for (end, status) in [
        (completed(), TurnStatus::Completed),
        (failed(), TurnStatus::Failed),
        (TurnEnd::Cancelled, TurnStatus::Cancelled),
    ] {
        let seq = given.seq().await;
        let turn = given.turn(&thread).await;
        given.finish(&turn.id, end).await.unwrap();
        let told = |place, status| {
            let workspace_id = given.workspace.clone();
            let thread_id = thread.clone();
            let turn_id = turn.id.clone();
            Told::Turn(
                status,
                TurnStarted {
                    seq: Sequence(seq.0 + place),
                    workspace_id,
                    thread_id,
                    turn_id,
                    parent_turn_id: None,
                },
            )
        };
        assert_eq!(given.told_after(seq).await, [told(1, TurnStatus::Running), told(2, status)]);
    }
});

// The log must not contain the input of turns for the same reason.
both_databases!(the_log_never_contains_the_input_of_turns, async |given| {
    let new = TurnStartParams {
        input: "a secret".to_owned(),
        ..new_turn(&given.workspace, &given.thread(None, "thread").await)
    };
    let turn = given.store.create_turn(new, minute(), None, None).await.unwrap();
    let finish = FinishTurn::new(TurnEnd::Failed(failure("a secret")));
    given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await.unwrap();
    let changes = given.store.changes_after(&given.workspace, Sequence(0), 100).await.unwrap();
    assert!(changes.iter().all(|change| !change.body.contains("secret")));
});

// The number of running turns is checked at each start. Without the partial index this would visit every turn
// of the workspace.
#[test]
fn sqlite_starts_turns_without_scanning_ended_ones() {
    run(Engine::Sqlite, async |given| {
        let Connection::Sqlite(connection) = given.connection().await else { unreachable!() };
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {INSERT_TURN}")).unwrap();
        let steps = explain.raw_query().mapped(|row| row.get("detail"));
        let plan: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
        let of_turns: Vec<_> = plan.iter().filter(|step| step.split(' ').nth(1) == Some("turn")).collect();
        assert!(of_turns.len() >= 2, "{plan:#?}");
        for step in of_turns {
            // The thread's index must be used, and not the workspace's.
            let ways = ["(thread_id=?", "(parent_turn_id=?", "(workspace_id=? AND finished_at=?"];
            assert!(ways.iter().any(|way| step.contains(way)), "{step}\n{plan:#?}");
        }
    });
}
