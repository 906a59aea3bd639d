//! `thread/tree` and `thread/list`.

use std::collections::{HashMap, HashSet};

use protocol::limits::MAX_THREAD_LIST_LIMIT;
use protocol::method::{ThreadListParams, ThreadListResult, ThreadTreeParams, ThreadTreeResult, TreeMore};
use protocol::{FolderId, ThreadId, WorkspaceId};
use rpc::Error;

use crate::error::from_store;
use crate::router::Context;

pub(crate) async fn tree(context: Context, params: ThreadTreeParams) -> Result<ThreadTreeResult, Error> {
    require_folder(&context, &params.workspace_id, params.folder_id.as_ref()).await?;
    let tree = context.shared.store.tree(&params.workspace_id).await.map_err(from_store)?;
    Ok(if params.is_whole() { tree } else { part(tree, &params) })
}

pub(crate) async fn list(context: Context, params: ThreadListParams) -> Result<ThreadListResult, Error> {
    if !(1..=MAX_THREAD_LIST_LIMIT).contains(&params.limit) {
        let message = format!("`limit` must be between 1 and {MAX_THREAD_LIST_LIMIT}, not {}", params.limit);
        return Err(Error::invalid_params(message));
    }
    require_folder(&context, &params.workspace_id, params.folder_id.as_ref()).await?;
    let tree = context.shared.store.tree(&params.workspace_id).await.map_err(from_store)?;
    let places = places(&tree);
    let limit = params.limit as usize;
    let mut threads = tree.threads;
    threads.retain(|thread| {
        places.get(&thread.id) == params.folder_id.as_ref()
            && params.after.as_ref().is_none_or(|after| thread.id > *after)
    });
    let is_last = threads.len() <= limit;
    threads.truncate(limit);
    let next = threads.last().filter(|_| !is_last).map(|thread| thread.id.clone());
    Ok(ThreadListResult { threads, next })
}

async fn require_folder(
    context: &Context,
    workspace_id: &WorkspaceId,
    folder_id: Option<&FolderId>,
) -> Result<(), Error> {
    if let Some(folder_id) = folder_id {
        context.shared.store.folder(workspace_id, folder_id).await.map_err(from_store)?;
    }
    Ok(())
}

/// The folder that each thread is in; a thread of the root has none.
fn places(tree: &ThreadTreeResult) -> HashMap<ThreadId, FolderId> {
    tree.placements.iter().map(|it| (it.thread_id.clone(), it.folder_id.clone())).collect()
}

/// What is below a place of a tree, as deep as asked for.
fn part(mut tree: ThreadTreeResult, params: &ThreadTreeParams) -> ThreadTreeResult {
    let mut children: HashMap<Option<FolderId>, Vec<FolderId>> = HashMap::new();
    for folder in &tree.folders {
        children.entry(folder.parent_folder_id.clone()).or_default().push(folder.id.clone());
    }
    let mut more: HashMap<Option<FolderId>, TreeMore> = HashMap::new();
    let mut left_out = |place: &Option<FolderId>, threads: u64, folders: u64| {
        let entry = more.entry(place.clone());
        let entry = entry.or_insert(TreeMore { folder_id: place.clone(), threads: 0, folders: 0 });
        entry.threads += threads;
        entry.folders += folders;
    };

    let mut shown: HashSet<Option<FolderId>> = HashSet::from([params.folder_id.clone()]);
    let mut level = vec![params.folder_id.clone()];
    for depth in 0.. {
        let is_deep_enough = params.depth.is_some_and(|limit| depth >= limit);
        let mut next = Vec::new();
        for place in level {
            let inside = children.remove(&place).unwrap_or_default();
            if is_deep_enough && !inside.is_empty() {
                left_out(&place, 0, inside.len() as u64);
            } else {
                next.extend(inside.into_iter().map(Some));
            }
        }
        if next.is_empty() {
            break;
        }
        shown.extend(next.iter().cloned());
        level = next;
    }

    let places = places(&tree);
    let mut counts: HashMap<Option<FolderId>, u32> = HashMap::new();
    tree.threads.retain(|thread| {
        let place = places.get(&thread.id).cloned();
        if !shown.contains(&place) {
            return false;
        }
        let count = counts.entry(place.clone()).or_default();
        *count += 1;
        let fits = params.thread_limit.is_none_or(|limit| *count <= limit);
        if !fits {
            left_out(&place, 1, 0);
        }
        fits
    });
    let threads: HashSet<&ThreadId> = tree.threads.iter().map(|thread| &thread.id).collect();
    tree.placements.retain(|placement| threads.contains(&placement.thread_id));
    // The place itself is not below itself.
    tree.folders.retain(|folder| {
        let id = Some(folder.id.clone());
        id != params.folder_id && shown.contains(&id)
    });
    tree.agents_docs.retain(|document| shown.contains(&document.folder_id));
    tree.more = more.into_values().collect();
    tree.more.sort_by(|a, b| a.folder_id.cmp(&b.folder_id));
    tree
}
