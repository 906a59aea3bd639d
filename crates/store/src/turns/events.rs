//! What is told of a turn while it runs, in one transaction with what it is told of.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::notification::{
    ContextCompressed, ContextCompressing, TurnApprovalDecided, TurnApprovalRequested, TurnManifestKept,
    TurnToolFinished, TurnToolStarted,
};
use protocol::{ApprovalDecision, ContentHash, TurnId, WorkspaceId};

use crate::connection::Tx;
use crate::turns::lease;
use crate::write::single_statement::PendingEntries;
use crate::write::workspace_write::{Log, TurnInLog, WorkspaceWrite};
use crate::{Store, StoreError};

/// Something that happened in a running turn, for the change log.
///
/// The notifications say the same with the number, workspace, thread and turn, which are not known before the log is
/// written; so an event is what they are made from, and no second notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// A model is asked, with a prompt whose manifest is kept.
    ManifestKept {
        /// Which time the model is asked in this turn.
        round: u32,
    },
    /// A tool was called by the model.
    ToolStarted { call_id: String, tool: String },
    /// A tool has answered.
    ToolFinished {
        call_id: String,
        tool: String,
        is_error: bool,
        /// Types of the reminders at the end of its result.
        reminders: Vec<protocol::SystemReminderType>,
        /// What it did besides.
        effects: protocol::CallEffects,
    },
    /// A tool call waits for somebody to decide.
    ApprovalRequested {
        call_id: String,
        tool: String,
        digest: Option<ContentHash>,
        new_file: bool,
        replaces_lines: Option<u64>,
    },
    /// Somebody decided about a call.
    ApprovalDecided { call_id: String, tool: String, decision: ApprovalDecision },
    /// Earlier turns no longer fit and are being summarised.
    ContextCompressing,
    /// Earlier turns were left out of what the model reads.
    ContextCompressed {
        /// Turns up to this ordinal are left out.
        through: u64,
        /// Whether a summary stands for them.
        summarised: bool,
        /// Those of them after this ordinal are in no summary either.
        missing_after: Option<u64>,
    },
}

impl Store {
    /// Tells what happened in a turn that `owner` runs; without events nothing is written.
    pub fn log_turn_events<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        events: Vec<TurnEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write_turn(workspace_id, turn_id, owner, events, async |_: &mut Tx<'_>| Ok(())).boxed()
    }

    /// Runs a change of a turn that `owner` runs, and tells of the events. Without any, no sequence number is taken
    /// and no other writer waits.
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
            write.actor.clone_from(&turn.created_by);
            let value = change(write.tx).await?;
            for event in events {
                log_event(&mut write, TurnInLog::from(&turn), event)?;
            }
            write.finish().await?;
            Ok(value)
        })
        .await
    }
}

/// What happened in a turn whose thread is not known yet.
pub(crate) fn notices_of(
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    events: Vec<TurnEvent>,
) -> Result<PendingEntries, StoreError> {
    let mut notices = PendingEntries::new();
    let turn = TurnInLog {
        workspace_id: workspace_id.clone(),
        thread_id: notices.thread_id.clone(),
        turn_id: turn_id.clone(),
        parent_turn_id: None,
    };
    for event in events {
        log_event(&mut notices, turn.clone(), event)?;
    }
    Ok(notices)
}

/// Logs what happened in a turn.
pub(crate) fn log_event(log: &mut impl Log, turn: TurnInLog, event: TurnEvent) -> Result<(), StoreError> {
    let TurnInLog { workspace_id, thread_id, turn_id, .. } = turn;
    match event {
        TurnEvent::ManifestKept { round } => {
            log.log(|seq| TurnManifestKept { seq, workspace_id, thread_id, turn_id, round })
        }
        TurnEvent::ToolStarted { call_id, tool } => {
            log.log(|seq| TurnToolStarted { seq, workspace_id, thread_id, turn_id, call_id, tool })
        }
        TurnEvent::ToolFinished { call_id, tool, is_error, reminders, effects } => {
            log.log(|seq| TurnToolFinished {
                seq,
                workspace_id,
                thread_id,
                turn_id,
                call_id,
                tool,
                is_error,
                reminders,
                effects,
            })
        }
        TurnEvent::ApprovalRequested { call_id, tool, digest, new_file, replaces_lines } => {
            log.log(|seq| TurnApprovalRequested {
                seq,
                workspace_id,
                thread_id,
                turn_id,
                call_id,
                tool,
                digest,
                new_file,
                replaces_lines,
            })
        }
        TurnEvent::ApprovalDecided { call_id, tool, decision } => log.log(|seq| TurnApprovalDecided {
            seq,
            workspace_id,
            thread_id,
            turn_id,
            call_id,
            tool,
            decision,
        }),
        TurnEvent::ContextCompressing => {
            log.log(|seq| ContextCompressing { seq, workspace_id, thread_id, turn_id })
        }
        TurnEvent::ContextCompressed { through, summarised, missing_after } => log.log(|seq| {
            ContextCompressed { seq, workspace_id, thread_id, turn_id, through, summarised, missing_after }
        }),
    }
}
