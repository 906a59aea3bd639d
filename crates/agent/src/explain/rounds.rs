//! Explanations of rounds: what each one sent, called and cost.

use futures_util::future::BoxFuture;
use protocol::message::{TurnItem, TurnMessage};
use protocol::prompt::RoundManifest;
use protocol::round::{ExplainedReminder, ExplainedRound};
use protocol::{MessageRole, TurnApproval, TurnId, WorkspaceId};
use store::StoredItem;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::explain::{files_in_reminder, tools};

type ManifestsAndRounds = (Vec<RoundManifest>, Vec<ExplainedRound>);

impl Agent {
    /// Returns the manifests of a turn's rounds, and the events in them.
    pub fn rounds<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<ManifestsAndRounds, AgentError>> {
        Box::pin(async move {
            let manifests = self.store.manifests(workspace_id, turn_id).await?;
            let items = self.store.turn_items(workspace_id, turn_id).await?;
            let approvals = self.store.approvals(workspace_id, turn_id).await?;
            let rounds = explained_rounds(&items, &manifests, &approvals);
            Ok((manifests, rounds))
        })
    }
}

/// Returns every round that has a manifest, with the items that belong to it.
pub(crate) fn explained_rounds(
    items: &[StoredItem],
    manifests: &[RoundManifest],
    approvals: &[TurnApproval],
) -> Vec<ExplainedRound> {
    let mut rounds: Vec<ExplainedRound> = manifests
        .iter()
        .enumerate()
        .map(|(index, found)| {
            // Most rounds repeat an earlier prompt, and a reference is easier to read than the same sections again.
            let same = manifests[..index].iter().find(|earlier| earlier.manifest == found.manifest);
            ExplainedRound {
                round: found.round,
                same_as: same.map(|earlier| earlier.round),
                sections: found.manifest.sections.clone(),
                request: found.manifest.request.clone(),
                history: None,
                notes: Vec::new(),
                reminders: Vec::new(),
                calls: Vec::new(),
                approvals: Vec::new(),
                outcome: None,
            }
        })
        .collect();
    let messages: Vec<TurnMessage> = items
        .iter()
        .filter_map(|stored| match &stored.item {
            TurnItem::Message(message) => Some(message.clone()),
            _ => None,
        })
        .collect();
    // Results are in the message after their call, so collect all messages before assigning calls to rounds.
    let all_calls = tools(&messages);
    let mut place = RoundPosition::before(1);
    for stored in items {
        match &stored.item {
            TurnItem::Context(history) => {
                if let Some(round) = find(&mut rounds, place.next_request()) {
                    round.history = Some(history.clone());
                }
            }
            // It adds nothing to the manifest of its round but what is needed to rebuild its body.
            TurnItem::Request(_) => {}
            TurnItem::Round(outcome) => {
                // The outcome precedes the answer of its round, so everything up to the answer still belongs to it.
                place = RoundPosition { round: outcome.round, is_answered: true, is_answer_seen: false };
                if let Some(round) = find(&mut rounds, outcome.round) {
                    round.outcome = Some(outcome.clone());
                }
            }
            TurnItem::Message(message) if message.message.role == MessageRole::Assistant => {
                // Turns of the first version stored no outcomes; there each answer ends a round.
                if place.is_answer_seen {
                    place = RoundPosition::before(place.round + 1);
                }
                place.is_answered = true;
                place.is_answer_seen = true;
                if let Some(round) = find(&mut rounds, place.round) {
                    let called = |id: &str| message.message.tool_calls().any(|call| call.id == id);
                    round.calls.extend(all_calls.iter().filter(|call| called(&call.call_id)).cloned());
                    let own = approvals.iter().filter(|approval| called(&approval.request.call_id));
                    round.approvals.extend(own.cloned());
                }
            }
            // The reminders that models receive about it are computed and not stored.
            TurnItem::Trimmed(_) => {}
            TurnItem::Message(message) => {
                if let Some(round) = find(&mut rounds, place.next_request()) {
                    round.notes.extend(message.notes.iter().cloned());
                    round.reminders.extend(message.reminders.iter().map(|attached| ExplainedReminder {
                        kind: attached.reminder.kind(),
                        call_id: attached.call_id.clone(),
                        files: files_in_reminder(attached),
                    }));
                }
            }
        }
    }
    rounds
}

/// The position of an item within the rounds of a turn.
#[derive(Clone, Copy)]
struct RoundPosition {
    round: u32,
    /// True once the round's outcome or answer was seen.
    is_answered: bool,
    /// True once the round's answer was seen.
    is_answer_seen: bool,
}

impl RoundPosition {
    fn before(round: u32) -> Self {
        Self { round, is_answered: false, is_answer_seen: false }
    }

    /// Returns the round whose request includes the current item.
    fn next_request(self) -> u32 {
        if self.is_answered { self.round + 1 } else { self.round }
    }
}

fn find(rounds: &mut [ExplainedRound], number: u32) -> Option<&mut ExplainedRound> {
    rounds.iter_mut().find(|round| round.round == number)
}
