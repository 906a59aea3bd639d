//! Delegation: threads and turns that other turns have created.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::notification::TreeChange;
use protocol::{Thread, ThreadId, ThreadMode, Turn, TurnId, WorkspaceId};

use crate::column::values;
use crate::connection::{Columns, Tx};
use crate::turns::turn::{read_turn, turn_columns};
use crate::validation;
use crate::write::workspace_write::WorkspaceWrite;
use crate::{Store, StoreError};

/// A new thread for delegated work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChildThread {
    pub workspace_id: WorkspaceId,
    /// The thread whose folder it is placed in.
    pub parent_thread_id: ThreadId,
    /// The turn that delegates the work.
    pub parent_turn_id: TurnId,
    pub title: String,
    /// Makes its turns use the document that is effective at its place in the tree.
    pub inherits_document: bool,
}

impl Store {
    /// Creates a thread for delegated work, in the folder of the delegating turn's thread.
    pub fn create_child_thread<'a>(
        &'a self,
        new: NewChildThread,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Thread, StoreError>> {
        Box::pin(async move {
            validation::check("title", &new.title)?;
            let workspace_id = new.workspace_id.clone();
            self.write_workspace(&workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                let parent = write.live_thread(&new.parent_thread_id).await?;
                let thread = Thread {
                    id: ThreadId::new(),
                    workspace_id: write.workspace_id.clone(),
                    folder_id: parent.folder_id,
                    title: new.title,
                    mode: ThreadMode::Agent,
                    parent_thread_id: Some(new.parent_thread_id),
                    parent_turn_id: Some(new.parent_turn_id),
                    inherits_document: new.inherits_document,
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

    /// Returns the number of threads above a thread: 0 for one that a person created.
    pub fn thread_depth<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<u32, StoreError>> {
        const DEPTH: &str = "WITH RECURSIVE above (id, parent, level) AS (
            SELECT id, parent_thread_id, CAST(0 AS BIGINT) FROM thread WHERE id = $1 AND workspace_id = $2
            UNION ALL SELECT t.id, t.parent_thread_id, a.level + 1 FROM thread t JOIN above a ON t.id = a.parent)
            SELECT max(level) FROM above";
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let read = |mut row: Columns<'_>| row.next::<Option<u64>>();
            let level = tx.one_by_key(DEPTH, values![&thread_id, &workspace_id], read).await?;
            Ok(u32::try_from(level.flatten().unwrap_or(0)).unwrap_or(u32::MAX))
        })
        .boxed()
    }

    /// Returns the turns that a turn delegated, directly or indirectly, in order of creation and without their answers.
    // Tasks are shortened, because a list of a hundred is sent with each request for the turn.
    pub fn delegated_turns<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Vec<Turn>, StoreError>> {
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| below(tx, &workspace_id, &turn_id).await).boxed()
    }
}

/// Characters of each task in a list.
const MAX_TASK_CHARS: usize = 1_000;

async fn below(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<Vec<Turn>, StoreError> {
    const BELOW: &str = concat!(
        "WITH RECURSIVE below (id) AS (
            SELECT id FROM turn WHERE parent_turn_id = $1
            UNION ALL SELECT c.id FROM turn c JOIN below b ON c.parent_turn_id = b.id)
        SELECT ",
        turn_columns!(),
        " FROM below JOIN turn ON turn.id = below.id WHERE turn.workspace_id = $2 ORDER BY turn.id"
    );
    tx.all(BELOW, values![turn_id, workspace_id], |mut row| {
        let mut turn = read_turn(&mut row)?;
        if let Some((end, _)) = turn.input.char_indices().nth(MAX_TASK_CHARS) {
            turn.input.truncate(end);
            turn.input.push('…');
        }
        Ok(turn)
    })
    .await
}
