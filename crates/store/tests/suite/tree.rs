//! The whole tree of a workspace.

mod archive;
mod deleted_folders;
mod folders;
mod names;
mod threads;

use std::collections::{BTreeMap, HashMap, HashSet};

use protocol::method::{ThreadListParams, ThreadTreeParams, ThreadTreeResult, TreeMore};
use protocol::{FolderId, Placement, ThreadSummary};

use crate::fixture::{assert_not_found, new_thread, whole_tree};

both_databases!(a_tree_holds_everything_that_is_there_oldest_first, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let outer = store.create_folder(workspace, None, "outer", None).await.unwrap();
    let inner = store.create_folder(workspace, Some(&outer.id), "inner", None).await.unwrap();
    let placed = store.create_thread(new_thread(workspace, Some(&inner.id), "placed"), None).await.unwrap();
    let loose = store.create_thread(new_thread(workspace, None, "loose"), None).await.unwrap();
    let active = given.save(&given.root(), "text").await;
    let draft = given.save(&given.scope(&inner.id), "").await;
    let tree = given.tree().await;
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
    let store = &given.store;
    let workspace = &given.workspace;
    let kept = given.folder(None, "kept").await;
    let deleted = given.folder(None, "deleted").await;
    given.save(&given.scope(&deleted), "archived with its folder").await;
    given.save(&given.root(), "archived").await;
    let thread = given.thread(Some(&kept), "archived").await;
    store.delete_folder(workspace, &deleted, None).await.unwrap();
    store.archive_thread(workspace, &thread, None).await.unwrap();
    given.archive(&given.root()).await;
    let tree = given.tree().await;
    let folders: Vec<_> = tree.folders.into_iter().map(|folder| folder.id).collect();
    assert_eq!(folders, [kept]);
    assert_eq!((tree.threads, tree.placements, tree.agents_docs), (vec![], vec![], vec![]));
});

both_databases!(a_tree_is_of_one_workspace, async |given| {
    let folder = given.folder(None, "folder").await;
    given.thread(Some(&folder), "thread").await;
    given.save(&given.scope(&folder), "text").await;
    let tree = whole_tree(&given.store, &given.another_workspace().await).await.unwrap();
    assert_eq!((tree.folders, tree.threads), (vec![], vec![]));
    assert_eq!((tree.placements, tree.agents_docs), (vec![], vec![]));
    assert_eq!(tree.seq.0, 1);
});

