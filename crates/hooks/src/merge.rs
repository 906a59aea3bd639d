//! From how runs ended to one outcome, whoever was faster.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::hook::{ContributionKind, Failure, RunStatus};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode};

use crate::admission::{Admitted, refused};
use crate::error::Fault;
use crate::record::OpenRun;
use crate::registry::Entry;
use crate::runtime::Ended;
use crate::{Contributed, FailureCause, HookError, PhaseOutcome};

/// A run that ended, and what its failure policy made of that.
pub(crate) struct Settled {
    pub(crate) status: RunStatus,
    pub(crate) admitted: Admitted,
    pub(crate) error_preview: Option<String>,
    /// The error of a hook that must not fail.
    pub(crate) closed: Option<HookError>,
}

/// Applies a hook's failure policy.
pub(crate) fn settle(entry: &Entry, ended: Ended) -> Settled {
    let failure = entry.subscription.failure;
    let fault = match ended {
        Ok(admitted) => {
            return Settled { status: RunStatus::Completed, admitted, error_preview: None, closed: None };
        }
        Err(fault) => fault,
    };
    let mut admitted = match failure {
        Failure::Fallback => entry.fallback.clone(),
        _ => Admitted::default(),
    };
    if matches!(failure, Failure::Fallback | Failure::BestEffort) {
        admitted.diagnostics.push(diagnostic(&fault, failure));
    }
    let closed = (failure == Failure::FailClosed).then(|| error(entry, &fault));
    let status = status(fault.cause, failure);
    Settled { status, admitted, error_preview: Some(fault.preview), closed }
}

/// The error that ends a phase.
pub(crate) fn error(entry: &Entry, fault: &Fault) -> HookError {
    HookError::Failed {
        hook_id: entry.subscription.hook_id.clone(),
        subscription_id: entry.subscription.id.clone(),
        phase: entry.subscription.phase,
        cause: fault.cause,
        preview: fault.preview.clone(),
    }
}

fn status(cause: FailureCause, failure: Failure) -> RunStatus {
    match (cause, failure) {
        (FailureCause::Rejected, _) => RunStatus::Rejected,
        (_, Failure::Fallback) => RunStatus::FellBack,
        (_, Failure::Skip) => RunStatus::Skipped,
        (FailureCause::Timeout, _) => RunStatus::TimedOut,
        (FailureCause::Panic, _) => RunStatus::Panicked,
        (FailureCause::Error | FailureCause::TooLarge | FailureCause::Refused, _) => RunStatus::Failed,
    }
}

fn diagnostic(fault: &Fault, failure: Failure) -> PromptDiagnostic {
    let code = match fault.cause {
        FailureCause::Timeout => PromptDiagnosticCode::HookTimedOut,
        _ => PromptDiagnosticCode::HookFailed,
    };
    let consequence = match failure {
        Failure::Fallback => "; its fallback stands in",
        _ => "",
    };
    PromptDiagnostic::new(code, format!("{}{consequence}", fault.preview))
}

/// The outcome of a phase under construction. Hooks are added in order, so the first to take a place keeps it.
#[derive(Default)]
pub(crate) struct Merge {
    outcome: PhaseOutcome,
    taken: HashMap<(ContributionKind, String), Arc<Entry>>,
}

impl Merge {
    /// Adds what was taken of a run. Fails if something of a hook that must not fail has to be refused.
    pub(crate) fn add(
        &mut self,
        entry: &Arc<Entry>,
        admitted: Admitted,
        run: Option<&mut OpenRun>,
    ) -> Result<(), HookError> {
        let mut diagnostics = admitted.diagnostics;
        let mut refusals = Vec::new();
        for (contribution, truncation) in admitted.accepted {
            if let Some(slot) = contribution.slot() {
                let place = (contribution.kind(), slot.to_owned());
                if let Some(other) = self.taken.get(&place) {
                    let other = &other.subscription.hook_id;
                    let reason = format!("hook `{other}` contributed `{slot}` before");
                    diagnostics.push(refused(&contribution, &reason));
                    refusals.push(contribution.kind());
                    continue;
                }
                self.taken.insert(place, entry.clone());
            }
            self.outcome.contributions.push(Contributed::new(entry, contribution, truncation));
        }
        if let Some(run) = run {
            refusals.iter().for_each(|kind| run.refuse(*kind));
            if !refusals.is_empty()
                && entry.subscription.failure == Failure::FailClosed
                && let Some(diagnostic) = diagnostics.pop()
            {
                run.fail(diagnostic.message.clone());
                return Err(error(
                    entry,
                    &Fault { cause: FailureCause::Refused, preview: diagnostic.message },
                ));
            }
        }
        if entry.subscription.failure != Failure::Skip {
            let hook_id = &entry.subscription.hook_id;
            self.outcome.diagnostics.extend(diagnostics.into_iter().map(|mut diagnostic| {
                diagnostic.message = format!("hook `{hook_id}`: {}", diagnostic.message);
                diagnostic
            }));
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> PhaseOutcome {
        self.outcome
    }
}
