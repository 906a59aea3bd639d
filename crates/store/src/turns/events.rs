//! Events of a running turn, logged in the transaction of the change that they report.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
pub use protocol::notification::TurnEvent;
use protocol::{ThreadId, Turn, TurnId, TurnStatus, WorkspaceId};
use serde::Serialize;

use crate::connection::Tx;
use crate::turns::lease;
use crate::write::workspace_write::{LogEntry, WorkspaceWrite};
use crate::{Store, StoreError};

/// The body of a turn's event in the change log.
#[derive(Serialize)]
struct TurnEventBody<'a> {
    workspace_id: &'a WorkspaceId,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<&'a ThreadId>,
    turn_id: &'a TurnId,
    #[serde(flatten)]
    event: &'a TurnEvent,
}

/// The turn that an event is about.
// The thread may not be known before the statement that writes the event.
#[derive(Clone, Copy)]
pub(crate) struct TurnRef<'a> {
    pub(crate) workspace_id: &'a WorkspaceId,
    pub(crate) thread_id: Option<&'a ThreadId>,
    pub(crate) turn_id: &'a TurnId,
}

impl<'a> From<&'a Turn> for TurnRef<'a> {
    fn from(turn: &'a Turn) -> Self {
        Self { workspace_id: &turn.workspace_id, thread_id: Some(&turn.thread_id), turn_id: &turn.id }
    }
}

impl LogEntry {
    pub(crate) fn of_turn(turn: TurnRef<'_>, event: &TurnEvent) -> Result<Self, StoreError> {
        let TurnRef { workspace_id, thread_id, turn_id } = turn;
        Self::new(event.method(), &TurnEventBody { workspace_id, thread_id, turn_id, event })
    }
}

/// Returns the event that reports a status of a turn.
pub(crate) fn status_event(status: TurnStatus, parent_turn_id: Option<&TurnId>) -> TurnEvent {
    match status {
        TurnStatus::Running => TurnEvent::Started { parent_turn_id: parent_turn_id.cloned() },
        TurnStatus::Completed => TurnEvent::Completed {},
        TurnStatus::Failed => TurnEvent::Failed {},
        TurnStatus::Cancelled => TurnEvent::Cancelled {},
    }
}

impl Store {
    /// Logs events of a turn that `owner` runs. Without events nothing is written.
    pub fn log_turn_events<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        events: Vec<TurnEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write_turn(workspace_id, turn_id, owner, events, async |_: &mut Tx<'_>| Ok(())).boxed()
    }

    /// Runs a change of a turn that `owner` runs, and logs events.
    // Without events no sequence number is taken, so other writers of the workspace do not wait.
    pub(crate) async fn write_turn<T, F>(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        events: Vec<TurnEvent>,
        change: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Clone + Send + 'static,
    {
        let _permit = self.workspace_permit(workspace_id).await?;
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        let owner = owner.to_owned();
        self.write(async move |tx: &mut Tx<'_>| {
            if events.is_empty() {
                lease::lock_held_turn(tx, &workspace_id, &turn_id, &owner).await?;
                return change(tx).await;
            }
            // The sequence number first: it locks the workspace's row, which every writer locks before a turn's.
            let mut write = WorkspaceWrite::begin(tx, workspace_id, None).await?;
            let (turn, hold) = lease::lock_turn_of_locked(write.tx, &write.workspace_id, &turn_id).await?;
            lease::check_held(&turn_id, &hold, &owner)?;
            // Events of a turn are attributed to its creator, which is only known once the turn has been read.
            write.actor.clone_from(&turn.created_by);
            let value = change(write.tx).await?;
            for event in events {
                write.log(LogEntry::of_turn(TurnRef::from(&turn), &event)?);
            }
            write.finish().await?;
            Ok(value)
        })
        .await
    }
}
