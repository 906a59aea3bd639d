//! The whole tree of a workspace, read in one snapshot.

use protocol::method::ThreadTreeResult;
use protocol::{
    ContentHash, DocumentSummary, Folder, Placement, Sequence, ThreadSummary, Timestamp, Version, WorkspaceId,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, JoinType, QueryFilter, QueryOrder, QuerySelect,
    RelationTrait as _,
};

use crate::entity::{self, document, folder, placement, thread, workspace};
use crate::only::Only as _;
use crate::{Store, StoreError};

impl Store {
    /// Folders, threads, placements and document summaries, and the sequence number they are true for.
    pub async fn tree(&self, workspace_id: &WorkspaceId) -> Result<ThreadTreeResult, StoreError> {
        let snapshot = self.begin_snapshot().await?;
        let seq: Option<i64> = workspace::Entity::find_by_id(workspace_id.as_str())
            .select_only()
            .column(workspace::Column::Seq)
            .into_tuple()
            .only(&snapshot)
            .await?;
        let seq = seq.ok_or_else(|| StoreError::not_found("workspace", workspace_id))?;
        let tree = ThreadTreeResult {
            workspace_id: workspace_id.clone(),
            seq: Sequence::from_column(seq),
            folders: folders(&snapshot, workspace_id).await?,
            threads: threads(&snapshot, workspace_id).await?,
            placements: placements(&snapshot, workspace_id).await?,
            agents_docs: documents(&snapshot, workspace_id).await?,
            more: Vec::new(),
        };
        snapshot.commit().await?;
        Ok(tree)
    }
}

async fn folders(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
) -> Result<Vec<Folder>, StoreError> {
    type Row = (String, Option<String>, String, i64, i64);
    let rows: Vec<Row> = folder::Entity::find()
        .select_only()
        .columns([
            folder::Column::Id,
            folder::Column::ParentFolderId,
            folder::Column::Name,
            folder::Column::CreatedAt,
            folder::Column::UpdatedAt,
        ])
        .filter(folder::Column::WorkspaceId.eq(workspace_id.as_str()))
        .filter(folder::Column::DeletedAt.is_null())
        .order_by_asc(folder::Column::Id)
        .into_tuple()
        .all(connection)
        .await?;
    let folder = |(id, parent, name, created, updated): Row| {
        Ok(Folder {
            id: entity::id(id)?,
            workspace_id: workspace_id.clone(),
            parent_folder_id: parent.map(entity::id).transpose()?,
            name,
            created_at: Timestamp::from_milliseconds(created),
            updated_at: Timestamp::from_milliseconds(updated),
        })
    };
    rows.into_iter().map(folder).collect()
}

async fn threads(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
) -> Result<Vec<ThreadSummary>, StoreError> {
    type Row = (String, String, String, i64, i64);
    let rows: Vec<Row> = thread::Entity::find()
        .select_only()
        .columns([
            thread::Column::Id,
            thread::Column::Title,
            thread::Column::Mode,
            thread::Column::CreatedAt,
            thread::Column::UpdatedAt,
        ])
        .filter(thread::Column::WorkspaceId.eq(workspace_id.as_str()))
        .filter(thread::Column::ArchivedAt.is_null())
        .order_by_asc(thread::Column::Id)
        .into_tuple()
        .all(connection)
        .await?;
    let thread = |(id, title, mode, created, updated): Row| {
        Ok(ThreadSummary {
            id: entity::id(id)?,
            title,
            mode: entity::word(&mode)?,
            created_at: Timestamp::from_milliseconds(created),
            updated_at: Timestamp::from_milliseconds(updated),
        })
    };
    rows.into_iter().map(thread).collect()
}

async fn placements(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
) -> Result<Vec<Placement>, StoreError> {
    let rows: Vec<(String, String)> = placement::Entity::find()
        .select_only()
        .columns([placement::Column::ThreadId, placement::Column::FolderId])
        .join(JoinType::InnerJoin, placement::Relation::Thread.def())
        .filter(placement::Column::WorkspaceId.eq(workspace_id.as_str()))
        .filter(thread::Column::ArchivedAt.is_null())
        .order_by_asc(placement::Column::ThreadId)
        .into_tuple()
        .all(connection)
        .await?;
    let placement =
        |(thread, folder)| Ok(Placement { thread_id: entity::id(thread)?, folder_id: entity::id(folder)? });
    rows.into_iter().map(placement).collect()
}

async fn documents(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
) -> Result<Vec<DocumentSummary>, StoreError> {
    type Row = (String, Option<String>, String, String, i64, i64, i64);
    let rows: Vec<Row> = document::Entity::find()
        .select_only()
        .columns([
            document::Column::Id,
            document::Column::FolderId,
            document::Column::Status,
            document::Column::ContentSha256,
            document::Column::Version,
            document::Column::CharCount,
            document::Column::UpdatedAt,
        ])
        .filter(document::Column::WorkspaceId.eq(workspace_id.as_str()))
        .filter(document::live())
        .order_by_asc(document::Column::Id)
        .into_tuple()
        .all(connection)
        .await?;
    let summary = |(id, folder, status, sha256, version, characters, updated): Row| {
        Ok(DocumentSummary {
            id: entity::id(id)?,
            workspace_id: workspace_id.clone(),
            folder_id: folder.map(entity::id).transpose()?,
            status: entity::word(&status)?,
            content_sha256: ContentHash::from_stored(sha256),
            version: Version::from_column(version),
            char_count: u64::try_from(characters).unwrap_or(0),
            updated_at: Timestamp::from_milliseconds(updated),
        })
    };
    rows.into_iter().map(summary).collect()
}
