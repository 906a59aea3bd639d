//! Stops: asked for once, of a turn that runs, and heard wherever it runs.

use store::{StoreError, Turn, TurnEnd, Wake};

use crate::fixture::{Engine, OWNER, lease, run};
use crate::wakes::{another_that_listens, heard};

both_databases!(a_running_turn_is_asked_to_stop_once, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    assert_eq!(turn.stop_requested_at, None);
    let seq = given.seq().await;
    let mut wakes = given.store.wakes();
    let stopped = given.store.request_stop(&given.workspace, &turn.id, Some("ada")).await.unwrap();
    heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
    assert!(stopped.stop_requested_at.is_some_and(|requested| requested >= turn.created_at));
    assert_eq!(Turn { stop_requested_at: None, ..stopped.clone() }, turn);
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    assert_eq!(given.store.request_stop(&given.workspace, &turn.id, None).await.unwrap(), stopped);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), stopped);
    assert_eq!(given.seq().await, seq);
    assert_eq!(given.told_after(seq).await, []);
});

both_databases!(a_turn_that_is_asked_to_stop_is_still_its_owners, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let stopped = given.store.request_stop(&given.workspace, &turn.id, None).await.unwrap();
    given.store.renew_lease(&given.workspace, &turn.id, &lease(OWNER, 90_000)).await.unwrap();
    let ended = given.finish(&turn.id, TurnEnd::Cancelled).await.unwrap();
    assert_eq!(ended.stop_requested_at, stopped.stop_requested_at);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended);
});

both_databases!(a_turn_that_has_ended_is_left_as_it_is, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let ended = given.finish(&turn.id, TurnEnd::Completed).await.unwrap();
    let seq = given.seq().await;
    assert_eq!(given.store.request_stop(&given.workspace, &turn.id, Some("ada")).await.unwrap(), ended);
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended);
    assert_eq!(given.seq().await, seq);
});

both_databases!(a_stop_and_an_end_agree_on_what_happened, async |given| {
    let another = given.another_store().await;
    let thread = given.thread(None, "thread").await;
    for round in 0..30 {
        let turn = given.turn(&thread).await;
        let (stopper, workspace, id) = (another.clone(), given.workspace.clone(), turn.id.clone());
        let stop = tokio::spawn(async move { stopper.request_stop(&workspace, &id, None).await });
        let ended = given.finish(&turn.id, TurnEnd::Completed).await.unwrap();
        let stopped: Result<Turn, StoreError> = stop.await.unwrap();
        assert_eq!(stopped.unwrap().stop_requested_at, ended.stop_requested_at, "round {round}");
        assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), ended, "round {round}");
    }
    another.close().await;
});

#[test]
fn on_postgres_a_stop_wakes_another_store() {
    run(Engine::Postgres, async |given| {
        let turn = given.turn(&given.thread(None, "thread").await).await;
        let (another, mut wakes) = another_that_listens(given).await;
        let stopped = given.store.request_stop(&given.workspace, &turn.id, None).await.unwrap();
        heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
        assert_eq!(another.turn(&given.workspace, &turn.id).await.unwrap(), stopped);
        another.close().await;
    });
}
