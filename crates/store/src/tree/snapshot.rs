//! The tree of a workspace, whole or in part, read in one snapshot.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::collections::HashMap;

use protocol::method::{ThreadListParams, ThreadListResult, ThreadTreeParams, ThreadTreeResult, TreeMore};
use protocol::{DocumentSummary, Folder, FolderId, Placement, ThreadSummary, WorkspaceId};
use serde::Serialize;

use crate::column::values;
use crate::connection::{Columns, Tx};
use crate::tree::folders::find_or_missing;
use crate::{Store, StoreError};

const FOLDERS: &str = "SELECT id, parent_folder_id, name, created_at, updated_at FROM folder
    WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY id";
const THREADS: &str =
    "SELECT id, title, mode, created_at, updated_at, parent_thread_id, parent_turn_id FROM thread
    WHERE workspace_id = $1 AND archived_at IS NULL ORDER BY id";
// Archived threads are few, so excluding them is cheaper than looking up each thread that is wanted.
const PLACEMENTS: &str = "SELECT thread_id, folder_id FROM thread_placement WHERE workspace_id = $1
    AND thread_id NOT IN (SELECT id FROM thread WHERE workspace_id = $1 AND archived_at > 0) ORDER BY thread_id";
const DOCUMENTS: &str = "SELECT id, folder_id, status, content_sha256, version, char_count, updated_at
    FROM thread_agents_doc WHERE workspace_id = $1 AND status IN ('draft', 'active') ORDER BY id";

impl Store {
    /// Returns folders, threads, placements and document summaries with the sequence number of their state, as the JSON
    /// of a [`ThreadTreeResult`].
    // The JSON is written while the rows arrive, so a large tree is in memory only once.
    pub fn tree_json<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
    ) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        let workspace_id = workspace_id.clone();
        self.read_snapshot(async move |tx: &mut Tx<'_>| {
            let mut json = Vec::new();
            field(&mut json, "workspace_id", &workspace_id)?;
            field(&mut json, "seq", &tx.sequence(&workspace_id).await?)?;
            rows(&mut json, tx, "folders", FOLDERS, &workspace_id, folder).await?;
            rows(&mut json, tx, "threads", THREADS, &workspace_id, thread).await?;
            rows(&mut json, tx, "placements", PLACEMENTS, &workspace_id, placement).await?;
            rows(&mut json, tx, "agents_docs", DOCUMENTS, &workspace_id, document).await?;
            json.push(b'}');
            Ok(json)
        })
        .boxed()
    }

    /// Returns a part of the tree, and counts of what it leaves out.
    pub fn tree_part(&self, part: ThreadTreeParams) -> BoxFuture<'_, Result<ThreadTreeResult, StoreError>> {
        self.read_snapshot(async move |tx: &mut Tx<'_>| {
            let seq = tx.sequence(&part.workspace_id).await?;
            if let Some(folder_id) = &part.folder_id {
                find_or_missing(tx, &part.workspace_id, folder_id).await?;
            }
            let mut more = More::default();
            let folders = folders_in(tx, &part, &mut more).await?;
            let (threads, placements) = threads_in(tx, &part, &mut more).await?;
            let agents_docs = documents_in(tx, &part).await?;
            let more = more.sorted();
            Ok(ThreadTreeResult {
                workspace_id: part.workspace_id,
                seq,
                folders,
                threads,
                placements,
                agents_docs,
                more,
            })
        })
        .boxed()
    }

    /// Returns the threads of one folder or of the root, page by page.
    pub fn threads_in(&self, page: ThreadListParams) -> BoxFuture<'_, Result<ThreadListResult, StoreError>> {
        // Starts from the folder's placements, which an index has in order, and not from all threads of the workspace.
        const OF_FOLDER: &str =
            "SELECT t.id, t.title, t.mode, t.created_at, t.updated_at, t.parent_thread_id,
        t.parent_turn_id FROM thread_placement p CROSS JOIN thread t
        WHERE p.folder_id = $2 AND p.thread_id > $3 AND t.id = p.thread_id
        AND t.workspace_id = $1 AND t.archived_at IS NULL ORDER BY p.thread_id LIMIT $4";
        const OF_ROOT: &str = "SELECT t.id, t.title, t.mode, t.created_at, t.updated_at, t.parent_thread_id,
        t.parent_turn_id FROM thread t
        WHERE t.workspace_id = $1 AND t.archived_at IS NULL AND t.id > $2
        AND t.is_placed = 0 ORDER BY t.id LIMIT $3";
        self.read_snapshot(async move |tx: &mut Tx<'_>| {
            let workspace_id = &page.workspace_id;
            let after = page.after.as_ref().map_or("", |thread_id| thread_id.as_str());
            // One more than requested shows whether there is a next page.
            let limit = u64::from(page.limit) + 1;
            let read = |row: Columns<'_>| thread(workspace_id, row);
            let mut threads = match &page.folder_id {
                Some(folder_id) => {
                    find_or_missing(tx, workspace_id, folder_id).await?;
                    tx.all(OF_FOLDER, values![workspace_id, folder_id, after, limit], read).await?
                }
                None => {
                    tx.sequence(workspace_id).await?;
                    tx.all(OF_ROOT, values![workspace_id, after, limit], read).await?
                }
            };
            let is_last = threads.len() <= page.limit as usize;
            threads.truncate(page.limit as usize);
            let next = threads.last().filter(|_| !is_last).map(|thread| thread.id.clone());
            Ok(ThreadListResult { threads, next })
        })
        .boxed()
    }
}

