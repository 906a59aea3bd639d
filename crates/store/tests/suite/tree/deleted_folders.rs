//! Deleted folders: their records, and restoring them.

use protocol::notification::{DocumentChanged, TreeChange, TreeChanged};
use protocol::{DeletedFolder, DocumentStatus, FolderId, RevisionReason, Sequence, Version};
use store::RestoredFolder;

use crate::fixture::{Fixture, Told, assert_invalid_state, assert_not_found};
use crate::params::older;

async fn delete(given: &Fixture, folder: &FolderId) {
    given.store.delete_folder(&given.workspace, folder, None).await.unwrap();
}

async fn restore(given: &Fixture, folder: &FolderId) -> RestoredFolder {
    given.store.restore_folder(&given.workspace, folder, Some("alice")).await.unwrap()
}

async fn deleted(given: &Fixture) -> Vec<DeletedFolder> {
    given.store.deleted_folders(&given.workspace).await.unwrap()
}

both_databases!(the_past_of_a_deleted_folder_can_be_read, async |given| {
    let folder = given.folder(None, "folder").await;
    let scope = given.scope(&folder);
    given.save(&scope, "one").await;
    given.save(&scope, "two").await;
    delete(given, &folder).await;
    assert_eq!(given.versions(&scope).await, [3, 2, 1]);
    assert_eq!(given.history(&scope).await[0].save_reason, RevisionReason::Archive);
    let text =
        async |version| given.store.revision(&scope, Version(version)).await.map(|found| found.content);
    assert_eq!((text(1).await.unwrap(), text(3).await.unwrap()), ("one".to_owned(), "two".to_owned()));
    assert_not_found(text(4).await, "revision", 4);
});

both_databases!(a_deleted_folder_is_missing_for_everything_else, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "folder").await;
    let scope = given.scope(&folder);
    given.save(&scope, "text").await;
    delete(given, &folder).await;
    assert_not_found(store.folder(workspace, &folder).await, "folder", &folder);
    assert_not_found(store.rename_folder(workspace, &folder, "x", None).await, "folder", &folder);
    assert_not_found(store.document(&scope).await, "folder", &folder);
    assert_not_found(given.save_over(&scope, "x", 2).await, "folder", &folder);
    assert_not_found(store.archive_document(&scope, None, None).await, "folder", &folder);
    assert_not_found(store.restore_document(older(&scope, Version(1)), None).await, "folder", &folder);
    assert_not_found(store.resolve_for_folder(&scope).await, "folder", &folder);
    assert_not_found(store.create_folder(workspace, Some(&folder), "x", None).await, "folder", &folder);
});

both_databases!(the_past_of_a_folder_belongs_to_its_workspace, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.scope(&folder), "text").await;
    delete(given, &folder).await;
    let elsewhere = given.another_workspace().await;
    let scope = store::Scope::folder(elsewhere.clone(), folder.clone());
    assert_not_found(given.store.revision(&scope, Version(1)).await, "folder", &folder);
    assert_not_found(given.store.restore_folder(&elsewhere, &folder, None).await, "folder", &folder);
    assert_eq!(given.store.deleted_folders(&elsewhere).await.unwrap(), []);
    let unknown = protocol::WorkspaceId::new();
    assert_not_found(given.store.deleted_folders(&unknown).await, "workspace", &unknown);
    assert_not_found(given.store.restore_folder(&unknown, &folder, None).await, "workspace", &unknown);
});

both_databases!(deleted_folders_are_listed_with_what_restoring_them_brings_back, async |given| {
    let with_text = given.folder(None, "with text").await;
    let archived = given.save(&given.scope(&with_text), "text").await;
    let with_draft = given.folder(Some(&with_text), "with draft").await;
    given.save(&given.scope(&with_draft), " ").await;
    let archived_before = given.folder(None, "archived before").await;
    given.save(&given.scope(&archived_before), "text").await;
    given.archive(&given.scope(&archived_before)).await;
    let empty = given.folder(None, "empty").await;
    assert_eq!(deleted(given).await, []);
    for folder in [&with_draft, &with_text, &archived_before, &empty] {
        delete(given, folder).await;
    }
    let listed = deleted(given).await;
    let of = |id: &FolderId| listed.iter().find(|listed| &listed.folder.id == id).unwrap();
    assert_eq!(listed.len(), 4);
    assert!(listed.is_sorted_by(|newer, older| newer.deleted_at >= older.deleted_at));
    let doc = of(&with_text).doc.clone().unwrap();
    assert_eq!((doc.id, doc.version, doc.status), (archived.id, Version(2), DocumentStatus::Archived));
    assert_eq!((doc.char_count, doc.folder_id), (4, Some(with_text.clone())));
    assert_eq!(of(&with_draft).folder.parent_folder_id, Some(with_text));
    assert_eq!(of(&with_draft).doc.as_ref().map(|doc| doc.char_count), Some(1));
    assert_eq!((&of(&archived_before).doc, &of(&empty).doc), (&None, &None));
});

