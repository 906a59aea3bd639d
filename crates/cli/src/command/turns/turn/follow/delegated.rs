//! Progress of delegated turns.

use protocol::TurnId;
use protocol::notification::{
    Notification as _, TurnApprovalRequested, TurnCancelled, TurnCompleted, TurnFailed, TurnStarted,
    TurnToolFinished,
};

use super::render::TOOL_WIDTH;
use super::{Live, Next};
use crate::command::turns::turn::question_view::GOAL_WIDTH;
use crate::command::turns::turn::{explain, steps};
use crate::failure::Failure;
use crate::output::{Reader, one_line};

impl Live<'_> {
    /// Handles a notification of a delegated turn.
    pub(super) async fn hear_delegated(
        &mut self,
        number: usize,
        method: &str,
        params: &str,
    ) -> Result<Next, Failure> {
        if self.output.is_json() && self.print_event(method, params)? == Reader::Gone {
            self.tell_unread();
            return Ok(Next::End(crate::failure::Exit::Done));
        }
        match method {
            TurnStarted::NAME if !self.output.is_json() => {
                // The notification does not contain the task, so the record of the new turn is loaded before it is
                // announced.
                self.catch_up().await?;
                let goal = self.delegated.get(number - 1).and_then(|turn_id| self.goal(turn_id));
                self.tell_progress(number, goal.unwrap_or_else(|| "begun".to_owned()));
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
        Ok(Next::More)
    }

    /// Returns the task of a delegated turn.
    pub(super) fn goal(&self, turn_id: &TurnId) -> Option<String> {
        let turn = self.delegated_turns.iter().find(|turn| turn.id == *turn_id)?;
        Some(one_line(&turn.input, GOAL_WIDTH))
    }

    /// Prints progress of a delegated turn, or holds it back while a question is open.
    fn tell_progress(&mut self, number: usize, progress: String) {
        self.held_back.push(format!("delegated {number}: {progress}"));
        if !self.questions.is_asking() {
            self.tell_held_back();
        }
    }

    /// Prints the notes that were held back.
    pub(super) fn tell_held_back(&mut self) {
        for line in std::mem::take(&mut self.held_back) {
            self.note(line);
        }
    }
}
