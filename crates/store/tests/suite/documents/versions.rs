//! `expected_version`: no caller overwrites a version that it has not seen.

use protocol::Version;
use protocol::method::DocumentRestoreParams;

use crate::fixture::conflict;
use crate::params::older;

both_databases!(without_an_expected_version_a_save_is_unconditional, async |given| {
    given.save(&given.root(), "first").await;
    assert_eq!(given.save(&given.root(), "second").await.version.0, 2);
});

both_databases!(the_version_that_is_there_is_accepted, async |given| {
    given.save(&given.root(), "first").await;
    let saved = given.save_over(&given.root(), "second", 1).await.unwrap();
    assert_eq!(saved.version.0, 2);
});

both_databases!(any_other_version_is_a_conflict_with_the_current_document, async |given| {
    let root = given.root();
    given.save(&root, "first").await;
    let current = given.save(&root, "second").await;
    let seq = given.seq().await;
    for expected in [0, 1, 3, u64::MAX] {
        let refused = given.save_over(&root, "mine", expected).await;
        assert_eq!(conflict(refused), (expected, 2, Some(current.clone())));
    }
    assert_eq!(given.document(&root).await, Some(current));
    assert_eq!(given.versions(&root).await, [2, 1]);
    assert_eq!(given.seq().await, seq);
});

both_databases!(zero_means_that_there_is_no_document_yet, async |given| {
    assert_eq!(given.save_over(&given.root(), "first", 0).await.unwrap().version.0, 1);
});

both_databases!(zero_conflicts_with_a_draft_too, async |given| {
    let draft = given.save(&given.root(), "").await;
    assert_eq!(conflict(given.save_over(&given.root(), "text", 0).await), (0, 1, Some(draft)));
});

both_databases!(a_version_of_a_document_that_is_not_there_is_a_conflict_without_one, async |given| {
    assert_eq!(conflict(given.save_over(&given.root(), "text", 1).await), (1, 0, None));
    assert_eq!(given.versions(&given.root()).await, [0_u64; 0]);
});

both_databases!(after_an_archive_there_is_no_document, async |given| {
    let root = given.root();
    given.save(&root, "text").await;
    given.archive(&root).await;
    assert_eq!(conflict(given.save_over(&root, "again", 1).await), (1, 0, None));
    assert_eq!(conflict(given.save_over(&root, "again", 2).await), (2, 0, None));
    assert_eq!(given.save_over(&root, "again", 0).await.unwrap().version.0, 3);
});

both_databases!(an_archive_is_guarded_too, async |given| {
    let root = given.root();
    let current = given.save(&root, "text").await;
    for expected in [0, 2] {
        let refused = given.store.archive_document(&root, Some(Version(expected)), None).await;
        assert_eq!(conflict(refused), (expected, 1, Some(current.clone())));
    }
    assert!(given.store.archive_document(&root, Some(Version(1)), None).await.unwrap());
    let refused = given.store.archive_document(&root, Some(Version(2)), None).await;
    assert_eq!(conflict(refused), (2, 0, None));
    assert!(!given.store.archive_document(&root, Some(Version(0)), None).await.unwrap());
});

both_databases!(a_restore_is_guarded_too, async |given| {
    let root = given.root();
    given.save(&root, "old").await;
    let current = given.save(&root, "new").await;
    let refused = given
        .store
        .restore_document(
            DocumentRestoreParams { expected_version: Some(Version(1)), ..older(&root, Version(1)) },
            None,
        )
        .await;
    assert_eq!(conflict(refused), (1, 2, Some(current)));
    let restored = given
        .store
        .restore_document(
            DocumentRestoreParams { expected_version: Some(Version(2)), ..older(&root, Version(1)) },
            None,
        )
        .await
        .unwrap();
    assert_eq!((restored.version.0, restored.content.as_str()), (3, "old"));
});
