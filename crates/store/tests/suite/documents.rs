//! Effects of a save on a scope's document.

mod actors;
mod history;
mod resolution;
mod resolution_property;
mod restore;
mod versions;

use protocol::limits::MAX_DOCUMENT_BYTES;
use protocol::method::DocumentSaveParams;
use protocol::{ContentHash, DocumentStatus, RevisionReason, SaveReason};
use store::StoreError;

use crate::params::text;

both_databases!(line_ends_and_byte_order_mark_are_normalised, async |given| {
    let saved = given.save(&given.root(), "\u{feff}a\r\nb\rc\n").await;
    assert_eq!(saved.content, "a\nb\nc\n");
    assert_eq!(saved.content_sha256, ContentHash::of("a\nb\nc\n"));
    assert_eq!(saved.char_count, 6);
    assert_eq!(given.document(&given.root()).await, Some(saved));
});

both_databases!(saving_what_was_read_changes_nothing, async |given| {
    for content in ["\u{feff}\u{feff}a\r\r\n", "\r\n", "\u{feff}\u{feff}", " a"] {
        let read = given.save(&given.root(), content).await;
        let again = given.store.save_document(text(&given.root(), &read.content), None).await.unwrap();
        assert_eq!(again, read, "{content:?}");
    }
});

both_databases!(nothing_but_line_ends_and_byte_order_mark_is_normalised, async |given| {
    let odd = "\u{2028} e\u{301} \u{e9}\t\u{feff}\u{200b}\u{85}\u{1f600}\u{7} \n\n ";
    let saved = given.save(&given.root(), odd).await;
    assert_eq!(saved.content, odd);
    assert_eq!(given.document(&given.root()).await.unwrap().content, odd);
});

both_databases!(characters_are_counted_not_bytes, async |given| {
    assert_eq!(given.save(&given.root(), "\u{1f600}\u{e9}e\u{301}").await.char_count, 4);
});

both_databases!(only_white_space_is_a_draft_and_never_effective, async |given| {
    for blank in ["", " ", "\r\n\t", "\u{3000}\u{a0}\n"] {
        let folder = given.folder(None, "folder").await;
        let saved = given.save(&given.scope(&folder), blank).await;
        assert_eq!(saved.status, DocumentStatus::Draft, "{blank:?}");
        let (explicit, effective) = given.store.document(&given.scope(&folder)).await.unwrap();
        assert_eq!((explicit, effective), (Some(saved), None));
    }
});

both_databases!(text_makes_a_draft_active_and_white_space_makes_it_a_draft_again, async |given| {
    let root = given.root();
    assert_eq!(given.save(&root, " ").await.status, DocumentStatus::Draft);
    let active = given.save(&root, "text").await;
    assert_eq!((active.status, active.version.0), (DocumentStatus::Active, 2));
    assert_eq!(given.effective(&root).await.as_deref(), Some("text"));
    let draft = given.save(&root, "\n").await;
    assert_eq!((draft.status, draft.version.0), (DocumentStatus::Draft, 3));
    assert_eq!(given.effective(&root).await, None);
    assert_eq!(draft.id, active.id);
});

both_databases!(a_zero_width_space_is_text, async |given| {
    assert_eq!(given.save(&given.root(), "\u{200b}").await.status, DocumentStatus::Active);
});

both_databases!(the_first_save_is_version_1_with_a_revision, async |given| {
    let saved = given.save(&given.root(), "text").await;
    assert_eq!(saved.version.0, 1);
    assert_eq!(saved.title, "AGENTS.md");
    assert_eq!((saved.folder_id, saved.archived_at), (None, None));
    assert_eq!(given.versions(&given.root()).await, [1]);
});

both_databases!(every_other_save_is_one_version_and_one_revision, async |given| {
    let root = given.root();
    let first = given.save(&root, "1").await;
    for version in 2..=5 {
        let saved = given.save(&root, &version.to_string()).await;
        assert_eq!((saved.version.0, &saved.id), (version, &first.id));
        assert_eq!(saved.created_at, first.created_at);
    }
    assert_eq!(given.versions(&root).await, [5, 4, 3, 2, 1]);
});

