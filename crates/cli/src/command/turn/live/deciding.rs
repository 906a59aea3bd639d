//! What is done about calls that ask.

use client::ClientError;
use protocol::TurnApproval;
use protocol::method::{TurnApprove, TurnApproveParams};
use protocol::notification::TurnApprovalRequested;

use super::Live;
use crate::command::turn::approval::{Policy, Reply, view};
use crate::command::turn::steps;
use crate::failure::Failure;

impl Live<'_> {
    pub(super) async fn decide(&mut self, requested: &TurnApprovalRequested) -> Result<(), Failure> {
        let waiting = self.get().await?.approvals;
        // One that is not there any more was decided by somebody else.
        let Some(approval) = waiting.into_iter().find(|it| it.request.call_id == requested.call_id) else {
            return Ok(());
        };
        match self.policy {
            Policy::Allow | Policy::Deny => {
                let allow = self.policy == Policy::Allow;
                let (word, flag) = if allow { ("allowed", "allow") } else { ("refused", "deny") };
                self.note(format!("{word} {} (--{flag}-writes)", steps::describe_approval(&approval)));
                self.approve(approval.request.call_id, allow).await
            }
            Policy::Terminal => {
                self.speak();
                self.questions.ask(self.output, approval);
                Ok(())
            }
            Policy::Elsewhere => {
                self.tell_how_to_approve(&approval);
                Ok(())
            }
        }
    }

    fn tell_how_to_approve(&mut self, approval: &TurnApproval) {
        let message = format!(
            "{}\nwaiting until {}: `foreword{} turn approve {} {}` allows it, with --deny refuses it",
            view(approval).trim_start(),
            approval.expires_at,
            self.context.repeated_flags,
            self.turn_id,
            crate::words::shell_word(&approval.request.call_id)
        );
        self.note(message);
    }

    pub(super) async fn reply(&mut self, reply: Reply) -> Result<(), Failure> {
        match reply {
            Reply::Decided { call_id, allow } => {
                self.approve(call_id, allow).await?;
                self.questions.answered(self.output);
            }
            Reply::NobodyThere(waiting) => {
                self.policy = Policy::Elsewhere;
                waiting.iter().for_each(|approval| self.tell_how_to_approve(approval));
            }
        }
        Ok(())
    }

    async fn approve(&mut self, call_id: String, allow: bool) -> Result<(), Failure> {
        let (workspace_id, turn_id) = (self.workspace_id.clone(), self.turn_id.clone());
        let params = TurnApproveParams { workspace_id, turn_id, call_id, allow };
        loop {
            return match self.call::<TurnApprove>(&params).await {
                Err(_) if self.interrupts > 1 => Err(self.left()),
                // Whether the decision arrived is not known, and saying it twice does no harm.
                Err(error) if error.is_transient() => {
                    self.reconnect().await?;
                    continue;
                }
                // It may have been decided elsewhere, or too late; the turn continues either way.
                Err(ClientError::Refused(refused)) => {
                    self.speak();
                    self.output.warning(&refused.message, None);
                    Ok(())
                }
                answer => answer.map(|_| ()).map_err(Failure::from),
            };
        }
    }
}