// A client applies the changes after the number to the tree. A row that is newer than the number would be
// applied twice.
both_databases!(rows_and_sequence_number_of_a_tree_are_of_one_moment, async |given| {
    const CHANGES: usize = 60;
    let store = given.store.clone();
    let workspace = given.workspace.clone();
    let base = given.seq().await.0;
    let writer = tokio::spawn(async move {
        for _ in 0..CHANGES / 2 {
            let folder = store.create_folder(&workspace, None, "folder", None).await.unwrap();
            store.create_thread(new_thread(&workspace, Some(&folder.id), "thread"), None).await.unwrap();
        }
    });
    let mut trees = 0;
    loop {
        let done = writer.is_finished();
        let tree = given.tree().await;
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

// The JSON is written by hand while rows arrive, so it is compared with the typed form.
both_databases!(a_tree_as_json_is_the_same_tree, async |given| {
    let folder = given.folder(None, "a \"folder\"").await;
    given.thread(Some(&folder), "é").await;
    given.thread(None, "loose").await;
    given.save(&given.scope(&folder), "text").await;
    let tree = given.tree().await;
    let json = given.store.tree_json(&given.workspace).await.unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&tree).unwrap());
    // `tree_json` writes these names by hand, so a new field must be added there too.
    let ThreadTreeResult { workspace_id: _, seq: _, folders, threads, placements, agents_docs, more } = tree;
    assert!(!folders.is_empty() && !threads.is_empty() && !placements.is_empty() && !agents_docs.is_empty());
    assert_eq!(more, []);
    let empty = given.another_workspace().await;
    let tree = whole_tree(&given.store, &empty).await.unwrap();
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
    let tree = given.tree().await;
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

/// Derives the expected result of `tree_part` from a whole tree.
fn part_of(mut tree: ThreadTreeResult, params: &ThreadTreeParams) -> ThreadTreeResult {
    let mut more: BTreeMap<Option<FolderId>, (u64, u64)> = BTreeMap::new();
    let mut shown = HashSet::from([params.folder_id.clone()]);
    let mut level = shown.clone();
    for descended in 0.. {
        let inside: Vec<_> =
            tree.folders.iter().filter(|folder| level.contains(&folder.parent_folder_id)).cloned().collect();
        if params.depth.is_some_and(|depth| descended >= depth) {
            for folder in inside {
                more.entry(folder.parent_folder_id).or_default().1 += 1;
            }
            break;
        }
        if inside.is_empty() {
            break;
        }
        level = inside.into_iter().map(|folder| Some(folder.id)).collect();
        shown.extend(level.iter().cloned());
    }
    let place: HashMap<_, _> = tree
        .placements
        .iter()
        .map(|placement| (placement.thread_id.clone(), placement.folder_id.clone()))
        .collect();
    let mut counts: HashMap<Option<FolderId>, u32> = HashMap::new();
    tree.threads.retain(|thread| {
        let place = place.get(&thread.id).cloned();
        if !shown.contains(&place) {
            return false;
        }
        let count = counts.entry(place.clone()).or_default();
        *count += 1;
        let fits = params.thread_limit.is_none_or(|limit| *count <= limit);
        if !fits {
            more.entry(place).or_default().0 += 1;
        }
        fits
    });
    tree.placements.retain(|placement| tree.threads.iter().any(|thread| thread.id == placement.thread_id));
    tree.folders.retain(|folder| {
        let id = Some(folder.id.clone());
        id != params.folder_id && shown.contains(&id)
    });
    tree.agents_docs.retain(|document| shown.contains(&document.folder_id));
    tree.more = more
        .into_iter()
        .map(|(folder_id, (threads, folders))| TreeMore { folder_id, threads, folders })
        .collect();
    tree
}

both_databases!(a_part_of_a_tree_is_what_the_whole_has_there, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let mut folders = vec![given.folder(None, "a").await, given.folder(None, "b").await];
    for (number, parent) in [0, 0, 1, 2, 4].into_iter().enumerate() {
        let parent = folders[parent].clone();
        folders.push(given.folder(Some(&parent), &number.to_string()).await);
    }
    for number in 0..20 {
        let folder = (number % 4 != 3).then(|| &folders[number % folders.len()]);
        given.thread(folder, &number.to_string()).await;
    }
    for folder in [&folders[0], &folders[4]] {
        given.save(&given.scope(folder), "text").await;
    }
    given.save(&given.root(), "root").await;
    let deleted = given.folder(None, "deleted").await;
    given.thread(Some(&deleted), "comes to the root").await;
    store.delete_folder(workspace, &deleted, None).await.unwrap();
    let archived = given.thread(None, "archived").await;
    store.archive_thread(workspace, &archived, None).await.unwrap();
    let moved = given.thread(None, "moved").await;
    store.move_thread(workspace, &moved, Some(&folders[1]), None).await.unwrap();
    store.move_thread(workspace, &moved, None, None).await.unwrap();
    let elsewhere = given.another_workspace().await;
    store.create_folder(&elsewhere, None, "elsewhere", None).await.unwrap();

    let tree = given.tree().await;
    for folder_id in [None, Some(folders[0].clone()), Some(folders[6].clone())] {
        for depth in [None, Some(0), Some(1), Some(2), Some(9)] {
            for thread_limit in [None, Some(0), Some(1), Some(2), Some(100)] {
                let params = ThreadTreeParams {
                    workspace_id: workspace.clone(),
                    folder_id: folder_id.clone(),
                    depth,
                    thread_limit,
                };
                assert_eq!(
                    store.tree_part(params.clone()).await.unwrap(),
                    part_of(tree.clone(), &params),
                    "{params:?}"
                );
            }
        }
    }
    let part = |workspace_id, folder_id| ThreadTreeParams {
        workspace_id,
        folder_id,
        depth: None,
        thread_limit: None,
    };
    let unknown = part(workspace.clone(), Some("unknown".parse().unwrap()));
    assert_not_found(store.tree_part(unknown).await, "folder", "unknown");
    assert_not_found(store.tree_part(part("unknown".parse().unwrap(), None)).await, "workspace", "unknown");
    assert_not_found(store.tree_part(part(elsewhere, Some(folders[0].clone()))).await, "folder", &folders[0]);
});

both_databases!(threads_of_a_folder_come_a_page_at_a_time, async |given| {
    let folder = given.folder(None, "folder").await;
    for place in [None, Some(&folder)] {
        let mut expected = Vec::new();
        for number in 0..5 {
            expected.push(given.thread(place, &number.to_string()).await);
            given.thread(if place.is_some() { None } else { Some(&folder) }, "elsewhere").await;
        }
        given.store.archive_thread(&given.workspace, &expected.remove(2), None).await.unwrap();
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let workspace_id = given.workspace.clone();
            let folder_id = place.cloned();
            let params = ThreadListParams { workspace_id, folder_id, after, limit: 2 };
            let page = given.store.threads_in(params).await.unwrap();
            assert!(page.threads.len() <= 2);
            found.extend(page.threads.into_iter().filter(|thread| thread.title != "elsewhere"));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(
            found.iter().map(|thread| &thread.id).collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>()
        );
        for thread in &expected {
            given.store.archive_thread(&given.workspace, thread, None).await.unwrap();
        }
    }
    let workspace_id = given.workspace.clone();
    let params =
        ThreadListParams { workspace_id, folder_id: Some("unknown".parse().unwrap()), after: None, limit: 1 };
    assert_not_found(given.store.threads_in(params).await, "folder", "unknown");
});
