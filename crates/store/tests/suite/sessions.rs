//! Sessions: saved over the version that was read, or not at all.

use protocol::Version;
use serde_json::json;
use store::{Session, SessionSave};

#[track_caller]
fn saved(outcome: SessionSave) -> Session {
    match outcome {
        SessionSave::Saved(session) => session,
        SessionSave::Changed(present) => panic!("it was changed: {present:?}"),
    }
}

both_databases!(a_session_is_what_was_saved_last, async |given| {
    let thread = given.thread(None, "thread").await;
    let (store, workspace) = (&given.store, &given.workspace);
    assert_eq!(store.session(workspace, &thread).await.unwrap(), None);
    for version in 0..3 {
        let state = json!({ "seen": ["a\u{0}"], "turn": version });
        let session = saved(store.save_session(workspace, &thread, &state, Version(version)).await.unwrap());
        assert_eq!((&session.state, session.version), (&state, Version(version + 1)));
        assert_eq!(store.session(workspace, &thread).await.unwrap(), Some(session));
    }
});

both_databases!(another_version_than_expected_is_answered_with_what_there_is, async |given| {
    let thread = given.thread(None, "thread").await;
    let (store, workspace) = (&given.store, &given.workspace);
    let none = store.save_session(workspace, &thread, &json!(1), Version(1)).await.unwrap();
    assert_eq!(none, SessionSave::Changed(None));
    saved(store.save_session(workspace, &thread, &json!(1), Version(0)).await.unwrap());
    let present = saved(store.save_session(workspace, &thread, &json!(2), Version(1)).await.unwrap());
    for expected in [0, 1, 3, u64::MAX] {
        let refused = store.save_session(workspace, &thread, &json!(3), Version(expected)).await.unwrap();
        assert_eq!(refused, SessionSave::Changed(Some(present.clone())), "{expected}");
    }
    assert_eq!(store.session(workspace, &thread).await.unwrap(), Some(present));
});

both_databases!(of_two_saves_over_one_version_exactly_one_wins, async |given| {
    let another = given.another_store().await;
    let thread = given.thread(None, "thread").await;
    for version in 0..100 {
        let save = |store: &store::Store, name: &'static str| {
            let (store, workspace, thread) = (store.clone(), given.workspace.clone(), thread.clone());
            tokio::spawn(async move {
                store
                    .save_session(&workspace, &thread, &json!([name, version]), Version(version))
                    .await
                    .unwrap()
            })
        };
        let (one, two) = (save(&given.store, "one"), save(&another, "two"));
        match (one.await.unwrap(), two.await.unwrap()) {
            (SessionSave::Saved(won), SessionSave::Changed(Some(seen)))
            | (SessionSave::Changed(Some(seen)), SessionSave::Saved(won)) => {
                assert_eq!(won, seen);
                assert_eq!(won.version, Version(version + 1));
            }
            both => panic!("version {version}: {both:?}"),
        }
    }
    another.close().await;
});

both_databases!(a_save_changes_nothing_that_is_told, async |given| {
    let thread = given.thread(None, "thread").await;
    let seq = given.seq().await;
    given.store.save_session(&given.workspace, &thread, &json!({}), Version(0)).await.unwrap();
    assert_eq!(given.seq().await, seq);
});
