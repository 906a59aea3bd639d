//! What is said beside the answer.

use std::iter::once;

use protocol::method::{TurnGetParams, TurnManifest};
use protocol::notification::{ContextCompressed, TurnRetrying, TurnToolFinished};
use protocol::prompt::PromptDiagnosticCode;
use protocol::turn::{TurnReminder, TurnStep};

use super::Live;
use crate::command::turns::turn::{explain, steps};
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
        self.questions.forget(self.output, None, &finished.call_id);
        if self.output.is_json() {
            return Ok(());
        }
        // The results of a round come together: who knows one knows them all.
        let mut place = self.untold_result(&finished.call_id);
        if place.is_none() {
            self.catch_up().await?;
            place = self.untold_result(&finished.call_id);
        }
        let before = place.as_ref().map_or(self.steps.len(), |place| place.0);
        let earlier = self.steps[..before].iter().rev();
        let call = earlier.flat_map(|step| &step.calls).find(|call| call.id == finished.call_id);
        let call = call.map_or_else(|| one_line(&finished.tool, TOOL_WIDTH), steps::describe_call);
        let outcome = steps::outcome(finished.is_error, finished.reminders.iter().copied());
        self.note(format!("tool {call} {outcome}{}", explain::describe_effects(&finished.effects)));
        if let Some(place) = place {
            self.tell_reminders(|it| *it == place);
            self.told.insert(place);
        }
        Ok(())
    }

    /// Where the result of a call is. Some models give every call the same id; then it is the first that was not told yet.
    fn untold_result(&self, call_id: &str) -> Option<Place> {
        let of_call = |step: &TurnStep| step.results.iter().any(|result| result.call_id == call_id);
        let places = self.steps.iter().enumerate().filter(|(_, step)| of_call(step));
        let mut places = places.map(|(number, _)| (number, Some(call_id.to_owned())));
        places.find(|place| !self.told.contains(place))
    }

    /// What the model was reminded of beside the question, for somebody who comes later. What its calls have reminded it of
    /// is not told without them.
    pub(super) async fn tell_so_far(&mut self) -> Result<(), Failure> {
        self.catch_up().await?;
        self.tell_reminders(|(_, call_id)| call_id.is_none());
        self.told.extend(places(&self.steps).map(|(place, _)| place));
        Ok(())
    }

    /// What the model is reminded of beside the question.
    pub(super) async fn tell_opening(&mut self) -> Result<(), Failure> {
        if !self.output.is_json() {
            self.catch_up().await?;
            self.tell_reminders(|(_, call_id)| call_id.is_none());
        }
        Ok(())
    }

    /// Tools that the turn should have and has not, such as those of a server that failed: known with its first prompt.
    pub(super) async fn tell_missing_tools(&mut self) -> Result<(), Failure> {
        if self.output.is_json() || std::mem::replace(&mut self.is_prompt_known, true) {
            return Ok(());
        }
        let params = TurnGetParams { workspace_id: self.workspace_id.clone(), turn_id: self.turn_id.clone() };
        // Whoever cannot be asked for this now goes on with the turn: `turn explain` says it later.
        let Ok(kept) = self.call::<TurnManifest>(&params).await else { return Ok(()) };
        let diagnostics = kept.manifests.into_iter().take(1).flat_map(|round| round.manifest.diagnostics);
        for missing in diagnostics.filter(|it| it.code == PromptDiagnosticCode::ToolsOmitted) {
            self.speak();
            self.output.warning(&one_line(&missing.message, usize::MAX), None);
        }
        Ok(())
    }

    /// Notifications only say that there are some; what they are about is in the turn's steps.
    pub(super) fn tell_reminders(&mut self, is_meant: impl Fn(&Place) -> bool) {
        let mut lines = Vec::new();
        for (place, reminders) in places(&self.steps).filter(|(place, _)| is_meant(place)) {
            if !reminders.is_empty() && self.told.insert(place) {
                let described =
                    reminders.iter().map(|reminder| steps::describe_reminder(reminder, self.root.as_deref()));
                lines.extend(described.map(|reminder| format!("reminder {reminder}")));
            }
        }
        lines.iter().for_each(|line| self.note(line));
    }

    pub(super) fn tell_compressed(&mut self, compressed: &ContextCompressed) {
        self.note(match (compressed.missing_after, compressed.through) {
            (Some(after), last) => format!(
                "earlier turns could not all be summarised; the model does not read turns {} to {last} now, the next turn tries again",
                after + 1
            ),
            (None, last) if compressed.summarised => format!("a summary replaces turns 1 to {last}"),
            (None, _) => "a summary of the earlier turns failed; they are sent as they are".to_owned(),
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

/// Where a model can be reminded of something and of what it is, in the order in which it reads it.
fn places(steps: &[TurnStep]) -> impl Iterator<Item = (Place, &[TurnReminder])> {
    steps.iter().enumerate().flat_map(|(number, step)| {
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
