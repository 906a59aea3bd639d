//! Notes printed beside the answer.

use std::collections::HashSet;
use std::iter::once;

use protocol::method::TurnManifest;
use protocol::notification::{ContextCompressed, TurnRetrying, TurnToolFinished};
use protocol::prompt::PromptDiagnosticCode;
use protocol::turn::{TurnReminder, TurnStep};

use super::TurnFollower;
use crate::command::turns::turn::{explain, steps};
use crate::failure::{Exit, Failure};
use crate::output::one_line;

/// Maximum length of a tool's name.
pub(super) const TOOL_WIDTH: usize = 100;
/// Maximum length of a provider's message.
const MESSAGE_WIDTH: usize = 300;

/// Location of reminders: the step's index, and the call's id if they are at the end of its result.
type Place = (usize, Option<String>);

/// Notes that were printed or are still to be printed.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The workspace's directory, the base of printed paths.
    root: Option<String>,
    /// Notes held back while a question is being asked.
    pub(super) held_back: Vec<String>,
    /// Reminders that were already printed.
    told: HashSet<Place>,
    /// True once the first prompt was checked for missing tools.
    is_prompt_known: bool,
}

impl Notes {
    /// Creates notes with paths relative to a directory.
    pub(super) fn below(root: Option<String>) -> Self {
        Self { root, ..Self::default() }
    }
}

impl TurnFollower<'_> {
    /// Prints a note on its own line.
    pub(super) fn note(&mut self, message: impl AsRef<str>) {
        self.speak();
        self.output.note(message);
    }

    /// Ends an open line on the screen. An answer printed to a file or pipe is not changed.
    pub(super) fn speak(&mut self) {
        self.questions.break_line(self.output);
        // The line is ended on standard error: a newline on standard output would change the answer.
        if self.answer.break_line() {
            self.output.note("");
        }
    }

    /// Prints a completed tool call and the reminders in its result.
    pub(super) fn tell_tool(&mut self, finished: &TurnToolFinished) {
        self.questions.forget(self.output, None, &finished.call_id);
        if self.output.is_json() {
            return;
        }
        let place = self.untold_result(&finished.call_id);
        let steps = self.turn.steps();
        let before = place.as_ref().map_or(steps.len(), |place| place.0);
        let earlier = steps[..before].iter().rev();
        let call = earlier.flat_map(|step| &step.calls).find(|call| call.id == finished.call_id);
        let call = call.map_or_else(|| one_line(&finished.tool, TOOL_WIDTH), steps::describe_call);
        let outcome = steps::outcome(finished.is_error, finished.reminders.iter().copied());
        self.note(format!("tool {call} {outcome}{}", explain::describe_effects(&finished.effects)));
        if let Some(place) = place {
            self.tell_reminders(|it| *it == place);
            self.notes.told.insert(place);
        }
    }

    /// Returns the location of a call's result. Some models reuse call ids, so take the first one that was not printed.
    fn untold_result(&self, call_id: &str) -> Option<Place> {
        let of_call = |step: &TurnStep| step.results.iter().any(|result| result.call_id == call_id);
        let places = self.turn.steps().iter().enumerate().filter(|(_, step)| of_call(step));
        let mut places = places.map(|(number, _)| (number, Some(call_id.to_owned())));
        places.find(|place| !self.notes.told.contains(place))
    }

    /// Prints earlier reminders outside tool results, for a user who starts watching late. Those in results are omitted without
    /// their calls.
    pub(super) fn tell_so_far(&mut self) {
        self.tell_reminders(|(_, call_id)| call_id.is_none());
        // Reminders in earlier results count as printed, because the calls before them are not shown.
        self.notes.told.extend(places(self.turn.steps()).map(|(place, _)| place));
    }

    /// Prints the reminders beside the question.
    pub(super) fn tell_opening(&mut self) {
        if !self.output.is_json() {
            self.tell_reminders(|(_, call_id)| call_id.is_none());
        }
    }

    /// Warns about missing tools, such as those of a failed server, once the first prompt is known.
    pub(super) async fn tell_missing_tools(&mut self) -> Result<(), Failure> {
        if self.output.is_json() || std::mem::replace(&mut self.notes.is_prompt_known, true) {
            return Ok(());
        }
        // A failed query only costs the warning; `turn explain` shows it later.
        let Ok(kept) = self.call::<TurnManifest>(&self.params()).await? else { return Ok(()) };
        // Only the first prompt is examined, because a warning in every round would repeat itself.
        let diagnostics = kept.manifests.into_iter().take(1).flat_map(|round| round.manifest.diagnostics);
        for missing in diagnostics.filter(|it| it.code == PromptDiagnosticCode::ToolsOmitted) {
            self.speak();
            self.output.warning(&one_line(&missing.message, usize::MAX), None);
        }
        Ok(())
    }

    /// Prints reminders from the turn's steps, because notifications only report that there are some.
    pub(super) fn tell_reminders(&mut self, is_meant: impl Fn(&Place) -> bool) {
        let mut lines = Vec::new();
        for (place, reminders) in places(self.turn.steps()).filter(|(place, _)| is_meant(place)) {
            // The same steps may be loaded more than once, so printed reminders are remembered.
            if !reminders.is_empty() && self.notes.told.insert(place) {
                let described = reminders
                    .iter()
                    .map(|reminder| steps::describe_reminder(reminder, self.notes.root.as_deref()));
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

    /// Warns that standard output was closed; the answer is stored all the same.
    pub(super) fn tell_unread(&self) -> Exit {
        let flags = &self.context.repeated_flags;
        let turn_id = self.turn.id();
        let hint = format!(
            "`foreword{flags} turn show {turn_id}` has its answer, `foreword{flags} turn cancel {turn_id}` stops it"
        );
        self.output.warning("standard output was closed; the turn continues", Some(&hint));
        Exit::Done
    }
}

/// Iterates over the locations of reminders in the order in which the model reads them.
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
    fn a_retry_shows_its_reason() {
        let message = "provider `x`: HTTP 500: the\u{1b}[2J\nserver".to_owned();
        let retrying = TurnRetrying { turn_id: TurnId::new(), attempt: 1, delay_ms: 1_234, message };
        assert_eq!(
            describe_retrying(&retrying),
            "asking again in 1.2 s: provider `x`: HTTP 500: the\\u{1b}[2J server"
        );
    }
}
