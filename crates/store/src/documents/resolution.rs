//! The nearest active document of a folder or thread, in one recursive query.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{Document, ErrorSubject, FolderId, ResolvedDocument, ThreadId, Timestamp, WorkspaceId};

use crate::column::values;
use crate::connection::{Columns, Tx};
use crate::documents::document::{document_columns, read_document};
use crate::{Scope, Store, StoreError};

/// Selects the nearest active document from the subject's folder up to the root, and the names of the folders above it.
///
/// The result has one row for each folder from the root down to the one with the document, and the document's columns
/// only in the last row; one row without a folder if the root has the document or there is none; no row if the subject
/// does not exist.
// The condition on the status is repeated because SQLite uses a partial index only if the query contains the index's
// own condition, word for word.
macro_rules! resolve {
    ($subject:literal) => {
        concat!(
            "WITH RECURSIVE subject(workspace_id, folder_id) AS (",
            $subject,
            "), ancestry(depth, folder_id, parent_id, name) AS (
    SELECT CAST(0 AS BIGINT), f.id, f.parent_folder_id, f.name
    FROM subject s JOIN folder f ON f.id = s.folder_id
    UNION ALL
    SELECT a.depth + 1, f.id, f.parent_folder_id, f.name
    FROM ancestry a JOIN folder f ON f.id = a.parent_id
), nearest(depth, doc_id) AS (
    SELECT depth, doc_id FROM (
        SELECT a.depth AS depth, d.id AS doc_id
        FROM ancestry a JOIN thread_agents_doc d ON d.workspace_id = $1 AND d.folder_id = a.folder_id
        WHERE d.status IN ('draft', 'active') AND d.status = 'active'
        UNION ALL
        SELECT CAST(9000000000 AS BIGINT), d.id
        FROM subject s JOIN thread_agents_doc d ON d.workspace_id = s.workspace_id AND d.folder_id IS NULL
        WHERE d.status IN ('draft', 'active') AND d.status = 'active'
    ) candidate ORDER BY depth LIMIT 1
)
SELECT s.folder_id, a.name, ",
            document_columns!(),
            "
FROM subject s
LEFT JOIN nearest n ON 1 = 1
LEFT JOIN ancestry a ON a.depth >= n.depth
LEFT JOIN thread_agents_doc d ON d.id = n.doc_id AND (a.depth = n.depth OR a.depth IS NULL)
ORDER BY a.depth DESC"
        )
    };
}

/// The query behind [`Store::resolve_for_thread`]; `$1` is the workspace, `$2` the thread.
pub const RESOLVE_FOR_THREAD: &str = resolve!(
    "SELECT t.workspace_id, p.folder_id FROM thread t LEFT JOIN thread_placement p ON p.thread_id = t.id
    WHERE t.id = $2 AND t.workspace_id = $1"
);

const RESOLVE_FOR_FOLDER: &str = resolve!(
    "SELECT w.id, f.id FROM workspace w
    LEFT JOIN folder f ON f.id = $2 AND f.workspace_id = w.id AND f.deleted_at IS NULL WHERE w.id = $1"
);

impl Store {
    /// Returns the document effective for a thread.
    pub fn resolve_for_thread<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<ResolvedDocument>, StoreError>> {
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let rows = tx.all(RESOLVE_FOR_THREAD, values![&workspace_id, &thread_id], read_ancestor).await?;
            if rows.is_empty() {
                return Err(tx.missing(&workspace_id, ErrorSubject::Thread, &thread_id).await);
            }
            Ok(resolved(rows, tx.now()))
        })
        .boxed()
    }

    /// Returns the document effective for a scope.
    pub fn resolve_for_folder<'a>(
        &'a self,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Option<ResolvedDocument>, StoreError>> {
        let scope = scope.clone();
        self.read(async move |tx: &mut Tx<'_>| resolve_for_scope(tx, &scope).await).boxed()
    }
}

pub(crate) async fn resolve_for_scope(
    tx: &mut Tx<'_>,
    scope: &Scope,
) -> Result<Option<ResolvedDocument>, StoreError> {
    let values = values![&scope.workspace_id, scope.folder_id.as_ref()];
    let rows = tx.all(RESOLVE_FOR_FOLDER, values, read_ancestor).await?;
    let Some(first) = rows.first() else {
        return Err(StoreError::not_found(ErrorSubject::Workspace, &scope.workspace_id));
    };
    match (&scope.folder_id, &first.subject) {
        (Some(folder_id), None) => Err(StoreError::not_found(ErrorSubject::Folder, folder_id)),
        _ => Ok(resolved(rows, tx.now())),
    }
}

/// A row of the query.
struct Ancestor {
    /// The requested folder; `None` for the root.
    subject: Option<FolderId>,
    name: Option<String>,
    document: Option<Document>,
}

fn read_ancestor(mut row: Columns<'_>) -> Result<Ancestor, StoreError> {
    let subject = row.next()?;
    let name = row.next()?;
    let document = if row.is_null()? { None } else { Some(read_document(row)?) };
    Ok(Ancestor { subject, name, document })
}

fn resolved(rows: Vec<Ancestor>, resolved_at: Timestamp) -> Option<ResolvedDocument> {
    let mut source_path = Vec::with_capacity(rows.len());
    let mut last = None;
    // Rows come from the root down, so names are in the order of the path and the last row has the document.
    for row in rows {
        source_path.extend(row.name);
        last = row.document.map(|document| (row.subject, document));
    }
    let (subject, doc) = last?;
    Some(ResolvedDocument {
        source_folder_id: doc.folder_id.clone(),
        source_path,
        inherited: doc.folder_id != subject,
        resolved_for_folder_id: subject,
        resolved_at,
        doc,
    })
}
