//! Progress of delegated turns.

use protocol::TurnId;
use protocol::notification::{
    Notification as _, TurnApprovalRequested, TurnCancelled, TurnCompleted, TurnFailed, TurnStarted,
    TurnToolFinished,
};

use super::TurnFollower;
use super::render::TOOL_WIDTH;
use crate::command::turns::turn::question_view::GOAL_WIDTH;
use crate::command::turns::turn::{explain, steps};
use crate::failure::Failure;
use crate::output::one_line;

impl TurnFollower<'_> {
    /// Handles a notification of a delegated turn.
    pub(super) async fn hear_delegated(
        &mut self,
        turn_id: &TurnId,
        method: &str,
        params: &str,
    ) -> Result<(), Failure> {
        // The position is the number shown to the user. It is stable, because the gateway lists delegated turns in the
        // order of their start.
        let Some(index) = self.turn.children().iter().position(|turn| turn.id == *turn_id) else {
            return Ok(());
        };
        let number = index + 1;
        match method {
            TurnStarted::NAME if !self.output.is_json() => {
                let goal = one_line(&self.turn.children()[index].input, GOAL_WIDTH);
                self.tell_progress(number, goal);
            }
            TurnToolFinished::NAME => {
                if let Ok(finished) = serde_json::from_str::<TurnToolFinished>(params) {
                    // A finished call needs no decision any more, so its question is withdrawn.
                    self.questions.forget(self.output, Some(&finished.turn_id), &finished.call_id);
                    let tool = one_line(&finished.tool, TOOL_WIDTH);
                    let effects = explain::describe_effects(&finished.effects);
                    let outcome = steps::outcome(finished.is_error, finished.reminders.iter().copied());
                    if !self.output.is_json() {
                        self.tell_progress(number, format!("tool {tool} {outcome}{effects}"));
                    }
                }
            }
            TurnApprovalRequested::NAME => {
                if let Ok(requested) = serde_json::from_str(params) {
                    self.decide(&requested).await?;
                }
            }
            TurnCompleted::NAME | TurnFailed::NAME | TurnCancelled::NAME if !self.output.is_json() => {
                let outcome = match method {
                    TurnCompleted::NAME => "done",
                    TurnFailed::NAME => "failed",
                    _ => "cancelled",
                };
                self.tell_progress(number, outcome.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// Prints progress of a delegated turn, or holds it back while a question is open.
    fn tell_progress(&mut self, number: usize, progress: String) {
        self.notes.held_back.push(format!("delegated {number}: {progress}"));
        if !self.questions.is_asking() {
            self.tell_held_back();
        }
    }

    /// Prints the notes that were held back.
    pub(super) fn tell_held_back(&mut self) {
        for line in std::mem::take(&mut self.notes.held_back) {
            self.note(line);
        }
    }
}
