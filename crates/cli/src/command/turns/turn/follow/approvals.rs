//! Decisions about pending calls.

use client::ClientError;
use protocol::method::{TurnApprove, TurnApproveParams};
use protocol::notification::TurnApprovalRequested;
use protocol::{HowDecided, TurnApproval, TurnId};

use super::TurnFollower;
use crate::command::turns::turn::approval::{
    Answer, Policy, Question, Reply, Standing, Verdict, is_attended,
};
use crate::command::turns::turn::question_view::{Asker, Screen, rows};
use crate::command::turns::turn::steps;
use crate::failure::Failure;
use crate::output::one_line;

impl TurnFollower<'_> {
    pub(super) async fn decide(&mut self, requested: &TurnApprovalRequested) -> Result<(), Failure> {
        // The notification only announces a request, and the watched turn has loaded the call itself with everything
        // that must be shown.
        let is_meant = |it: &&TurnApproval| {
            it.request.call_id == requested.call_id && *self.turn_of(it) == requested.turn_id
        };
        // A call that is no longer pending was decided elsewhere.
        let Some(approval) = self.turn.approvals().iter().find(is_meant).cloned() else { return Ok(()) };
        match self.policy {
            // Files shared by all workspaces are exempt from the flags about writes.
            Policy::Allow if approval.request.identity => {
                // No flag covers these files, and programs cannot be asked.
                if self.output.is_json() || !is_attended() {
                    return self.deny_unasked(&approval).await;
                }
                self.ask(approval);
                Ok(())
            }
            Policy::Allow | Policy::Deny => {
                let (verdict, word, flag) = if self.policy == Policy::Allow {
                    (Verdict::Allow, "allowed", "allow")
                } else {
                    (Verdict::Deny, "refused", "deny")
                };
                // A flag decides without the user, so the call is at least mentioned.
                self.note(format!("{word} {} (--{flag}-writes)", steps::describe_approval(&approval)));
                self.approve(&approval, verdict, HowDecided::Flag).await
            }
            Policy::Nobody => self.deny_unasked(&approval).await,
            Policy::Terminal if self.questions.is_standing(&approval) => self.allow_standing(&approval).await,
            Policy::Terminal => {
                self.ask(approval);
                Ok(())
            }
            Policy::Elsewhere => {
                self.tell_how_to_approve(&approval);
                Ok(())
            }
        }
    }

    /// Asks about a call, now or after the earlier questions.
    fn ask(&mut self, approval: TurnApproval) {
        let asker = self.asker(&approval);
        if !self.questions.is_asking() {
            self.speak();
        }
        self.questions.ask(self.output, Question { approval, asker });
    }

    fn asker(&self, approval: &TurnApproval) -> Option<Asker> {
        Asker::of(approval, self.turn.children())
    }

    /// Returns the turn that makes a call: a delegated one, or the followed one.
    fn turn_of<'a>(&'a self, approval: &'a TurnApproval) -> &'a TurnId {
        approval.turn_id.as_ref().unwrap_or(self.turn.id())
    }

    /// Prints a whole call for a user who reads it immediately.
    fn show_whole(&mut self, approval: &TurnApproval) {
        self.note("");
        let asker = self.asker(approval);
        rows(approval, asker.as_ref(), Screen::here().columns).iter().for_each(|row| self.note(row));
    }

    pub(super) fn tell_how_to_approve(&mut self, approval: &TurnApproval) {
        self.show_whole(approval);
        // The digest binds the approval to the call as it is shown here.
        let digest = approval.request.digest.as_ref();
        let message = format!(
            "waiting until {}: `foreword{} turn approve {} {}{}` allows it, with --deny refuses it",
            approval.expires_at,
            self.context.repeated_flags,
            self.turn_of(approval),
            crate::shell_quote::shell_word(&approval.request.call_id),
            digest.map_or_else(String::new, |digest| format!(" --digest {digest}")),
        );
        self.note(message);
    }

    async fn deny_unasked(&mut self, approval: &TurnApproval) -> Result<(), Failure> {
        self.show_whole(approval);
        self.note(
            "denied, because nobody is at a terminal to be asked; --wait lets a call wait for `foreword turn approve`",
        );
        self.approve(approval, Verdict::Deny, HowDecided::Unattended).await
    }

    async fn allow_standing(&mut self, approval: &TurnApproval) -> Result<(), Failure> {
        self.show_whole(approval);
        let tool = one_line(&approval.request.tool, usize::MAX);
        let turn = self.asker(approval).map_or("in this turn".to_owned(), |asker| format!("by {asker}"));
        self.note(format!("standing: allowed with all calls of {tool} {turn}"));
        self.approve(approval, Verdict::Allow, HowDecided::Standing).await
    }

    pub(super) async fn reply(&mut self, reply: Reply) -> Result<(), Failure> {
        match reply {
            Reply::More(more) => self.questions.show_more(self.output, more),
            Reply::Decided { question, answer } => {
                let Question { approval, .. } = &*question;
                self.approve(approval, answer.verdict(), HowDecided::Asked).await?;
                // Questions that are already queued are covered as well. Without this, the user would be asked again
                // about the same tool.
                if answer == Answer::AllowAll {
                    for other in self.questions.stand(Standing::of(approval)) {
                        self.allow_standing(&other.approval).await?;
                    }
                }
                self.questions.answered(self.output);
            }
            Reply::NobodyThere(waiting) => {
                // The terminal has disappeared, so later calls are denied without a question too.
                self.policy = Policy::Nobody;
                for question in waiting {
                    self.deny_unasked(&question.approval).await?;
                }
            }
        }
        Ok(())
    }

    /// Decides about exactly the call that was shown.
    async fn approve(
        &mut self,
        shown: &TurnApproval,
        verdict: Verdict,
        how: HowDecided,
    ) -> Result<(), Failure> {
        let params = TurnApproveParams {
            workspace_id: self.workspace_id.clone(),
            turn_id: self.turn_of(shown).clone(),
            call_id: shown.request.call_id.clone(),
            allow: verdict == Verdict::Allow,
            digest: shown.request.digest.clone(),
            how,
        };
        // The decision may be sent twice, which is harmless.
        match self.call::<TurnApprove>(&params).await? {
            // The call may have been decided elsewhere or have expired; the turn continues either way.
            Err(ClientError::Refused(refused)) => {
                self.speak();
                self.output.warning(&refused.message, None);
                Ok(())
            }
            answer => answer.map(|_| ()).map_err(Failure::from),
        }
    }
}
