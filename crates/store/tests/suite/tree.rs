//! The whole tree of a workspace.

use protocol::{Placement, ThreadSummary};

use crate::fixture::new_thread;

both_databases!(a_tree_holds_everything_that_is_there_oldest_first, async |given| {
    let (store, workspace) = (&given.store, &given.workspace);
    let outer = store.create_folder(workspace, None, "outer", None).await.unwrap();
    let inner = store.create_folder(workspace, Some(&outer.id), "inner", None).await.unwrap();
    let placed = store.create_thread(workspace, new_thread(Some(&inner.id), "placed"), None).await.unwrap();
    let loose = store.create_thread(workspace, new_thread(None, "loose"), None).await.unwrap();
    let active = given.save(&given.root(), "text").await;
    let draft = given.save(&given.scope(&inner.id), "").await;
    let tree = store.tree(workspace).await.unwrap();
    assert_eq!(tree.workspace_id, *workspace);
    assert_eq!(tree.seq, given.seq().await);
    assert_eq!(tree.folders, [outer, inner.clone()]);
    let titles: Vec<_> = tree.threads.iter().map(|thread| thread.title.as_str()).collect();
    assert_eq!(titles, ["placed", "loose"]);
    let ThreadSummary { id, mode, created_at, updated_at, .. } = tree.threads[1].clone();
    assert_eq!(
        (id, mode, created_at, updated_at),
        (loose.id, loose.mode, loose.created_at, loose.updated_at)
    );
    assert_eq!(tree.placements, [Placement { thread_id: placed.id, folder_id: inner.id }]);
    assert_eq!(tree.agents_docs, [active.summary(), draft.summary()]);
});

both_databases!(a_tree_leaves_out_what_is_deleted_or_archived, async |given| {
    let (store, workspace) = (&given.store, &given.workspace);
    let kept = given.folder(None, "kept").await;
    let deleted = given.folder(None, "deleted").await;
    given.save(&given.scope(&deleted), "archived with its folder").await;
    given.save(&given.root(), "archived").await;
    let thread = given.thread(Some(&kept), "archived").await;
    store.delete_folder(workspace, &deleted, None).await.unwrap();
    store.archive_thread(workspace, &thread, None).await.unwrap();
    given.archive(&given.root()).await;
    let tree = store.tree(workspace).await.unwrap();
    let folders: Vec<_> = tree.folders.into_iter().map(|folder| folder.id).collect();
    assert_eq!(folders, [kept]);
    assert_eq!((tree.threads, tree.placements, tree.agents_docs), (vec![], vec![], vec![]));
});

both_databases!(a_tree_is_of_one_workspace, async |given| {
    let folder = given.folder(None, "folder").await;
    given.thread(Some(&folder), "thread").await;
    given.save(&given.scope(&folder), "text").await;
    let tree = given.store.tree(&given.another_workspace().await).await.unwrap();
    assert_eq!((tree.folders, tree.threads), (vec![], vec![]));
    assert_eq!((tree.placements, tree.agents_docs), (vec![], vec![]));
    assert_eq!(tree.seq.0, 1);
});

both_databases!(rows_and_sequence_number_of_a_tree_are_of_one_moment, async |given| {
    const CHANGES: usize = 60;
    let (store, workspace) = (given.store.clone(), given.workspace.clone());
    let base = given.seq().await.0;
    let writer = tokio::spawn(async move {
        for _ in 0..CHANGES / 2 {
            let folder = store.create_folder(&workspace, None, "folder", None).await.unwrap();
            store.create_thread(&workspace, new_thread(Some(&folder.id), "thread"), None).await.unwrap();
        }
    });
    let mut trees = 0;
    loop {
        let done = writer.is_finished();
        let tree = given.store.tree(&given.workspace).await.unwrap();
        let rows = tree.folders.len() + tree.threads.len();
        assert_eq!(tree.seq.0, base + u64::try_from(rows).unwrap());
        assert_eq!(tree.placements.len(), tree.threads.len());
        trees += 1;
        if done {
            assert_eq!(rows, CHANGES);
            break;
        }
    }
    writer.await.unwrap();
    assert!(trees > 1);
});
