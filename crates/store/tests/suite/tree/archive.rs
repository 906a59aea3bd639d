//! Archived documents.

use protocol::{RevisionReason, Version};

both_databases!(an_archive_is_one_version_and_a_revision_that_keeps_the_text, async |given| {
    let root = given.root();
    given.save(&root, "text").await;
    assert!(given.archive(&root).await);
    let revision = given.store.revision(&root, Version(2)).await.unwrap();
    assert_eq!((revision.summary.save_reason, revision.content.as_str()), (RevisionReason::Archive, "text"));
    assert_eq!(given.versions(&root).await, [2, 1]);
});

both_databases!(an_archived_document_is_neither_there_nor_effective, async |given| {
    given.save(&given.root(), "text").await;
    given.archive(&given.root()).await;
    assert_eq!(given.store.document(&given.root()).await.unwrap(), (None, None));
});

both_databases!(archiving_nothing_changes_nothing, async |given| {
    let seq = given.seq().await;
    assert!(!given.archive(&given.root()).await);
    given.save(&given.root(), "text").await;
    assert!(given.archive(&given.root()).await);
    assert!(!given.archive(&given.root()).await);
    assert_eq!(given.versions(&given.root()).await, [2, 1]);
    assert_eq!(given.seq().await.0, seq.0 + 4);
});

both_databases!(a_draft_can_be_archived, async |given| {
    given.save(&given.root(), " ").await;
    assert!(given.archive(&given.root()).await);
    assert_eq!(given.document(&given.root()).await, None);
});

both_databases!(a_new_document_continues_the_version_numbers_of_its_scope, async |given| {
    let folder = given.folder(None, "folder").await;
    for scope in [given.root(), given.scope(&folder)] {
        let first = given.save(&scope, "text").await;
        given.archive(&scope).await;
        let second = given.save(&scope, "text").await;
        assert_eq!(second.version.0, 3);
        assert_ne!(second.id, first.id);
        given.archive(&scope).await;
        assert_eq!(given.save(&scope, "third").await.version.0, 5);
        assert_eq!(given.versions(&scope).await, [5, 4, 3, 2, 1]);
    }
});
