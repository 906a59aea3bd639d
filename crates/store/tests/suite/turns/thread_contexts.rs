//! Contexts of threads: saved over the version that was read, or not at all.

use protocol::Version;

use crate::fixture::assert_invalid;

both_databases!(a_context_is_what_was_saved_last, async |given| {
    let thread = given.thread(None, "thread").await;
    let store = &given.store;
    let workspace = &given.workspace;
    assert_eq!(given.context(&thread).await, None);
    for (version, (through, summary)) in (0..).zip([(0, None), (3, Some("what was said\n✓")), (5, None)]) {
        let saved = store.save_thread_context(workspace, &thread, through, summary, Version(version)).await;
        let saved = saved.unwrap().unwrap();
        assert_eq!((&saved.thread_id, saved.through, saved.summary.as_deref()), (&thread, through, summary));
        assert_eq!(saved.version, Version(version + 1));
        assert_eq!(given.context(&thread).await, Some(saved));
    }
});

both_databases!(over_another_version_than_expected_nothing_is_saved, async |given| {
    let thread = given.thread(None, "thread").await;
    let save = async |through, expected| {
        let summary = Some("summary");
        given.store.save_thread_context(&given.workspace, &thread, through, summary, Version(expected)).await
    };
    assert_eq!(save(1, 1).await.unwrap(), None);
    save(1, 0).await.unwrap().unwrap();
    let present = save(2, 1).await.unwrap();
    for expected in [0, 1, 3, u64::MAX] {
        assert_eq!(save(3, expected).await.unwrap(), None, "{expected}");
    }
    assert_eq!(given.context(&thread).await, present);
});

both_databases!(of_two_contexts_over_one_version_exactly_one_is_saved, async |given| {
    let another = given.another_store().await;
    let thread = given.thread(None, "thread").await;
    for version in 0..50 {
        let save = |store: &store::Store, through: u64| {
            let store = store.clone();
            let workspace = given.workspace.clone();
            let thread = thread.clone();
            tokio::spawn(async move {
                store.save_thread_context(&workspace, &thread, through, None, Version(version)).await.unwrap()
            })
        };
        let one = save(&given.store, 1);
        let two = save(&another, 2);
        match (one.await.unwrap(), two.await.unwrap()) {
            (Some(won), None) | (None, Some(won)) => {
                let present = given.context(&thread).await;
                assert_eq!(present, Some(won));
            }
            both => panic!("version {version}: {both:?}"),
        }
    }
    another.close().await;
});

both_databases!(a_summary_that_no_database_could_hold_is_refused, async |given| {
    let thread = given.thread(None, "thread").await;
    let save = given.store.save_thread_context(&given.workspace, &thread, 1, Some("a\0b"), Version(0));
    assert_invalid(save.await, "summary");
    assert_eq!(given.context(&thread).await, None);
});

both_databases!(a_context_changes_nothing_that_is_told, async |given| {
    let thread = given.thread(None, "thread").await;
    let seq = given.seq().await;
    given.store.save_thread_context(&given.workspace, &thread, 1, None, Version(0)).await.unwrap();
    assert_eq!(given.seq().await, seq);
});