both_databases!(a_restored_folder_has_its_document_again, async |given| {
    let folder = given.folder(None, "folder").await;
    let scope = given.scope(&folder);
    given.save(&scope, "one").await;
    given.save(&scope, "two").await;
    delete(given, &folder).await;
    let restored = restore(given, &folder).await;
    let document = restored.document.clone().unwrap();
    assert_eq!((document.content.as_str(), document.version), ("two", Version(4)));
    assert_eq!(document.status, DocumentStatus::Active);
    assert_eq!(document.updated_by.as_deref(), Some("alice"));
    assert!(!restored.parent_deleted && !restored.name_repeats);
    assert_eq!(given.store.folder(&given.workspace, &folder).await.unwrap(), restored.folder);
    assert_eq!(given.document(&scope).await, Some(document));
    assert_eq!(given.effective(&scope).await.as_deref(), Some("two"));
    assert_eq!(given.history(&scope).await[0].save_reason, RevisionReason::Restore);
    assert_eq!(deleted(given).await, []);
    given.save_over(&scope, "three", 4).await.unwrap();
    // Delete and restore once more: the second restore must not find the first one's records.
    delete(given, &folder).await;
    let restored = restore(given, &folder).await;
    assert_eq!(restored.document.unwrap().content, "three");
    assert_eq!(given.versions(&scope).await, [7, 6, 5, 4, 3, 2, 1]);
});

both_databases!(a_restored_draft_is_a_draft, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.root(), "root").await;
    given.save(&given.scope(&folder), "\n").await;
    delete(given, &folder).await;
    let document = restore(given, &folder).await.document.unwrap();
    assert_eq!((document.content.as_str(), document.status), ("\n", DocumentStatus::Draft));
    assert_eq!(given.effective(&given.scope(&folder)).await.as_deref(), Some("root"));
});

both_databases!(a_document_that_was_archived_before_stays_archived, async |given| {
    let folder = given.folder(None, "folder").await;
    let scope = given.scope(&folder);
    given.save(&scope, "text").await;
    given.archive(&scope).await;
    delete(given, &folder).await;
    assert_eq!(restore(given, &folder).await.document, None);
    assert_eq!(given.document(&scope).await, None);
    assert_eq!(given.versions(&scope).await, [2, 1]);
});

both_databases!(a_folder_comes_back_below_its_nearest_living_ancestor, async |given| {
    let top = given.folder(None, "top").await;
    let middle = given.folder(Some(&top), "middle").await;
    let inner = given.folder(Some(&middle), "inner").await;
    delete(given, &inner).await;
    delete(given, &middle).await;
    let restored = restore(given, &inner).await;
    assert_eq!((restored.folder.parent_folder_id, restored.parent_deleted), (Some(top.clone()), true));
    delete(given, &inner).await;
    // Its parent was restored, but it was in `top` when it was deleted for the second time.
    restore(given, &middle).await;
    let restored = restore(given, &inner).await;
    assert_eq!((restored.folder.parent_folder_id, restored.parent_deleted), (Some(top.clone()), false));
    for folder in [&inner, &middle, &top] {
        delete(given, folder).await;
    }
    let restored = restore(given, &middle).await;
    assert_eq!((restored.folder.parent_folder_id, restored.parent_deleted), (None, true));
    // A restored folder does not move when its former parent is restored later.
    restore(given, &top).await;
    assert_eq!(given.store.folder(&given.workspace, &middle).await.unwrap().parent_folder_id, None);
});

both_databases!(folders_restored_from_the_outside_in_are_where_they_were, async |given| {
    let top = given.folder(None, "top").await;
    let inner = given.folder(Some(&top), "inner").await;
    given.save(&given.scope(&top), "top").await;
    given.save(&given.scope(&inner), "inner").await;
    delete(given, &inner).await;
    delete(given, &top).await;
    restore(given, &top).await;
    let restored = restore(given, &inner).await;
    assert_eq!((restored.folder.parent_folder_id, restored.parent_deleted), (Some(top.clone()), false));
    assert_eq!(given.effective(&given.scope(&inner)).await.as_deref(), Some("inner"));
    given.archive(&given.scope(&inner)).await;
    assert_eq!(given.effective(&given.scope(&inner)).await.as_deref(), Some("top"));
});

