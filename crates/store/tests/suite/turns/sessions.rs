//! Sessions: saved over the version that was read, or not at all.

use protocol::{ThreadId, Version};
use store::StoreError;

use crate::fixture::session;

/// Checks that another caller had saved.
#[track_caller]
fn assert_changed<T: std::fmt::Debug>(outcome: Result<T, StoreError>, thread: &ThreadId, version: u64) {
    match outcome {
        Err(StoreError::SessionChanged { thread_id, expected }) => {
            assert_eq!((thread_id, expected.0), (thread.clone(), version));
        }
        other => panic!("it was not changed: {other:?}"),
    }
}

both_databases!(a_session_is_what_was_saved_last, async |given| {
    let thread = given.thread(None, "thread").await;
    let store = &given.store;
    let workspace = &given.workspace;
    assert_eq!(store.session(workspace, &thread).await.unwrap(), None);
    for version in 0..3 {
        let state = session(&format!("/project/{version}/✓"));
        let saved = store.save_session(workspace, &thread, state.clone(), Version(version)).await.unwrap();
        assert_eq!((&saved.state, saved.version), (&state, Version(version + 1)));
        assert_eq!(store.session(workspace, &thread).await.unwrap(), Some(saved));
    }
});

both_databases!(over_another_version_than_expected_nothing_is_saved, async |given| {
    let thread = given.thread(None, "thread").await;
    let store = &given.store;
    let workspace = &given.workspace;
    let save = |cwd: &str, expected| store.save_session(workspace, &thread, session(cwd), Version(expected));
    assert_changed(save("/1", 1).await, &thread, 1);
    save("/1", 0).await.unwrap();
    let present = save("/2", 1).await.unwrap();
    for expected in [0, 1, 3, u64::MAX] {
        assert_changed(save("/3", expected).await, &thread, expected);
    }
    assert_eq!(store.session(workspace, &thread).await.unwrap(), Some(present));
});

both_databases!(of_two_saves_over_one_version_exactly_one_wins, async |given| {
    let another = given.another_store().await;
    let thread = given.thread(None, "thread").await;
    for version in 0..100 {
        let save = |store: &store::Store, name: &'static str| {
            let store = store.clone();
            let workspace = given.workspace.clone();
            let thread = thread.clone();
            let state = session(&format!("/{name}/{version}"));
            tokio::spawn(
                async move { store.save_session(&workspace, &thread, state, Version(version)).await },
            )
        };
        let one = save(&given.store, "one");
        let two = save(&another, "two");
        match (one.await.unwrap(), two.await.unwrap()) {
            (Ok(won), lost @ Err(_)) | (lost @ Err(_), Ok(won)) => {
                assert_changed(lost, &thread, version);
                assert_eq!(won.version, Version(version + 1));
                assert_eq!(given.store.session(&given.workspace, &thread).await.unwrap(), Some(won));
            }
            both => panic!("version {version}: {both:?}"),
        }
    }
    another.close().await;
});

// Sessions are internal to gateways and change with every turn; clients need no notification.
both_databases!(saving_a_session_logs_nothing, async |given| {
    let thread = given.thread(None, "thread").await;
    let seq = given.seq().await;
    given.store.save_session(&given.workspace, &thread, session("/"), Version(0)).await.unwrap();
    assert_eq!(given.seq().await, seq);
});

both_databases!(a_session_of_another_format_is_rejected_by_name, async |given| {
    let thread = given.thread(None, "thread").await;
    given.store.save_session(&given.workspace, &thread, session("/"), Version(0)).await.unwrap();
    let connection = given.connection().await;
    connection.execute(r#"UPDATE session SET state = '{"schema": 99}'"#).await.unwrap();
    connection.close().await;
    let error = given.store.session(&given.workspace, &thread).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { what: "session", .. }), "{error:?}");
    assert!(error.to_string().contains("99"), "{error}");
});
