//! Threads and where they stand.

use protocol::notification::TreeChange;
use protocol::{FolderId, Thread, ThreadId, ThreadMode, WorkspaceId};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect,
};

use crate::entity::{self, placement, thread};
use crate::only::Only as _;
use crate::write::WorkspaceWrite;
use crate::{Store, StoreError, name};

/// What a new thread has.
#[derive(Debug, Clone)]
pub struct NewThread {
    /// The folder it stands in; none for the workspace root.
    pub folder_id: Option<FolderId>,
    /// What people call it.
    pub title: String,
    /// How it answers.
    pub mode: ThreadMode,
}

impl Store {
    /// Makes a thread.
    pub async fn create_thread(
        &self,
        workspace_id: &WorkspaceId,
        new: NewThread,
        actor: Option<&str>,
    ) -> Result<Thread, StoreError> {
        name::check("title", &new.title)?;
        let write = self.write(workspace_id, actor).await?;
        if let Some(folder_id) = &new.folder_id {
            write.folder(folder_id).await?;
        }
        let id = ThreadId::new();
        let row = thread::Model {
            id: id.to_string(),
            workspace_id: workspace_id.to_string(),
            title: new.title,
            mode: entity::to_word(&new.mode),
            created_at: write.now.milliseconds(),
            updated_at: write.now.milliseconds(),
            archived_at: None,
        };
        thread::Entity::insert(row.clone().into_active_model())
            .exec_without_returning(&write.transaction)
            .await?;
        write.place(&id, new.folder_id.as_ref()).await?;
        finish(write, row.into_thread(new.folder_id)?, TreeChange::ThreadCreated).await
    }

    /// One thread, an archived one too.
    pub async fn thread(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<Thread, StoreError> {
        match find(self.readers(), workspace_id, thread_id).await {
            Ok((row, folder_id)) => row.into_thread(folder_id),
            Err(error) => {
                self.sequence(workspace_id).await?;
                Err(error)
            }
        }
    }

    /// Gives a thread another title.
    pub async fn rename_thread(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        title: &str,
        actor: Option<&str>,
    ) -> Result<Thread, StoreError> {
        name::check("title", title)?;
        let write = self.write(workspace_id, actor).await?;
        let (row, folder_id) = find_live(&write, thread_id).await?;
        if row.title == title {
            return row.into_thread(folder_id);
        }
        let row = write.update_thread(thread::Model { title: title.to_owned(), ..row }).await?;
        finish(write, row.into_thread(folder_id)?, TreeChange::ThreadRenamed).await
    }

    /// Moves a thread into a folder, or to the workspace root.
    pub async fn move_thread(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        folder_id: Option<&FolderId>,
        actor: Option<&str>,
    ) -> Result<Thread, StoreError> {
        let write = self.write(workspace_id, actor).await?;
        let (row, present) = find_live(&write, thread_id).await?;
        if let Some(folder_id) = folder_id {
            write.folder(folder_id).await?;
        }
        if present.as_ref() == folder_id {
            return row.into_thread(present);
        }
        placement::Entity::delete_by_id(thread_id.as_str()).exec(&write.transaction).await?;
        write.place(thread_id, folder_id).await?;
        let row = write.update_thread(row).await?;
        finish(write, row.into_thread(folder_id.cloned())?, TreeChange::ThreadMoved).await
    }

    /// Takes a thread out of the tree; archiving it again changes nothing.
    pub async fn archive_thread(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        actor: Option<&str>,
    ) -> Result<Thread, StoreError> {
        let write = self.write(workspace_id, actor).await?;
        let (row, folder_id) = find(&write.transaction, workspace_id, thread_id).await?;
        if row.archived_at.is_some() {
            return row.into_thread(folder_id);
        }
        let archived_at = Some(write.now.milliseconds());
        let row = write.update_thread(thread::Model { archived_at, ..row }).await?;
        finish(write, row.into_thread(folder_id)?, TreeChange::ThreadArchived).await
    }
}

impl WorkspaceWrite<'_> {
    async fn place(&self, thread_id: &ThreadId, folder_id: Option<&FolderId>) -> Result<(), StoreError> {
        if let Some(folder_id) = folder_id {
            let row = placement::Model {
                thread_id: thread_id.to_string(),
                workspace_id: self.workspace_id.to_string(),
                folder_id: folder_id.to_string(),
            };
            placement::Entity::insert(row.into_active_model())
                .exec_without_returning(&self.transaction)
                .await?;
        }
        Ok(())
    }

    async fn update_thread(&self, row: thread::Model) -> Result<thread::Model, StoreError> {
        let row = thread::Model { updated_at: self.now.milliseconds(), ..row };
        thread::Entity::update(row.clone().into_active_model().reset_all())
            .validate()?
            .exec(&self.transaction)
            .await?;
        Ok(row)
    }
}

async fn finish(
    mut write: WorkspaceWrite<'_>,
    thread: Thread,
    reason: TreeChange,
) -> Result<Thread, StoreError> {
    write.tree_changed(reason, thread.folder_id.clone(), Some(thread.id.clone()))?;
    write.commit().await?;
    Ok(thread)
}

pub(crate) async fn find_live(
    write: &WorkspaceWrite<'_>,
    thread_id: &ThreadId,
) -> Result<(thread::Model, Option<FolderId>), StoreError> {
    let found = find(&write.transaction, &write.workspace_id, thread_id).await?;
    if found.0.archived_at.is_some() {
        return Err(StoreError::InvalidState(format!(
            "thread `{thread_id}` is archived and cannot be changed"
        )));
    }
    Ok(found)
}

pub(crate) async fn find(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
) -> Result<(thread::Model, Option<FolderId>), StoreError> {
    let row = thread::Entity::find_by_id(thread_id.as_str())
        .filter(thread::Column::WorkspaceId.eq(workspace_id.as_str()))
        .only(connection)
        .await?
        .ok_or_else(|| StoreError::not_found("thread", thread_id))?;
    let folder: Option<String> = placement::Entity::find_by_id(thread_id.as_str())
        .select_only()
        .column(placement::Column::FolderId)
        .into_tuple()
        .only(connection)
        .await?;
    Ok((row, folder.map(entity::id).transpose()?))
}
