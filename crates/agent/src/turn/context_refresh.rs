//! What has left the request in the middle of a turn and still holds.
//!
//! When earlier turns give way to the one that runs, instructions go with them that were delivered there, and so does what
//! only they said of the date. The frozen start would be left without its newer text. All of it is told again at once, in a
//! message of ours at the end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use instructions::{Announcement, InlineRoom, Purpose, Reminder};
use protocol::message::{AttachedReminder, TurnMessage};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::error::AgentError;
use crate::prompt::notes::unsent_sections;
use crate::turn::plan::TurnPlan;

/// A message that is to be sent, and what is delivered with it.
pub(crate) struct ReminderMessage {
    pub(crate) message: TurnMessage,
    announcement: Option<Announcement>,
}

impl ReminderMessage {
    /// The message is stored: what it tells has been delivered.
    pub(crate) fn confirm(self) {
        self.announcement.into_iter().for_each(Announcement::confirm);
    }
}

impl Agent {
    /// Tells again what is no longer in the history and the messages of a turn: what applies in its directory and to the
    /// places that its calls have looked at, and what is said of this turn alone. None when nothing is missing.
    pub(crate) async fn resend_dropped_context(
        &self,
        plan: &TurnPlan,
        entries: &[TurnMessage],
        places: &BTreeSet<PathBuf>,
    ) -> Result<Option<ReminderMessage>, AgentError> {
        let messages = plan.history.entries().chain(entries);
        let notes = unsent_sections(&plan.prepared.compiled, messages.clone());
        let mut reminders: Vec<Reminder> = Vec::new();
        let mut announcement = None;
        if let (Some(resolver), Some(session)) = (&plan.resolver, &plan.session) {
            resolver.keep_delivered(messages.clone().flat_map(TurnMessage::told));
            let difference = session.difference_from(self, &resolver.session()).await?;
            reminders.extend(difference.reminder());
            // Before the places are asked about, so that nothing is told twice. A turn that does not get to send this
            // saves no session.
            resolver.confirm_difference(difference);
            let (resolver, places) = (resolver.clone(), places.clone());
            let resolving = blocking(move || {
                let places = places.iter().map(PathBuf::as_path).collect::<Vec<&Path>>();
                resolver.resolve_for(places, Purpose::Read, &mut InlineRoom::default())
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
