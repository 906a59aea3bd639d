//! Threads and their placements.

use protocol::ThreadMode;
use protocol::method::ThreadCreateParams;

use crate::fixture::assert_invalid_state;

both_databases!(a_thread_stands_where_it_was_made, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "folder").await;
    for (folder_id, mode) in [(None, ThreadMode::Chat), (Some(folder), ThreadMode::Agent)] {
        let new = ThreadCreateParams {
            workspace_id: workspace.clone(),
            folder_id: folder_id.clone(),
            title: "thread".to_owned(),
            mode,
        };
        let thread = store.create_thread(new, None).await.unwrap();
        assert_eq!((&thread.folder_id, thread.mode), (&folder_id, mode));
        assert_eq!((thread.title.as_str(), thread.archived_at), ("thread", None));
        assert_eq!(store.thread(workspace, &thread.id).await.unwrap(), thread);
    }
});

both_databases!(a_renamed_thread_stays_where_it_is, async |given| {
    let folder = given.folder(None, "folder").await;
    let thread = given.thread(Some(&folder), "thread").await;
    let renamed = given.store.rename_thread(&given.workspace, &thread, "other", None).await.unwrap();
    assert_eq!((renamed.title.as_str(), renamed.folder_id.as_ref()), ("other", Some(&folder)));
    assert_eq!(given.store.thread(&given.workspace, &thread).await.unwrap(), renamed);
});

both_databases!(a_thread_moves_between_folders_and_the_root, async |given| {
    let one = given.folder(None, "one").await;
    let two = given.folder(Some(&one), "two").await;
    let thread = given.thread(None, "thread").await;
    for place in [Some(&one), Some(&two), None, Some(&two)] {
        let moved = given.store.move_thread(&given.workspace, &thread, place, None).await.unwrap();
        assert_eq!(moved.folder_id.as_ref(), place);
        assert_eq!(given.store.thread(&given.workspace, &thread).await.unwrap(), moved);
    }
});

both_databases!(the_title_or_place_it_has_already_changes_nothing, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "folder").await;
    let placed = given.thread(Some(&folder), "placed").await;
    let loose = given.thread(None, "loose").await;
    let before = store.thread(workspace, &placed).await.unwrap();
    let seq = given.seq().await;
    assert_eq!(store.rename_thread(workspace, &placed, "placed", None).await.unwrap(), before);
    assert_eq!(store.move_thread(workspace, &placed, Some(&folder), None).await.unwrap(), before);
    store.move_thread(workspace, &loose, None, None).await.unwrap();
    assert_eq!(given.seq().await, seq);
});

both_databases!(an_archived_thread_can_be_seen_but_not_changed, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "folder").await;
    let thread = given.thread(Some(&folder), "thread").await;
    let archived = store.archive_thread(workspace, &thread, None).await.unwrap();
    assert!(archived.archived_at.is_some());
    assert_eq!(archived.folder_id, Some(folder));
    let seq = given.seq().await;
    assert_invalid_state(store.rename_thread(workspace, &thread, "other", None).await);
    assert_invalid_state(store.rename_thread(workspace, &thread, "thread", None).await);
    assert_invalid_state(store.move_thread(workspace, &thread, None, None).await);
    assert_eq!(store.thread(workspace, &thread).await.unwrap(), archived);
    assert_eq!(given.seq().await, seq);
});

both_databases!(archiving_a_thread_again_changes_nothing, async |given| {
    let thread = given.thread(None, "thread").await;
    let archived = given.store.archive_thread(&given.workspace, &thread, None).await.unwrap();
    let seq = given.seq().await;
    assert_eq!(given.store.archive_thread(&given.workspace, &thread, None).await.unwrap(), archived);
    assert_eq!(given.seq().await, seq);
});
