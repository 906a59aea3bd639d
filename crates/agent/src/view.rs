//! Turns as the protocol shows them.

use instructions::Reminder;
use protocol::method::TurnGetResult;
use protocol::turn::{TurnReminder, TurnStep, TurnToolResult};
use protocol::{Timestamp, TokenUsage, TurnApproval, TurnError, TurnId, TurnStatus, WorkspaceId};
use provider::Block;

use crate::entry::{Entry, JOINT, answer};
use crate::error::AgentError;
use crate::preparation::Agent;

impl Agent {
    /// Shows a turn as it is now.
    pub async fn turn_view(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<TurnGetResult, AgentError> {
        let turn = self.store.turn(workspace_id, turn_id).await?;
        let entries = Entry::all(self.store.turn_items(workspace_id, turn_id).await?)?;
        let mut turn = to_protocol(turn)?;
        turn.answer = answer(entries.iter().map(|(entry, _)| entry));
        let last = entries.last().map(|(entry, _)| entry.message.text());
        // What is just being stored must not be shown twice.
        let pending = self.running.pending_text(turn_id).filter(|text| last.as_ref() != Some(text));
        if let Some(text) = pending {
            // A model that is being listened to here has said more than is stored.
            let before = turn.answer.take().map(|before| before + JOINT).unwrap_or_default();
            turn.answer = Some(before + &text);
        }
        let approvals = match turn.status {
            TurnStatus::Running => self.waiting(workspace_id, turn_id).await?,
            _ => Vec::new(),
        };
        let steps = entries.iter().map(|(entry, at)| step(entry, *at)).collect();
        Ok(TurnGetResult { turn, steps, approvals })
    }

    async fn waiting(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<TurnApproval>, AgentError> {
        let now = Timestamp::now();
        let all = self.store.approvals(workspace_id, turn_id).await?.into_iter();
        let waiting = all.filter(|approval| approval.allowed.is_none() && approval.expires_at > now);
        waiting
            .map(|approval| {
                let request = serde_json::from_value(approval.request)
                    .map_err(|error| AgentError::Stored { what: "question", message: error.to_string() })?;
                let (requested_at, expires_at) = (approval.requested_at, approval.expires_at);
                Ok(TurnApproval { request, requested_at, expires_at })
            })
            .collect()
    }
}

/// A turn as the protocol has it, without its answer.
pub fn to_protocol(turn: store::Turn) -> Result<protocol::Turn, AgentError> {
    let stored = |error: serde_json::Error| AgentError::Stored { what: "turn", message: error.to_string() };
    let error: Option<TurnError> = turn.error.map(serde_json::from_value).transpose().map_err(stored)?;
    let usage: Option<TokenUsage> = turn.usage.map(serde_json::from_value).transpose().map_err(stored)?;
    Ok(protocol::Turn {
        id: turn.id,
        workspace_id: turn.workspace_id,
        thread_id: turn.thread_id,
        ordinal: turn.ordinal,
        status: turn.status,
        input: turn.input,
        answer: None,
        model: turn.model,
        cwd: turn.cwd,
        error,
        usage,
        created_at: turn.created_at,
        finished_at: turn.finished_at,
        created_by: turn.created_by,
    })
}

/// A reminder as the protocol has it.
pub fn shown(reminder: &Reminder) -> TurnReminder {
    TurnReminder { kind: reminder.kind(), text: reminder.render() }
}

fn step(entry: &Entry, created_at: Timestamp) -> TurnStep {
    let reminders_of = |call_id: Option<&str>| {
        let own = entry.reminders.iter().filter(|attached| attached.call_id.as_deref() == call_id);
        own.map(|attached| shown(&attached.reminder)).collect::<Vec<_>>()
    };
    let results = entry.message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(TurnToolResult {
            call_id: result.call_id.clone(),
            text: result.blocks.join("\n"),
            is_error: result.is_error,
            reminders: reminders_of(Some(&result.call_id)),
        }),
        _ => None,
    });
    let texts = entry.message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    TurnStep {
        role: entry.message.role,
        text: texts.collect::<Vec<_>>().join("\n\n"),
        calls: entry.message.tool_calls().cloned().collect(),
        results: results.collect(),
        reminders: reminders_of(None),
        created_at,
    }
}