/// Counts of what is left out, by folder.
#[derive(Default)]
struct More(HashMap<Option<FolderId>, TreeMore>);

impl More {
    fn of(&mut self, folder_id: Option<FolderId>) -> &mut TreeMore {
        self.0.entry(folder_id.clone()).or_insert(TreeMore { folder_id, threads: 0, folders: 0 })
    }

    fn sorted(self) -> Vec<TreeMore> {
        let mut more: Vec<TreeMore> = self.0.into_values().collect();
        more.retain(|more| more.threads + more.folders > 0);
        more.sort_by(|a, b| a.folder_id.cmp(&b.folder_id));
        more
    }
}

/// Returns a common table of the folders of a part: `$1` is the workspace, `$2` the folder or NULL, `$3` the depth.
fn below(part: &ThreadTreeParams) -> String {
    let first = match part.folder_id {
        Some(_) => "parent_folder_id = $2",
        None => "workspace_id = $1 AND parent_folder_id IS NULL AND CAST($2 AS TEXT) IS NULL",
    };
    format!(
        "WITH RECURSIVE below (id, level) AS (
            SELECT id, CAST(1 AS BIGINT) FROM folder WHERE {first} AND deleted_at IS NULL AND $3 > 0
            UNION ALL SELECT f.id, b.level + 1 FROM folder f JOIN below b ON f.parent_folder_id = b.id
            WHERE f.deleted_at IS NULL AND b.level < $3)"
    )
}

fn depth(part: &ThreadTreeParams) -> i64 {
    part.depth.map_or(i64::MAX, i64::from)
}

async fn folders_in(
    tx: &mut Tx<'_>,
    part: &ThreadTreeParams,
    more: &mut More,
) -> Result<Vec<Folder>, StoreError> {
    let workspace_id = &part.workspace_id;
    let place = part.folder_id.as_ref().map(FolderId::as_str);
    let select = format!(
        "{} SELECT f.id, f.parent_folder_id, f.name, f.created_at, f.updated_at, CASE WHEN b.level < $3 THEN 0
            ELSE (SELECT count(*) FROM folder c WHERE c.parent_folder_id = f.id AND c.deleted_at IS NULL) END
            FROM below b JOIN folder f ON f.id = b.id WHERE f.workspace_id = $1 ORDER BY f.id",
        below(part)
    );
    let read = |mut row: Columns<'_>| Ok((folder_of(workspace_id, &mut row)?, row.next::<u64>()?));
    let rows = tx.all(select, values![workspace_id, place, depth(part)], read).await?;
    if part.depth == Some(0) {
        let inside = match place {
            Some(_) => "parent_folder_id = $2",
            None => "parent_folder_id IS NULL AND CAST($2 AS TEXT) IS NULL",
        };
        let count = format!(
            "SELECT count(*) FROM folder WHERE workspace_id = $1 AND {inside} AND deleted_at IS NULL"
        );
        let count = tx.one_by_key(count, values![workspace_id, place], |mut row| row.next()).await?;
        more.of(part.folder_id.clone()).folders = count.unwrap_or(0);
    }
    let listed = rows.into_iter().map(|(folder, inside)| {
        if inside > 0 {
            more.of(Some(folder.id.clone())).folders = inside;
        }
        folder
    });
    Ok(listed.collect())
}

