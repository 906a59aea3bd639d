//! Threads and their placements.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::method::ThreadCreateParams;
use protocol::notification::TreeChange;
use protocol::{ErrorSubject, FolderId, Thread, ThreadId, Timestamp, WorkspaceId};

use crate::column::{enum_str, values};
use crate::connection::{Columns, Tx};
use crate::validation;
use crate::write::workspace_write::WorkspaceWrite;
use crate::{Store, StoreError};

impl Store {
    pub fn create_thread<'a>(
        &'a self,
        new: ThreadCreateParams,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Thread, StoreError>> {
        Box::pin(async move {
            validation::check("title", &new.title)?;
            let workspace_id = new.workspace_id.clone();
            self.write_workspace(&workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                if let Some(folder_id) = &new.folder_id {
                    write.folder(folder_id).await?;
                }
                let thread = Thread {
                    id: ThreadId::new(),
                    workspace_id: write.workspace_id.clone(),
                    folder_id: new.folder_id,
                    title: new.title,
                    mode: new.mode,
                    parent_thread_id: None,
                    parent_turn_id: None,
                    inherits_document: false,
                    created_at: write.now,
                    updated_at: write.now,
                    archived_at: None,
                };
                write.insert_thread(&thread).await?;
                write.thread_changed(thread, TreeChange::ThreadCreated)
            })
            .await
        })
    }

    /// Returns a thread, even if it is archived.
    pub fn thread<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Thread, StoreError>> {
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| find_or_missing(tx, &workspace_id, &thread_id).await).boxed()
    }

    pub fn rename_thread<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        title: &'a str,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Thread, StoreError>> {
        Box::pin(async move {
            validation::check("title", title)?;
            let thread_id = thread_id.clone();
            let title = title.to_owned();
            self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                let thread = write.live_thread(&thread_id).await?;
                if thread.title == title {
                    return Ok(thread);
                }
                write.update_thread(Thread { title, ..thread }, TreeChange::ThreadRenamed).await
            })
            .await
        })
    }

    /// Moves a thread into a folder or to the workspace root.
    pub fn move_thread<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        folder_id: Option<&'a FolderId>,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Thread, StoreError>> {
        let thread_id = thread_id.clone();
        let folder_id = folder_id.cloned();
        self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let thread = write.live_thread(&thread_id).await?;
            if let Some(folder_id) = &folder_id {
                write.folder(folder_id).await?;
            }
            if thread.folder_id == folder_id {
                return Ok(thread);
            }
            let thread = Thread { folder_id, ..thread };
            // Deleted and inserted instead of updated, because threads of the root have no row and the triggers
            // maintain `is_placed` on both.
            let remove = "DELETE FROM thread_placement WHERE thread_id = $1";
            write.tx.execute(remove, values![&thread.id]).await?;
            write.place(&thread).await?;
            write.update_thread(thread, TreeChange::ThreadMoved).await
        })
        .boxed()
    }

    /// Removes a thread from the tree. Archiving it again changes nothing.
    pub fn archive_thread<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Thread, StoreError>> {
        let thread_id = thread_id.clone();
        self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let thread = write.thread(&thread_id).await?;
            if thread.archived_at.is_some() {
                return Ok(thread);
            }
            let archived_at = Some(write.now);
            write.update_thread(Thread { archived_at, ..thread }, TreeChange::ThreadArchived).await
        })
        .boxed()
    }
}

impl WorkspaceWrite<'_, '_> {
    async fn thread(&mut self, thread_id: &ThreadId) -> Result<Thread, StoreError> {
        let found = find(self.tx, &self.workspace_id, thread_id).await?;
        found.ok_or_else(|| StoreError::not_found(ErrorSubject::Thread, thread_id))
    }

    /// Returns the thread, unless it is archived.
    pub(crate) async fn live_thread(&mut self, thread_id: &ThreadId) -> Result<Thread, StoreError> {
        let thread = self.thread(thread_id).await?;
        check_live(thread_id, thread.archived_at)?;
        Ok(thread)
    }

