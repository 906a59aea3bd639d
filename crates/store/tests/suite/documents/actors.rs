//! Authors of changes.

use protocol::Version;

use crate::params::{older, text};

both_databases!(a_document_names_who_made_it_and_who_changed_it_last, async |given| {
    let root = given.root();
    given.store.save_document(text(&root, "a"), Some("ada")).await.unwrap();
    let saved = given.store.save_document(text(&root, "b"), Some("bob")).await.unwrap();
    assert_eq!((saved.created_by.as_deref(), saved.updated_by.as_deref()), (Some("ada"), Some("bob")));
    assert_eq!(given.document(&root).await, Some(saved));
});

both_databases!(every_revision_names_who_saved_it, async |given| {
    let root = given.root();
    given.store.save_document(text(&root, "a"), Some("ada")).await.unwrap();
    given.store.save_document(text(&root, "b"), None).await.unwrap();
    given.store.restore_document(older(&root, Version(1)), Some("cleo")).await.unwrap();
    given.store.archive_document(&root, None, Some("dora")).await.unwrap();
    let names: Vec<_> = given.history(&root).await.into_iter().map(|revision| revision.saved_by).collect();
    assert_eq!(names, [Some("dora".to_owned()), Some("cleo".to_owned()), None, Some("ada".to_owned())]);
    assert_eq!(
        given.store.revision(&root, Version(4)).await.unwrap().summary.saved_by.as_deref(),
        Some("dora")
    );
});

both_databases!(who_saves_identical_text_is_not_named, async |given| {
    let root = given.root();
    given.store.save_document(text(&root, "a"), Some("ada")).await.unwrap();
    let again = given.store.save_document(text(&root, "a"), Some("eve")).await.unwrap();
    assert_eq!(again.updated_by.as_deref(), Some("ada"));
});

both_databases!(who_deletes_a_folder_archives_its_document, async |given| {
    let folder = given.folder(None, "folder").await;
    given.store.save_document(text(&given.scope(&folder), "a"), Some("ada")).await.unwrap();
    given.store.delete_folder(&given.workspace, &folder, Some("dora")).await.unwrap();
    let names = given.column("SELECT updated_by FROM thread_agents_doc").await;
    assert_eq!(names, ["dora"]);
    let names = given.column("SELECT saved_by FROM thread_agents_doc_revision ORDER BY version").await;
    assert_eq!(names, ["ada", "dora"]);
});

both_databases!(the_change_log_names_who_did_it, async |given| {
    given.store.create_folder(&given.workspace, None, "folder", Some("ada")).await.unwrap();
    given.store.save_document(text(&given.root(), "a"), Some("bob")).await.unwrap();
    let names = given.column("SELECT actor FROM change_log WHERE actor IS NOT NULL ORDER BY seq").await;
    // Bob's first save changes the document, and also the tree, because there was no document before.
    assert_eq!(names, ["ada", "bob", "bob"]);
});
