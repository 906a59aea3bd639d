//! The end of a turn and the session it leaves: both, or neither.

use protocol::{TurnStatus, Version};
use store::{FinishTurn, StoreError, TurnEnd};

use crate::fixture::{OWNER, assert_ended, assert_not_holder, session};

fn ended_with(cwd: &str, expected: u64) -> FinishTurn {
    FinishTurn::new(TurnEnd::Completed { session: Some(Box::new((session(cwd), Version(expected)))) })
}

both_databases!(a_turn_ends_with_its_session, async |given| {
    let thread = given.thread(None, "thread").await;
    for version in 0..3 {
        let turn = given.turn(&thread).await;
        let seq = given.seq().await;
        let cwd = format!("/turn-{version}");
        let finish = ended_with(&cwd, version);
        let ended = given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await.unwrap();
        assert_eq!(ended.status, TurnStatus::Completed);
        let saved = given.store.session(&given.workspace, &thread).await.unwrap().unwrap();
        assert_eq!((saved.state, saved.version), (session(&cwd), Version(version + 1)));
        assert_eq!(given.seq().await, seq.next());
    }
});

// Ending it anyway would overwrite the record of which instruction files the model has seen.
both_databases!(a_changed_session_keeps_the_turn_from_ending, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given.turn(&thread).await;
    given.store.save_session(&given.workspace, &thread, session("/other"), Version(0)).await.unwrap();
    let saved = given.store.session(&given.workspace, &thread).await.unwrap();
    let seq = given.seq().await;
    for expected in [0, 2, u64::MAX] {
        let finish = ended_with("/mine", expected);
        match given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await {
            Err(StoreError::SessionChanged { thread_id, expected: refused }) => {
                assert_eq!((thread_id, refused.0), (thread.clone(), expected));
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), turn);
    assert_eq!(given.store.session(&given.workspace, &thread).await.unwrap(), saved);
    assert_eq!(given.seq().await, seq);
    let finish = ended_with("/mine", 1);
    given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await.unwrap();
});

both_databases!(ending_with_the_same_session_again_changes_nothing, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given.turn(&thread).await;
    let finish = async |cwd: &str, expected| {
        let finish = ended_with(cwd, expected);
        given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await
    };
    let ended = finish("/1", 0).await.unwrap();
    let seq = given.seq().await;
    assert_eq!(finish("/1", 0).await.unwrap(), ended);
    assert_ended(finish("/2", 0).await);
    assert_ended(finish("/2", 1).await);
    // A later turn may have saved its own session before a lost response is retried.
    given.store.save_session(&given.workspace, &thread, session("/3"), Version(1)).await.unwrap();
    assert_eq!(finish("/1", 0).await.unwrap(), ended);
    let saved = given.store.session(&given.workspace, &thread).await.unwrap().unwrap();
    assert_eq!((saved.state, saved.version), (session("/3"), Version(2)));
    assert_eq!(given.seq().await, seq);
});

both_databases!(only_the_owner_of_a_turn_saves_its_session, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given.turn(&thread).await;
    let finish = ended_with("/1", 0);
    let stranger = given.store.finish_turn(&given.workspace, &turn.id, "gateway-2", finish, None).await;
    assert_not_holder(stranger);
    assert_eq!(given.store.session(&given.workspace, &thread).await.unwrap(), None);
});