    /// Inserts a new thread and its placement.
    pub(crate) async fn insert_thread(&mut self, thread: &Thread) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO thread (id, workspace_id, title, mode, created_at, updated_at,
            parent_thread_id, parent_turn_id, inherits_document) VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8)";
        let mode = enum_str(thread.mode);
        let values = values![
            &thread.id,
            &thread.workspace_id,
            &thread.title,
            &mode,
            thread.created_at,
            thread.parent_thread_id.as_ref(),
            thread.parent_turn_id.as_ref(),
            u64::from(thread.inherits_document),
        ];
        self.tx.execute(INSERT, values).await?;
        self.place(thread).await
    }

    async fn place(&mut self, thread: &Thread) -> Result<(), StoreError> {
        if let Some(folder_id) = &thread.folder_id {
            let insert =
                "INSERT INTO thread_placement (thread_id, workspace_id, folder_id) VALUES ($1, $2, $3)";
            self.tx.execute(insert, values![&thread.id, &thread.workspace_id, folder_id]).await?;
        }
        Ok(())
    }

    async fn update_thread(&mut self, thread: Thread, reason: TreeChange) -> Result<Thread, StoreError> {
        let thread = Thread { updated_at: self.now, ..thread };
        let update = "UPDATE thread SET title = $1, archived_at = $2, updated_at = $3 WHERE id = $4";
        self.tx.execute(update, values![&thread.title, thread.archived_at, self.now, &thread.id]).await?;
        self.thread_changed(thread, reason)
    }

    pub(crate) fn thread_changed(
        &mut self,
        thread: Thread,
        reason: TreeChange,
    ) -> Result<Thread, StoreError> {
        self.tree_changed(reason, thread.folder_id.clone(), Some(thread.id.clone()))?;
        Ok(thread)
    }
}

pub(crate) fn check_live(thread_id: &ThreadId, archived_at: Option<Timestamp>) -> Result<(), StoreError> {
    match archived_at {
        Some(_) => {
            Err(StoreError::InvalidState(format!("thread `{thread_id}` is archived and cannot be changed")))
        }
        None => Ok(()),
    }
}

/// The columns that [`read_thread`] reads, of a thread `t` and its placement `p`.
macro_rules! thread_columns {
    () => {
        "t.id, t.workspace_id, p.folder_id, t.title, t.mode, t.parent_thread_id, t.parent_turn_id, t.inherits_document,
        t.created_at, t.updated_at, t.archived_at"
    };
}

pub(crate) use thread_columns;

pub(crate) fn read_thread(row: &mut Columns<'_>) -> Result<Thread, StoreError> {
    Ok(Thread {
        id: row.next()?,
        workspace_id: row.next()?,
        folder_id: row.next()?,
        title: row.next()?,
        mode: row.next()?,
        parent_thread_id: row.next()?,
        parent_turn_id: row.next()?,
        inherits_document: row.next()?,
        created_at: row.next()?,
        updated_at: row.next()?,
        archived_at: row.next()?,
    })
}

async fn find(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
) -> Result<Option<Thread>, StoreError> {
    const THREAD: &str = concat!(
        "SELECT ",
        thread_columns!(),
        " FROM thread t LEFT JOIN thread_placement p ON p.thread_id = t.id
        WHERE t.id = $1 AND t.workspace_id = $2"
    );
    tx.one_by_key(THREAD, values![thread_id, workspace_id], |mut row| read_thread(&mut row)).await
}

/// Returns a thread of this workspace, even an archived one, or the error for a missing one.
pub(crate) async fn find_or_missing(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
) -> Result<Thread, StoreError> {
    match find(tx, workspace_id, thread_id).await? {
        Some(thread) => Ok(thread),
        None => Err(tx.missing(workspace_id, ErrorSubject::Thread, thread_id).await),
    }
}
