//! The nearest active document of a folder or thread, in one recursive query.

use protocol::{Document, FolderId, ResolvedDocument, ThreadId, Timestamp, WorkspaceId};
use sea_orm::{ConnectionTrait, FromQueryResult, QueryResult, Statement};

use crate::entity::{self, document};
use crate::{Scope, Store, StoreError};

/// From the subject's folder up to the root: the nearest active document, and the names of the folders above it.
///
/// One row for each folder from the root down to the one that holds the document, the document's columns only in
/// the last; one row without a folder when the root holds it, or nothing does; no row when there is no subject.
/// The status is asked for twice because SQLite uses a partial index only for its own condition, word for word.
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
SELECT s.folder_id AS subject_folder_id, a.folder_id AS ancestor_id, a.name AS ancestor_name,
    d.id, d.workspace_id, d.folder_id, d.status, d.title, d.content, d.content_sha256, d.char_count, d.version,
    d.created_at, d.updated_at, d.archived_at, d.created_by, d.updated_by
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
    /// The document effective for a thread.
    pub async fn resolve_for_thread(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<Option<ResolvedDocument>, StoreError> {
        let values = [workspace_id.as_str().into(), thread_id.as_str().into()];
        let statement = Statement::from_sql_and_values(self.backend(), RESOLVE_FOR_THREAD, values);
        let rows = self.readers().query_all_raw(statement).await?;
        let Some(subject) = subject(&rows)? else {
            self.sequence(workspace_id).await?;
            return Err(StoreError::not_found("thread", thread_id));
        };
        resolved(rows, subject)
    }

    /// The document effective for a scope.
    pub async fn resolve_for_folder(&self, scope: &Scope) -> Result<Option<ResolvedDocument>, StoreError> {
        self.resolve_folder_on(self.readers(), scope).await
    }

    pub(crate) async fn resolve_folder_on(
        &self,
        connection: &impl ConnectionTrait,
        scope: &Scope,
    ) -> Result<Option<ResolvedDocument>, StoreError> {
        let values = [scope.workspace_id.as_str().into(), scope.folder_column().into()];
        let statement = Statement::from_sql_and_values(self.backend(), RESOLVE_FOR_FOLDER, values);
        let rows = connection.query_all_raw(statement).await?;
        let Some(subject) = subject(&rows)? else {
            return Err(StoreError::not_found("workspace", &scope.workspace_id));
        };
        match (&scope.folder_id, &subject) {
            (Some(folder_id), None) => Err(StoreError::not_found("folder", folder_id)),
            _ => resolved(rows, subject),
        }
    }
}

/// The folder asked about (none for the root), or nothing when what was asked about does not exist.
fn subject(rows: &[QueryResult]) -> Result<Option<Option<FolderId>>, StoreError> {
    let Some(row) = rows.first() else { return Ok(None) };
    let folder: Option<String> = row.try_get_by_index(0)?;
    Ok(Some(folder.map(entity::id).transpose()?))
}

fn resolved(
    rows: Vec<QueryResult>,
    subject: Option<FolderId>,
) -> Result<Option<ResolvedDocument>, StoreError> {
    let mut source_path = Vec::with_capacity(rows.len());
    for row in &rows {
        source_path.extend(row.try_get_by_index::<Option<String>>(2)?);
    }
    let Some(last) = rows.last() else { return Ok(None) };
    if last.try_get_by_index::<Option<String>>(3)?.is_none() {
        return Ok(None);
    }
    let doc = Document::try_from(document::Model::from_query_result(last, "")?)?;
    Ok(Some(ResolvedDocument {
        source_folder_id: doc.folder_id.clone(),
        source_path,
        inherited: doc.folder_id != subject,
        resolved_for_folder_id: subject,
        resolved_at: Timestamp::now(),
        doc,
    }))
}
