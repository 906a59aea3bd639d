//! What is said beside the answer.

use std::iter::once;

use protocol::method::TurnGetResult;
use protocol::notification::{ContextCompressed, TurnRetrying, TurnToolFinished};
use protocol::turn::TurnReminder;

use super::Live;
use crate::command::turn::{explain, steps};
use crate::failure::Failure;
use crate::output::one_line;

/// Characters of a tool's name.
pub(super) const TOOL_WIDTH: usize = 100;
/// Characters of what a provider said.
const MESSAGE_WIDTH: usize = 300;

/// Where reminders are: the number of the step, and the call if they are at the end of its result.
pub(super) type Place = (usize, Option<String>);

impl Live<'_> {
    /// Says something on a line of its own.
    pub(super) fn note(&mut self, message: impl AsRef<str>) {
        self.speak();
        self.output.note(message);
    }

    /// Ends the line that is open on the screen; what is printed of the answer elsewhere stays as it is.
    pub(super) fn speak(&mut self) {
        self.questions.break_line(self.output);
        if self.answer.break_line() {
            self.output.note("");
        }
    }

    /// A tool, then what its result reminds of.
    pub(super) async fn tell_tool(&mut self, finished: &TurnToolFinished) -> Result<(), Failure> {
        self.questions.forget(self.output, &finished.call_id);
        if self.output.is_json() {
            return Ok(());
        }
        let turn = self.get().await?;
        // Some models give every call the same id; then it is the first that was not told yet.
        let place = reminders(&turn)
            .map(|(place, _)| place)
            .find(|place| place.1.as_ref() == Some(&finished.call_id) && !self.told.contains(place));
        let earlier = &turn.steps[..place.as_ref().map_or(turn.steps.len(), |place| place.0)];
        let call = steps::calls(earlier).filter(|call| call.id == finished.call_id).last();
        let call = call.map_or_else(|| one_line(&finished.tool, TOOL_WIDTH), steps::describe_call);
        let outcome = steps::outcome(finished.is_error, finished.reminders.iter().copied());
        self.note(format!("tool {call} {outcome}{}", explain::describe_effects(&finished.effects)));
        self.tell_reminders(&turn, |it| Some(it) == place.as_ref());
        Ok(())
    }

    /// What the model was reminded of beside the question, for somebody who comes later. What its calls have reminded it of
    /// is not told without them.
    pub(super) async fn tell_so_far(&mut self) -> Result<(), Failure> {
        let turn = self.get().await?;
        self.tell_reminders(&turn, |(_, call_id)| call_id.is_none());
        self.told.extend(reminders(&turn).map(|(place, _)| place));
        Ok(())
    }

    /// What the model is reminded of beside the question.
    pub(super) async fn tell_opening(&mut self) -> Result<(), Failure> {
        if !self.output.is_json() {
            let turn = self.get().await?;
            self.tell_reminders(&turn, |(_, call_id)| call_id.is_none());
        }
        Ok(())
    }

    /// Notifications only say that there are some; what they are about is in the turn's steps.
    pub(super) fn tell_reminders(&mut self, turn: &TurnGetResult, is_meant: impl Fn(&Place) -> bool) {
        let root = self.root.clone();
        for (place, reminders) in reminders(turn).filter(|(place, _)| is_meant(place)) {
            if self.told.insert(place) {
                for reminder in reminders {
                    let reminder = steps::describe_reminder(reminder, root.as_deref());
                    self.note(format!("reminder {reminder}"));
                }
            }
        }
    }

    pub(super) fn tell_compressed(&mut self, compressed: &ContextCompressed) {
        self.note(match (compressed.summarised, compressed.through) {
            (true, last) => format!("a summary replaces turns 1 to {last}"),
            (false, 0) => "a summary of the earlier turns failed; they are sent as they are".to_owned(),
            (false, last) => {
                format!("a summary of the earlier turns failed; the model no longer reads turns 1 to {last}")
            }
        });
    }

    pub(super) fn tell_retrying(&mut self, retrying: &TurnRetrying) {
        self.note(describe_retrying(retrying));
    }

    /// Says that nobody reads the answer here; it is kept all the same.
    pub(super) fn tell_unread(&mut self) {
        let (flags, turn_id) = (&self.context.repeated_flags, &self.turn_id);
        let hint = format!(
            "`foreword{flags} turn show {turn_id}` has its answer, `foreword{flags} turn cancel {turn_id}` stops it"
        );
        self.output.warning("standard output was closed; the turn continues", Some(&hint));
    }
}

/// All reminders of a turn, in the order in which the model reads them.
fn reminders(turn: &TurnGetResult) -> impl Iterator<Item = (Place, &[TurnReminder])> {
    turn.steps.iter().enumerate().flat_map(|(number, step)| {
        let results = step.results.iter().map(move |result| {
            let place = (number, Some(result.call_id.clone()));
            (place, result.reminders.as_slice())
        });
        once(((number, None), step.reminders.as_slice())).chain(results)
    })
}

fn describe_retrying(retrying: &TurnRetrying) -> String {
    let seconds = retrying.delay_ms as f64 / 1000.0;
    format!("asking again in {seconds:.1} s: {}", one_line(&retrying.message, MESSAGE_WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::TurnId;

    #[test]
    fn a_provider_that_is_asked_again_is_named_with_its_reason() {
        let message = "provider `x`: HTTP 500: the\u{1b}[2J\nserver".to_owned();
        let retrying = TurnRetrying { turn_id: TurnId::new(), attempt: 1, delay_ms: 1_234, message };
        assert_eq!(
            describe_retrying(&retrying),
            "asking again in 1.2 s: provider `x`: HTTP 500: the\\u{1b}[2J server"
        );
    }
}
