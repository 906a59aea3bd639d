//! Turns in the form of the protocol.

use futures_util::future::BoxFuture;
use instructions::Reminder;
use protocol::message::{Block, TurnMessage};
use protocol::method::TurnGetResult;
use protocol::turn::{TurnReminder, TurnStep, TurnToolResult};
use protocol::{MessageRole, Timestamp, TurnApproval, TurnId, TurnStatus, WorkspaceId};

use crate::agent::Agent;
use crate::domains::memory::privacy::hide_memory_of_others;
use crate::error::AgentError;
use crate::turn::message::{answer, messages, separator_after};

impl Agent {
    /// Returns a whole turn as it is now, for internal use.
    pub fn turn_view<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<TurnGetResult, AgentError>> {
        self.turn_view_hiding(workspace_id, turn_id, |_| {})
    }

    /// Returns a whole turn without the private memory of users other than `reader`.
    pub fn turn_view_for<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        reader: Option<&'a str>,
    ) -> BoxFuture<'a, Result<TurnGetResult, AgentError>> {
        self.turn_view_hiding(workspace_id, turn_id, move |entries| hide_memory_of_others(entries, reader))
    }

    fn turn_view_hiding<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        hide: impl FnOnce(&mut [TurnMessage]) + Send + 'a,
    ) -> BoxFuture<'a, Result<TurnGetResult, AgentError>> {
        Box::pin(async move {
            let mut turn = self.store.turn(workspace_id, turn_id).await?;
            let kept = messages(self.store.turn_items(workspace_id, turn_id).await?);
            let (mut entries, times): (Vec<TurnMessage>, Vec<Timestamp>) = kept.into_iter().unzip();
            hide(&mut entries);
            let entries: Vec<(TurnMessage, Timestamp)> = entries.into_iter().zip(times).collect();
            turn.answer = answer(entries.iter().map(|(entry, _)| entry));
            let last = entries.last().map(|(entry, _)| entry.message.text());
            // Text that is being stored right now would otherwise appear twice.
            let pending = self.running.pending_text(turn_id).filter(|text| last.as_ref() != Some(text));
            if let Some(text) = pending {
                // The model of a turn that runs here has produced more than is stored.
                let before = turn.answer.take().unwrap_or_default()
                    + separator_after(entries.iter().map(|(entry, _)| entry));
                turn.answer = Some(before + &text);
            }
            let (decided, open): (Vec<TurnApproval>, Vec<_>) = self
                .store
                .approvals(workspace_id, turn_id)
                .await?
                .into_iter()
                .partition(|approval| approval.decision.is_some());
            // The gateway of the turn marks expired requests with a delay. Until then they must not look as if they
            // could still be answered.
            let now = self.store.now();
            let is_running = turn.status == TurnStatus::Running;
            let waiting = open.into_iter().filter(|approval| is_running && approval.expires_at > now);
            let mut waiting: Vec<TurnApproval> = waiting.collect();
            let delegated = self.store.delegated_turns(workspace_id, turn_id).await?;
            if delegated.iter().any(|child| child.status == TurnStatus::Running) {
                waiting.extend(self.store.delegated_approvals(workspace_id, turn_id).await?);
            }
            // A message that consists only of notes and reminders has nothing for people to read.
            let entries = entries.iter().filter(|(entry, _)| !entry.message.blocks.is_empty());
            let steps = entries.map(|(entry, at)| step(entry, *at)).collect();
            Ok(TurnGetResult { turn, steps, next: None, approvals: waiting, decided, delegated })
        })
    }
}

/// Converts a reminder to its protocol form.
pub fn turn_reminder(reminder: &Reminder) -> TurnReminder {
    TurnReminder { kind: reminder.kind(), text: reminder.render() }
}

fn step(entry: &TurnMessage, created_at: Timestamp) -> TurnStep {
    let reminders_of = |call_id: Option<&str>| {
        let own = entry.reminders.iter().filter(|attached| attached.call_id.as_deref() == call_id);
        own.map(|attached| turn_reminder(&attached.reminder)).collect::<Vec<_>>()
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
    // Older versions stored notes as further text blocks after the user's words.
    let own = if entry.message.role == MessageRole::User { 1 } else { usize::MAX };
    let texts = texts.take(own);
    TurnStep {
        role: entry.message.role,
        text: texts.collect::<Vec<_>>().join("\n\n"),
        calls: entry.message.tool_calls().cloned().collect(),
        results: results.collect(),
        reminders: reminders_of(None),
        cut: entry.cut,
        created_at,
    }
}
