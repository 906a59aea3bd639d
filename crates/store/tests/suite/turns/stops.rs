//! Cancellation: requested once for a running turn, and noticed wherever it runs.

use protocol::Timestamp;
use protocol::TurnId;
use store::{TurnEnd, Wake};

use crate::engine::wakes::{another_that_listens, heard};
use crate::fixture::{Engine, Fixture, OWNER, completed, failed, lease, run};

async fn requested_at(given: &Fixture, turn: &TurnId) -> Option<Timestamp> {
    given.store.turn_hold(&given.workspace, turn).await.unwrap().stop_requested_at
}

both_databases!(a_running_turn_is_asked_to_stop_once, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    assert_eq!(requested_at(given, &turn.id).await, None);
    let seq = given.seq().await;
    let mut wakes = given.store.wakes();
    let stopped = given.store.request_stop(&given.workspace, &turn.id, Some("ada")).await.unwrap();
    heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
    let requested = requested_at(given, &turn.id).await;
    assert!(requested.is_some_and(|requested| requested >= turn.created_at));
    assert_eq!(stopped, turn);
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    assert_eq!(given.store.request_stop(&given.workspace, &turn.id, None).await.unwrap(), stopped);
    assert_eq!(requested_at(given, &turn.id).await, requested);
    assert_eq!(given.seq().await, seq);
    assert_eq!(given.told_after(seq).await, []);
});

both_databases!(a_turn_that_is_asked_to_stop_is_still_its_owners, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    given.store.request_stop(&given.workspace, &turn.id, None).await.unwrap();
    let requested = requested_at(given, &turn.id).await;
    given.store.renew_lease(&given.workspace, &turn.id, &lease(OWNER, 90_000)).await.unwrap();
    let ended = given.finish(&turn.id, TurnEnd::Cancelled).await.unwrap();
    assert!(requested.is_some() && requested_at(given, &turn.id).await == requested);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended);
});

both_databases!(a_turn_that_has_ended_is_left_as_it_is, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let ended = given.finish(&turn.id, completed()).await.unwrap();
    let seq = given.seq().await;
    assert_eq!(given.store.request_stop(&given.workspace, &turn.id, Some("ada")).await.unwrap(), ended);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended);
    assert_eq!(given.seq().await, seq);
});

// A turn that ends while it is being stopped must be either completed or cancelled for everyone.
both_databases!(a_stop_and_an_end_agree_on_what_happened, async |given| {
    let another = given.another_store().await;
    let thread = given.thread(None, "thread").await;
    for round in 0..30 {
        let turn = given.turn(&thread).await;
        let stopper = another.clone();
        let workspace = given.workspace.clone();
        let id = turn.id.clone();
        let stop = tokio::spawn(async move { stopper.request_stop(&workspace, &id, None).await });
        let ended = given.finish(&turn.id, completed()).await.unwrap();
        let stopped = stop.await.unwrap().unwrap();
        // Either order is valid: a turn that had ended ignores the request.
        let was_asked = requested_at(given, &turn.id).await.is_some();
        let is_running = stopped.status == protocol::TurnStatus::Running;
        assert_eq!(was_asked, is_running, "round {round}");
        assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended, "round {round}");
    }
    another.close().await;
});

#[test]
fn on_postgres_a_stop_wakes_another_store() {
    run(Engine::Postgres, async |given| {
        let turn = given.turn(&given.thread(None, "thread").await).await;
        let (another, mut wakes) = another_that_listens(given).await;
        given.store.request_stop(&given.workspace, &turn.id, None).await.unwrap();
        heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
        let hold = another.turn_hold(&given.workspace, &turn.id).await.unwrap();
        assert!(hold.stop_requested_at.is_some());
        another.close().await;
    });
}

both_databases!(turns_without_an_answer_come_newest_first_with_who_stopped_them, async |given| {
    let thread = given.thread(None, "thread").await;
    for end in [completed(), failed(), TurnEnd::Cancelled, failed()] {
        let turn = given.turn(&thread).await.id;
        if end == TurnEnd::Cancelled {
            given.store.request_stop(&given.workspace, &turn, Some("ada")).await.unwrap();
            // The first request counts.
            given.store.request_stop(&given.workspace, &turn, Some("bob")).await.unwrap();
        }
        given.finish(&turn, end).await.unwrap();
    }
    let some = async |after, before, limit| {
        let found =
            given.store.unanswered_turns(&given.workspace, &thread, after, before, limit).await.unwrap();
        found.into_iter().map(|it| (it.turn.ordinal, it.stopped_by)).collect::<Vec<_>>()
    };
    let ada = Some("ada".to_owned());
    assert_eq!(some(0, 9, 9).await, [(4, None), (3, ada.clone()), (2, None)]);
    assert_eq!(some(2, 4, 9).await, [(3, ada.clone())]);
    assert_eq!(some(0, 9, 2).await, [(4, None), (3, ada)]);
    let other = given.thread(None, "another").await;
    assert_eq!(given.store.unanswered_turns(&given.workspace, &other, 0, 9, 9).await.unwrap(), []);
});
