//! What is told of a turn while it runs, in one transaction with what it is told of.

use protocol::notification::{
    ContextCompressed, ContextCompressing, TurnApprovalRequested, TurnManifestKept, TurnToolFinished,
    TurnToolStarted,
};
use protocol::{TurnId, WorkspaceId};
use sea_orm::DatabaseTransaction;

use crate::entity::{self, turn};
use crate::write::WorkspaceWrite;
use crate::{Store, StoreError};

/// Something that happened in a running turn, for the change log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// A model is asked, with a prompt whose manifest is kept.
    ManifestKept {
        /// Which time the model is asked in this turn.
        round: u32,
    },
    /// A tool was called by the model.
    ToolStarted {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
    },
    /// A tool has answered.
    ToolFinished {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it failed.
        is_error: bool,
        /// Types of the reminders at the end of its result.
        reminders: Vec<String>,
    },
    /// A tool call waits for somebody to decide.
    ApprovalRequested {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
    },
    /// Earlier turns no longer fit and are being summarised.
    ContextCompressing,
    /// Earlier turns were left out of what the model reads.
    ContextCompressed {
        /// Turns up to this ordinal are left out.
        through: u64,
        /// Whether a summary stands for them.
        summarised: bool,
    },
}

impl Store {
    /// Tells what happened in a turn that `owner` runs; without events nothing is written.
    pub async fn log_turn_events(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        events: Vec<TurnEvent>,
    ) -> Result<(), StoreError> {
        self.write_turn(workspace_id, turn_id, owner, events).await?.commit().await
    }

    /// Starts a change of a turn that `owner` runs, which tells of these events when it is committed.
    pub(crate) async fn write_turn(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        events: Vec<TurnEvent>,
    ) -> Result<TurnWrite<'_>, StoreError> {
        if events.is_empty() {
            let transaction = self.begin_write().await?;
            self.held_turn(&transaction, workspace_id, turn_id, owner).await?;
            return Ok(TurnWrite::Untold(transaction));
        }
        // The number first: it locks the workspace's row, and everybody locks that one before a turn's.
        let mut write = self.write(workspace_id, None).await?;
        let turn = self.held_turn(&write.transaction, workspace_id, turn_id, owner).await?;
        write.actor.clone_from(&turn.created_by);
        for event in events {
            write.turn_event(&turn, event)?;
        }
        Ok(TurnWrite::Told(write))
    }
}

/// A change of a running turn. Dropped without [`TurnWrite::commit`], it leaves no trace.
pub(crate) enum TurnWrite<'a> {
    /// There is nothing to tell, so no sequence number is taken and no other writer waits.
    Untold(DatabaseTransaction),
    /// The log tells of it.
    Told(WorkspaceWrite<'a>),
}

impl TurnWrite<'_> {
    /// The transaction that holds the turn.
    pub(crate) fn transaction(&self) -> &DatabaseTransaction {
        match self {
            TurnWrite::Untold(transaction) => transaction,
            TurnWrite::Told(write) => &write.transaction,
        }
    }

    /// Makes the change permanent, and wakes whoever follows the workspace if there is something to read.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            TurnWrite::Untold(transaction) => Ok(transaction.commit().await?),
            TurnWrite::Told(write) => write.commit().await,
        }
    }
}

impl WorkspaceWrite<'_> {
    fn turn_event(&mut self, turn: &turn::Model, event: TurnEvent) -> Result<(), StoreError> {
        let workspace_id = self.workspace_id.clone();
        let (thread_id, turn_id) = (entity::id(turn.thread_id.clone())?, entity::id(turn.id.clone())?);
        match event {
            TurnEvent::ManifestKept { round } => {
                self.log(|seq| TurnManifestKept { seq, workspace_id, thread_id, turn_id, round })
            }
            TurnEvent::ToolStarted { call_id, tool } => {
                self.log(|seq| TurnToolStarted { seq, workspace_id, thread_id, turn_id, call_id, tool })
            }
            TurnEvent::ToolFinished { call_id, tool, is_error, reminders } => self.log(|seq| {
                TurnToolFinished { seq, workspace_id, thread_id, turn_id, call_id, tool, is_error, reminders }
            }),
            TurnEvent::ApprovalRequested { call_id, tool } => {
                self.log(|seq| TurnApprovalRequested { seq, workspace_id, thread_id, turn_id, call_id, tool })
            }
            TurnEvent::ContextCompressing => {
                self.log(|seq| ContextCompressing { seq, workspace_id, thread_id, turn_id })
            }
            TurnEvent::ContextCompressed { through, summarised } => self.log(|seq| ContextCompressed {
                seq,
                workspace_id,
                thread_id,
                turn_id,
                through,
                summarised,
            }),
        }
    }
}
