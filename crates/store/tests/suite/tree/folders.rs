//! Folders of the tree.

use crate::fixture::{assert_invalid_state, assert_not_found};

both_databases!(a_folder_stands_where_it_was_made, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let outer = store.create_folder(workspace, None, "outer", None).await.unwrap();
    let inner = store.create_folder(workspace, Some(&outer.id), "inner", None).await.unwrap();
    assert_eq!((outer.parent_folder_id.as_ref(), outer.name.as_str()), (None, "outer"));
    assert_eq!((inner.parent_folder_id.as_ref(), inner.name.as_str()), (Some(&outer.id), "inner"));
    assert_eq!(inner.workspace_id, *workspace);
    assert_eq!(store.folder(workspace, &outer.id).await.unwrap(), outer);
    assert_eq!(store.folder(workspace, &inner.id).await.unwrap(), inner);
});

both_databases!(a_renamed_folder_stays_where_it_is, async |given| {
    let outer = given.folder(None, "outer").await;
    let inner = given.folder(Some(&outer), "inner").await;
    let renamed = given.store.rename_folder(&given.workspace, &inner, "other", None).await.unwrap();
    assert_eq!((renamed.name.as_str(), renamed.parent_folder_id.as_ref()), ("other", Some(&outer)));
    assert_eq!(given.store.folder(&given.workspace, &inner).await.unwrap(), renamed);
});

both_databases!(the_name_or_place_it_has_already_changes_nothing, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let outer = given.folder(None, "outer").await;
    let inner = store.create_folder(workspace, Some(&outer), "inner", None).await.unwrap();
    let seq = given.seq().await;
    assert_eq!(store.rename_folder(workspace, &inner.id, "inner", None).await.unwrap(), inner);
    assert_eq!(store.move_folder(workspace, &inner.id, Some(&outer), None).await.unwrap(), inner);
    assert_eq!(store.move_folder(workspace, &outer, None, None).await.unwrap().id, outer);
    assert_eq!(given.seq().await, seq);
});

both_databases!(a_folder_moves_with_everything_below_it, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let from = given.folder(None, "from").await;
    let to = given.folder(None, "to").await;
    let moved = given.folder(Some(&from), "moved").await;
    let below = given.folder(Some(&moved), "below").await;
    let answer = store.move_folder(workspace, &moved, Some(&to), None).await.unwrap();
    assert_eq!(answer.parent_folder_id.as_ref(), Some(&to));
    assert_eq!(store.folder(workspace, &moved).await.unwrap(), answer);
    assert_eq!(store.folder(workspace, &below).await.unwrap().parent_folder_id, Some(moved.clone()));
    let answer = store.move_folder(workspace, &moved, None, None).await.unwrap();
    assert_eq!(answer.parent_folder_id, None);
});

both_databases!(a_folder_cannot_be_moved_below_itself, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let top = given.folder(None, "top").await;
    let child = given.folder(Some(&top), "child").await;
    let grandchild = given.folder(Some(&child), "grandchild").await;
    let seq = given.seq().await;
    for target in [&top, &child, &grandchild] {
        assert_invalid_state(store.move_folder(workspace, &top, Some(target), None).await);
    }
    assert_eq!(store.folder(workspace, &top).await.unwrap().parent_folder_id, None);
    assert_eq!(given.seq().await, seq);
    store.move_folder(workspace, &grandchild, Some(&top), None).await.unwrap();
});

both_databases!(a_deleted_folder_archives_its_document, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.scope(&folder), "text").await;
    given.store.delete_folder(&given.workspace, &folder, None).await.unwrap();
    let documents =
        given.column("SELECT status || ' ' || version || ' ' || content FROM thread_agents_doc").await;
    assert_eq!(documents, ["archived 2 text"]);
    let reasons = given.column("SELECT save_reason FROM thread_agents_doc_revision ORDER BY version").await;
    assert_eq!(reasons, ["manual", "archive"]);
});

// Deleting a folder never deletes threads.
both_databases!(what_a_deleted_folder_held_moves_to_its_parent, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let parent = given.folder(None, "parent").await;
    let folder = given.folder(Some(&parent), "folder").await;
    let child = given.folder(Some(&folder), "child").await;
    let grandchild = given.folder(Some(&child), "grandchild").await;
    let thread = given.thread(Some(&folder), "thread").await;
    let deeper = given.thread(Some(&child), "deeper").await;
    store.delete_folder(workspace, &folder, None).await.unwrap();
    assert_eq!(store.folder(workspace, &child).await.unwrap().parent_folder_id, Some(parent.clone()));
    assert_eq!(store.folder(workspace, &grandchild).await.unwrap().parent_folder_id, Some(child.clone()));
    assert_eq!(store.thread(workspace, &thread).await.unwrap().folder_id, Some(parent));
    assert_eq!(store.thread(workspace, &deeper).await.unwrap().folder_id, Some(child));
});

both_databases!(what_a_deleted_top_folder_held_moves_to_the_root, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "folder").await;
    let child = given.folder(Some(&folder), "child").await;
    let thread = given.thread(Some(&folder), "thread").await;
    let archived = given.thread(Some(&folder), "archived").await;
    store.archive_thread(workspace, &archived, None).await.unwrap();
    store.delete_folder(workspace, &folder, None).await.unwrap();
    assert_eq!(store.folder(workspace, &child).await.unwrap().parent_folder_id, None);
    assert_eq!(store.thread(workspace, &thread).await.unwrap().folder_id, None);
    assert_eq!(store.thread(workspace, &archived).await.unwrap().folder_id, None);
});

both_databases!(a_document_below_a_deleted_folder_stays, async |given| {
    let folder = given.folder(None, "folder").await;
    let child = given.folder(Some(&folder), "child").await;
    let document = given.save(&given.scope(&child), "text").await;
    given.store.delete_folder(&given.workspace, &folder, None).await.unwrap();
    assert_eq!(given.document(&given.scope(&child)).await, Some(document));
});

both_databases!(a_deleted_folder_cannot_be_deleted_again, async |given| {
    let folder = given.folder(None, "folder").await;
    given.store.delete_folder(&given.workspace, &folder, None).await.unwrap();
    let seq = given.seq().await;
    assert_not_found(given.store.delete_folder(&given.workspace, &folder, None).await, "folder", &folder);
    assert_eq!(given.seq().await, seq);
});