async fn threads_in(
    tx: &mut Tx<'_>,
    part: &ThreadTreeParams,
    more: &mut More,
) -> Result<(Vec<ThreadSummary>, Vec<Placement>), StoreError> {
    const SUMMARY: &str = "id, title, mode, created_at, updated_at, parent_thread_id, parent_turn_id";
    const OF_THREAD: &str =
        "t.id, t.title, t.mode, t.created_at, t.updated_at, t.parent_thread_id, t.parent_turn_id";
    const NUMBERED: &str = "row_number() OVER (PARTITION BY place ORDER BY id) AS number,
        count(*) OVER (PARTITION BY place) AS total";
    let workspace_id = &part.workspace_id;
    let place = part.folder_id.as_ref().map(FolderId::as_str);
    let limit = part.thread_limit.map_or(u64::MAX, u64::from);
    // At least one thread of each folder, because its row carries the folder's count.
    let shown = limit.max(1);
    let read = |mut row: Columns<'_>| {
        let thread = thread_of(&mut row)?;
        Ok((thread, row.next::<Option<FolderId>>()?, row.next::<u64>()?, row.next::<u64>()?))
    };
    // The folder itself is not among the folders below it, but its threads are part of the answer.
    let own = if place.is_some() { "UNION ALL SELECT $2" } else { "" };
    // CROSS JOIN makes SQLite visit the tables in this order: from the few folders, not from all threads of the
    // workspace.
    let placed = format!(
        "{}, place (id) AS (SELECT id FROM below {own})
            SELECT {SUMMARY}, place, number, total FROM (
                SELECT {SUMMARY}, place, {NUMBERED} FROM (
                    SELECT {OF_THREAD}, p.folder_id AS place
                    FROM place CROSS JOIN thread_placement p CROSS JOIN thread t
                    WHERE p.folder_id = place.id AND t.id = p.thread_id
                    AND t.workspace_id = $1 AND t.archived_at IS NULL) AS threads) AS numbered
            WHERE number <= $4 ORDER BY id",
        below(part)
    );
    let mut rows = tx.all(placed, values![workspace_id, place, depth(part), shown], read).await?;
    if place.is_none() {
        // The root may have all threads of a workspace, of which few are returned: an index counts them and finds the
        // first.
        let loose = format!(
            "SELECT {OF_THREAD}, CAST(NULL AS TEXT), CAST(1 AS BIGINT),
                (SELECT count(*) FROM thread c WHERE c.workspace_id = $1 AND c.archived_at IS NULL AND c.is_placed = 0)
            FROM thread t WHERE t.workspace_id = $1 AND t.archived_at IS NULL AND t.is_placed = 0
            ORDER BY t.id LIMIT $2"
        );
        let of_root = tx.all(loose, values![workspace_id, shown], read).await?;
        let numbered =
            (1..).zip(of_root).map(|(number, (thread, place, _, total))| (thread, place, number, total));
        rows.extend(numbered);
        rows.sort_by(|(a, ..), (b, ..)| a.id.cmp(&b.id));
    }
    let mut threads = Vec::with_capacity(rows.len());
    let mut placements = Vec::with_capacity(rows.len());
    for (thread, place, number, total) in rows {
        if total > limit {
            more.of(place.clone()).threads = total - limit;
        }
        if number > limit {
            continue;
        }
        placements.extend(place.map(|folder_id| Placement { thread_id: thread.id.clone(), folder_id }));
        threads.push(thread);
    }
    Ok((threads, placements))
}

