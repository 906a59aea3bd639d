//! Context refresh: resends context that was dropped from the request during a turn and still applies.
//!
//! When earlier turns make way for the running one, the instructions and dates delivered in them disappear too, and
//! the frozen start would be left without its newer text. All of it is sent again in one message at the end of the
//! request.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use instructions::{Announcement, InlineBudget, Purpose, Reminder};
use protocol::message::{AttachedReminder, TurnMessage};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::error::AgentError;
use crate::prompt::notes::unsent_sections;
use crate::turn::plan::TurnPlan;

/// A message to send, and the announcement it delivers.
pub(crate) struct ReminderMessage {
    pub(crate) message: TurnMessage,
    announcement: Option<Announcement>,
}

impl ReminderMessage {
    /// Marks the contents as delivered, once the message is stored.
    pub(crate) fn confirm(self) {
        self.announcement.into_iter().for_each(Announcement::confirm);
    }
}

impl Agent {
    /// Builds the message that resends dropped context: instructions for the directory and for the paths of calls,
    /// and the turn sections of the prompt. `None` if nothing is missing.
    pub(crate) async fn resend_dropped_context(
        &self,
        plan: &TurnPlan,
        entries: &[TurnMessage],
        visited: &BTreeSet<PathBuf>,
    ) -> Result<Option<ReminderMessage>, AgentError> {
        let messages = plan.history.entries().chain(entries);
        let notes = unsent_sections(&plan.prepared.compiled, messages.clone());
        let mut reminders: Vec<Reminder> = Vec::new();
        let mut announcement = None;
        if let (Some(resolver), Some(session)) = (&plan.resolver, &plan.session) {
            // First forget deliveries whose messages are gone. The resolver would otherwise assume that the model
            // still has them, and announce nothing.
            resolver.retain_delivered(messages.clone().flat_map(TurnMessage::delivered_texts));
            let difference = session.difference_from(self, &resolver.session()).await?;
            reminders.extend(difference.reminder());
            // Confirm the difference before resolving the visited paths, so that no file is announced twice. If this message
            // is never sent, the turn fails and its session is not saved, so confirming early is safe.
            resolver.confirm_difference(difference);
            let resolver = resolver.clone();
            let visited = visited.clone();
            let resolving = blocking(move || {
                let visited = visited.iter().map(PathBuf::as_path).collect::<Vec<&Path>>();
                resolver.resolve_for(visited, Purpose::Read, &mut InlineBudget::default())
            });
            let resolved = resolving.await?;
            reminders.extend(resolved.reminder());
            announcement = Some(resolved);
        }
        if reminders.is_empty() && notes.is_empty() {
            return Ok(None);
        }
        let reminders = reminders.into_iter().map(|reminder| AttachedReminder { call_id: None, reminder });
        let message = TurnMessage { reminders: reminders.collect(), ..TurnMessage::of_notes(notes) };
        Ok(Some(ReminderMessage { message, announcement }))
    }
}