both_databases!(going_back_to_an_older_text_is_a_new_version, async |given| {
    let root = given.root();
    for content in ["a", "b", "a"] {
        given.save(&root, content).await;
    }
    assert_eq!(given.versions(&root).await, [3, 2, 1]);
});

both_databases!(identical_text_changes_nothing_whatever_version_was_expected, async |given| {
    let root = given.root();
    let first = given.save(&root, "a\nb").await;
    let seq = given.seq().await;
    let unconditional = given.store.save_document(text(&root, "a\nb"), Some("eve")).await.unwrap();
    assert_eq!(unconditional, first);
    for expected in [0, 1, 2, 99, u64::MAX] {
        let again = given.save_over(&root, "\u{feff}a\r\nb", expected).await.unwrap();
        assert_eq!(again, first, "expected {expected}");
    }
    assert_eq!(given.document(&root).await, Some(first));
    assert_eq!(given.versions(&root).await, [1]);
    assert_eq!(given.seq().await, seq);
});

both_databases!(an_identical_draft_changes_nothing_either, async |given| {
    let first = given.save(&given.root(), "\r\n").await;
    let again = given.save_over(&given.root(), "\n", 7).await.unwrap();
    assert_eq!(again, first);
});

both_databases!(a_text_of_exactly_the_limit_is_kept_whole, async |given| {
    let largest = "\u{e9}".repeat(MAX_DOCUMENT_BYTES / 2);
    assert_eq!(largest.len(), 65_536);
    given.save(&given.root(), &largest).await;
    assert_eq!(given.document(&given.root()).await.unwrap().content, largest);
});

both_databases!(one_byte_over_the_limit_is_too_large_and_changes_nothing, async |given| {
    given.save(&given.root(), "before").await;
    let error = given.store.save_document(text(&given.root(), &"x".repeat(65_537)), None).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { limit: 65_536, actual: 65_537 }), "{error:?}");
    assert_eq!(given.document(&given.root()).await.unwrap().content, "before");
});

both_databases!(the_limit_counts_the_normalised_text, async |given| {
    let sent = format!("\u{feff}{}", "\r\n".repeat(65_535) + "x");
    let saved = given.save(&given.root(), &sent).await;
    assert_eq!(saved.content.len(), 65_536);
});

both_databases!(a_zero_byte_is_refused, async |given| {
    let refused = given.store.save_document(text(&given.root(), "a\0b"), None).await;
    crate::fixture::assert_invalid(refused, "content");
    assert_eq!(given.document(&given.root()).await, None);
});

both_databases!(the_reason_of_a_save_is_kept, async |given| {
    let root = given.root();
    given.save(&root, "by hand").await;
    let autosave = DocumentSaveParams { save_reason: Some(SaveReason::Autosave), ..text(&root, "by itself") };
    given.store.save_document(autosave, None).await.unwrap();
    let reasons: Vec<_> = given.history(&root).await.iter().map(|revision| revision.save_reason).collect();
    assert_eq!(reasons, [RevisionReason::Autosave, RevisionReason::Manual]);
});

both_databases!(scopes_and_workspaces_have_their_own_documents_and_versions, async |given| {
    let folder = given.folder(None, "folder").await;
    let elsewhere = store::Scope::root(given.another_workspace().await);
    given.save(&given.root(), "root 1").await;
    given.save(&given.root(), "root 2").await;
    assert_eq!(given.save(&given.scope(&folder), "folder").await.version.0, 1);
    assert_eq!(given.save(&elsewhere, "elsewhere").await.version.0, 1);
    assert_eq!(given.document(&given.root()).await.unwrap().content, "root 2");
    assert_eq!(given.document(&given.scope(&folder)).await.unwrap().content, "folder");
    assert_eq!(given.document(&elsewhere).await.unwrap().content, "elsewhere");
});
