//! Restoring old revisions.

use protocol::method::{DocumentRestoreParams, DocumentSaveParams};
use protocol::{DocumentStatus, RevisionReason, Version};

use crate::fixture::{assert_invalid, assert_not_found};
use crate::params::{older, text};

both_databases!(a_restore_is_a_new_version_with_its_own_reason, async |given| {
    let root = given.root();
    let old = given.save(&root, "old").await;
    given.save(&root, "new").await;
    let restored = given.store.restore_document(older(&root, Version(1)), None).await.unwrap();
    assert_eq!((restored.version.0, restored.content.as_str()), (3, "old"));
    assert_eq!((&restored.id, &restored.content_sha256), (&old.id, &old.content_sha256));
    assert_eq!(given.history(&root).await[0].save_reason, RevisionReason::Restore);
    assert_eq!(given.document(&root).await, Some(restored));
});

both_databases!(a_restore_of_the_current_text_changes_nothing, async |given| {
    let root = given.root();
    for content in ["a", "b", "a"] {
        given.save(&root, content).await;
    }
    let seq = given.seq().await;
    for expected in [None, Some(Version(0)), Some(Version(3)), Some(Version(9))] {
        let restored = given
            .store
            .restore_document(
                DocumentRestoreParams { expected_version: expected, ..older(&root, Version(1)) },
                None,
            )
            .await
            .unwrap();
        assert_eq!(restored.version.0, 3);
    }
    assert_eq!(given.seq().await, seq);
});

both_databases!(an_archived_document_comes_back_as_the_next_version, async |given| {
    let root = given.root();
    let archived = given.save(&root, "text").await;
    given.archive(&root).await;
    // Version 2 is the archive's own revision; it holds the same text.
    let restored = given
        .store
        .restore_document(
            DocumentRestoreParams { expected_version: Some(Version(0)), ..older(&root, Version(2)) },
            None,
        )
        .await
        .unwrap();
    assert_eq!((restored.version.0, restored.content.as_str()), (3, "text"));
    assert_ne!(restored.id, archived.id);
    assert_eq!(given.effective(&root).await.as_deref(), Some("text"));
});

both_databases!(a_restored_draft_is_a_draft, async |given| {
    let root = given.root();
    given.save(&root, " ").await;
    given.save(&root, "text").await;
    let restored = given.store.restore_document(older(&root, Version(1)), None).await.unwrap();
    assert_eq!(restored.status, DocumentStatus::Draft);
});

both_databases!(a_version_that_never_was_is_not_found, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.root(), "a").await;
    given.save(&given.root(), "b").await;
    for (scope, version) in [
        (given.root(), Version(0)),
        (given.root(), Version(3)),
        (given.root(), Version(u64::MAX)),
        (given.scope(&folder), Version(1)),
    ] {
        assert_not_found(
            given.store.restore_document(older(&scope, version), None).await,
            "revision",
            version,
        );
        assert_not_found(given.store.revision(&scope, version).await, "revision", version);
    }
});

both_databases!(a_restored_text_is_the_revisions_to_the_byte, async |given| {
    let root = given.root();
    for content in ["\u{feff}\u{feff}a", "\u{feff}a\r\r\nb", " a \n\n"] {
        let first = given.save(&root, content).await;
        given.save(&root, "something else").await;
        let restored = given.store.restore_document(older(&root, first.version), None).await.unwrap();
        assert_eq!(restored.content, first.content);
        assert_eq!(restored.content_sha256, first.content_sha256);
    }
});

both_databases!(the_history_says_what_a_change_was_for, async |given| {
    let root = given.root();
    given.save(&root, "old").await;
    let save = DocumentSaveParams { message: Some("why".to_owned()), ..text(&root, "new") };
    given.store.save_document(save, None).await.unwrap();
    let restore = DocumentRestoreParams { message: Some("back".to_owned()), ..older(&root, Version(1)) };
    given.store.restore_document(restore, None).await.unwrap();
    let history = given.history(&root).await;
    let said: Vec<_> = history.iter().map(|it| (it.message.as_deref(), it.restored_from)).collect();
    assert_eq!(said, [(Some("back"), Some(Version(1))), (Some("why"), None), (None, None)]);
    let revision = given.store.revision(&root, Version(3)).await.unwrap();
    assert_eq!(
        (revision.summary.message.as_deref(), revision.summary.restored_from),
        (Some("back"), Some(Version(1)))
    );
    for (message, kept) in [("   ", None), ("x", Some("x"))] {
        let content = format!("a text for {message}");
        let save = DocumentSaveParams { message: Some(message.to_owned()), ..text(&root, &content) };
        given.store.save_document(save, None).await.unwrap();
        assert_eq!(given.history(&root).await[0].message.as_deref(), kept);
    }
    for message in ["x".repeat(501), "a\0b".to_owned()] {
        let save = DocumentSaveParams { message: Some(message), ..text(&root, "refused") };
        assert_invalid(given.store.save_document(save, None).await, "message");
    }
});