async fn documents_in(tx: &mut Tx<'_>, part: &ThreadTreeParams) -> Result<Vec<DocumentSummary>, StoreError> {
    let workspace_id = &part.workspace_id;
    let place = part.folder_id.as_ref().map(FolderId::as_str);
    let own = match place {
        Some(_) => "d.folder_id = $2",
        None => "d.folder_id IS NULL",
    };
    let select = format!(
        "{} SELECT d.id, d.folder_id, d.status, d.content_sha256, d.version, d.char_count, d.updated_at
            FROM thread_agents_doc d WHERE d.workspace_id = $1 AND d.status IN ('draft', 'active')
            AND ({own} OR d.folder_id IN (SELECT id FROM below)) ORDER BY d.id",
        below(part)
    );
    tx.all(select, values![workspace_id, place, depth(part)], |row| document(workspace_id, row)).await
}

fn field(json: &mut Vec<u8>, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
    json.push(if json.is_empty() { b'{' } else { b',' });
    write(json, &name)?;
    json.push(b':');
    write(json, value)
}

/// Writes a list while its rows arrive.
async fn rows<T: Serialize>(
    json: &mut Vec<u8>,
    tx: &mut Tx<'_>,
    name: &str,
    select: &'static str,
    workspace_id: &WorkspaceId,
    read: fn(&WorkspaceId, Columns<'_>) -> Result<T, StoreError>,
) -> Result<(), StoreError> {
    // Writes an empty list and removes its closing bracket.
    field(json, name, &[(); 0])?;
    json.pop();
    let mut is_first = true;
    tx.each(select, values![workspace_id], |row| {
        if !std::mem::take(&mut is_first) {
            json.push(b',');
        }
        write(json, &read(workspace_id, row.columns())?)
    })
    .await?;
    json.push(b']');
    Ok(())
}

fn write(json: &mut Vec<u8>, value: &impl Serialize) -> Result<(), StoreError> {
    serde_json::to_writer(json, value).map_err(StoreError::database)
}

fn folder(workspace_id: &WorkspaceId, mut row: Columns<'_>) -> Result<Folder, StoreError> {
    folder_of(workspace_id, &mut row)
}

fn folder_of(workspace_id: &WorkspaceId, row: &mut Columns<'_>) -> Result<Folder, StoreError> {
    Ok(Folder {
        id: row.next()?,
        workspace_id: workspace_id.clone(),
        parent_folder_id: row.next()?,
        name: row.next()?,
        created_at: row.next()?,
        updated_at: row.next()?,
    })
}

fn thread(_: &WorkspaceId, mut row: Columns<'_>) -> Result<ThreadSummary, StoreError> {
    thread_of(&mut row)
}

fn thread_of(row: &mut Columns<'_>) -> Result<ThreadSummary, StoreError> {
    Ok(ThreadSummary {
        id: row.next()?,
        title: row.next()?,
        mode: row.next()?,
        created_at: row.next()?,
        updated_at: row.next()?,
        parent_thread_id: row.next()?,
        parent_turn_id: row.next()?,
    })
}

fn placement(_: &WorkspaceId, mut row: Columns<'_>) -> Result<Placement, StoreError> {
    Ok(Placement { thread_id: row.next()?, folder_id: row.next()? })
}

fn document(workspace_id: &WorkspaceId, mut row: Columns<'_>) -> Result<DocumentSummary, StoreError> {
    Ok(DocumentSummary {
        id: row.next()?,
        workspace_id: workspace_id.clone(),
        folder_id: row.next()?,
        status: row.next()?,
        content_sha256: row.next()?,
        version: row.next()?,
        char_count: row.next()?,
        updated_at: row.next()?,
    })
}