both_databases!(what_was_moved_out_stays_where_it_is, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let parent = given.folder(None, "parent").await;
    let folder = given.folder(Some(&parent), "folder").await;
    let child = given.folder(Some(&folder), "child").await;
    let thread = given.thread(Some(&folder), "thread").await;
    delete(given, &folder).await;
    let moved = restore(given, &folder).await.moved_out.unwrap();
    assert_eq!((moved.folders.count, moved.folders.names), (1, vec!["child".to_owned()]));
    assert_eq!((moved.threads.count, moved.threads.names), (1, vec!["thread".to_owned()]));
    assert_eq!(store.folder(workspace, &child).await.unwrap().parent_folder_id, Some(parent.clone()));
    assert_eq!(store.thread(workspace, &thread).await.unwrap().folder_id, Some(parent));
    store.move_thread(workspace, &thread, Some(&folder), None).await.unwrap();
    store.move_folder(workspace, &child, Some(&folder), None).await.unwrap();
});

both_databases!(what_was_moved_out_is_named_as_it_is_called_now, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "folder").await;
    let renamed = given.folder(Some(&folder), "a").await;
    let deleted = given.folder(Some(&folder), "b").await;
    for number in 0..30 {
        given.thread(Some(&folder), &format!("thread {number:02}")).await;
    }
    // The document was archived before the folder was deleted, so it is not restored.
    let archived = given.thread(Some(&folder), "archived").await;
    store.archive_thread(workspace, &archived, None).await.unwrap();
    delete(given, &folder).await;
    store.rename_folder(workspace, &renamed, "another name", None).await.unwrap();
    delete(given, &deleted).await;
    let moved = restore(given, &folder).await.moved_out.unwrap();
    assert_eq!((moved.folders.count, moved.folders.names), (2, vec!["another name".to_owned()]));
    assert_eq!((moved.threads.count, moved.threads.names.len()), (30, 20));
    assert_eq!(moved.threads.names[19], "thread 19");
    // Children that moved out the first time were not in the folder the second time.
    delete(given, &folder).await;
    assert_eq!(restore(given, &folder).await.moved_out, Some(store::RelocatedChildren::default()));
});

both_databases!(a_name_that_is_taken_meanwhile_is_reported_and_allowed, async |given| {
    for parent in [None, Some(given.folder(None, "parent").await)] {
        let folder = given.folder(parent.as_ref(), "name").await;
        delete(given, &folder).await;
        assert!(!restore(given, &folder).await.name_repeats);
        delete(given, &folder).await;
        given.folder(parent.as_ref(), "name").await;
        let restored = restore(given, &folder).await;
        assert!(restored.name_repeats);
        assert_eq!((restored.folder.name.as_str(), restored.folder.parent_folder_id), ("name", parent));
    }
});

both_databases!(what_is_not_deleted_cannot_be_restored, async |given| {
    let folder = given.folder(None, "folder").await;
    let seq = given.seq().await;
    assert_invalid_state(given.store.restore_folder(&given.workspace, &folder, None).await);
    let unknown = FolderId::new();
    assert_not_found(given.store.restore_folder(&given.workspace, &unknown, None).await, "folder", &unknown);
    assert_eq!(given.seq().await, seq);
});

both_databases!(of_two_who_restore_at_once_one_is_refused, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.scope(&folder), "text").await;
    delete(given, &folder).await;
    let other = given.another_store().await;
    let (one, two) = tokio::join!(
        given.store.restore_folder(&given.workspace, &folder, None),
        other.restore_folder(&given.workspace, &folder, None)
    );
    let (_, refused) = if one.is_ok() { (one, two) } else { (two, one) };
    assert_invalid_state(refused);
    assert_eq!(given.versions(&given.scope(&folder)).await, [3, 2, 1]);
    other.close().await;
});

both_databases!(a_restore_tells_of_the_folder_and_then_of_its_document, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.scope(&folder), "text").await;
    delete(given, &folder).await;
    let seq = given.seq().await;
    let document = restore(given, &folder).await.document.unwrap();
    let tree = |number: u64, reason| {
        Told::Tree(TreeChanged {
            seq: Sequence(seq.0 + number),
            workspace_id: given.workspace.clone(),
            reason,
            folder_id: Some(folder.clone()),
            thread_id: None,
        })
    };
    let changed = DocumentChanged {
        seq: Sequence(seq.0 + 2),
        workspace_id: given.workspace.clone(),
        folder_id: Some(folder.clone()),
        summary: Some(document.summary()),
        effective_changed: true,
    };
    assert_eq!(
        given.told_after(seq).await,
        [tree(1, TreeChange::FolderRestored), Told::Document(changed), tree(3, TreeChange::AgentsDoc)]
    );
    let empty = given.folder(None, "empty").await;
    delete(given, &empty).await;
    let seq = given.seq().await;
    restore(given, &empty).await;
    assert_eq!(given.told_after(seq).await.len(), 1);
});
