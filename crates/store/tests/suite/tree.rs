//! The whole tree of a workspace.

use protocol::method::{ThreadListParams, ThreadTreeParams, TreeMore};
use protocol::{FolderId, Placement, ThreadSummary};

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

both_databases!(a_tree_as_json_is_the_same_tree, async |given| {
    let folder = given.folder(None, "a \"folder\"").await;
    given.thread(Some(&folder), "é").await;
    given.thread(None, "loose").await;
    given.save(&given.scope(&folder), "text").await;
    let tree = given.store.tree(&given.workspace).await.unwrap();
    let json = given.store.tree_json(&given.workspace).await.unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&tree).unwrap());
    let empty = given.another_workspace().await;
    let tree = given.store.tree(&empty).await.unwrap();
    let json = given.store.tree_json(&empty).await.unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&tree).unwrap());
});

both_databases!(a_part_of_a_tree_counts_what_it_leaves_out, async |given| {
    let outer = given.folder(None, "outer").await;
    let inner = given.folder(Some(&outer), "inner").await;
    let deleted = given.folder(Some(&outer), "deleted").await;
    given.store.delete_folder(&given.workspace, &deleted, None).await.unwrap();
    let elsewhere = given.another_workspace().await;
    given.store.create_folder(&elsewhere, None, "not here", None).await.unwrap();
    for number in 0..3 {
        given.thread(Some(&inner), &format!("inner {number}")).await;
        given.thread(None, &format!("loose {number}")).await;
    }
    let archived = given.thread(Some(&inner), "archived").await;
    given.store.archive_thread(&given.workspace, &archived, None).await.unwrap();
    given.save(&given.root(), "root").await;
    given.save(&given.scope(&inner), "inner").await;

    let whole = ThreadTreeParams::whole(given.workspace.clone());
    let tree = given.store.tree(&given.workspace).await.unwrap();
    let part = |change: fn(&mut ThreadTreeParams, FolderId), folder: &FolderId| {
        let mut params = whole.clone();
        change(&mut params, folder.clone());
        given.store.tree_part(params)
    };
    assert_eq!(part(|_, _| {}, &outer).await.unwrap(), tree);
    assert_eq!(part(|part, _| part.depth = Some(2), &outer).await.unwrap(), tree);

    let first = part(|part, _| (part.depth, part.thread_limit) = (Some(1), Some(2)), &outer).await.unwrap();
    assert_eq!(first.folders.iter().map(|folder| &folder.id).collect::<Vec<_>>(), [&outer]);
    assert_eq!(first.threads.len(), 2);
    assert_eq!((first.placements.len(), first.agents_docs.len()), (0, 1));
    let more = |folder_id: Option<&FolderId>, threads, folders| TreeMore {
        folder_id: folder_id.cloned(),
        threads,
        folders,
    };
    assert_eq!(first.more, [more(None, 1, 0), more(Some(&outer), 0, 1)]);

    let below =
        |part: &mut ThreadTreeParams, folder| (part.folder_id, part.thread_limit) = (Some(folder), Some(0));
    let below = part(below, &outer).await.unwrap();
    assert_eq!(below.folders.iter().map(|folder| &folder.id).collect::<Vec<_>>(), [&inner]);
    assert_eq!((below.threads.len(), below.agents_docs.len()), (0, 1));
    assert_eq!(below.more, [more(Some(&inner), 3, 0)]);

    let page = ThreadListParams {
        workspace_id: given.workspace.clone(),
        folder_id: Some(inner.clone()),
        after: None,
        limit: 2,
    };
    let first = given.store.threads_in(page.clone()).await.unwrap();
    assert_eq!(first.next, Some(first.threads[1].id.clone()));
    let last = given.store.threads_in(ThreadListParams { after: first.next, ..page.clone() }).await.unwrap();
    assert_eq!((last.threads.len(), last.threads[0].title.as_str(), last.next), (1, "inner 2", None));
    let root = given.store.threads_in(ThreadListParams { folder_id: None, limit: 9, ..page }).await.unwrap();
    assert_eq!(root.threads.len(), 3);
    assert!(part(|part, folder| part.folder_id = Some(folder), &deleted).await.is_err());
});
