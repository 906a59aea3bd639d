//! Merges the ends of all runs into one outcome that does not depend on timing.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::hook::{ContributionKind, FailurePolicy, RunStatus};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode};

use crate::admission::{Admitted, refused};
use crate::error::RunFailure;
use crate::record::OpenRun;
use crate::registry::RegisteredHook;
use crate::runtime::Ended;
use crate::{Contributed, FailureCause, HookError, PhaseOutcome};

/// A finished run after its failure policy was applied.
pub(crate) struct Settled {
    pub(crate) status: RunStatus,
    pub(crate) admitted: Admitted,
    pub(crate) error_preview: Option<String>,
    /// The error of a fail-closed hook.
    pub(crate) closed: Option<HookError>,
}

/// Applies the failure policy of a hook to the end of its run.
pub(crate) fn settle(entry: &RegisteredHook, ended: Ended) -> Settled {
    let failure = entry.subscription.failure;
    let fault = match ended {
        Ok(admitted) => {
            return Settled { status: RunStatus::Completed, admitted, error_preview: None, closed: None };
        }
        Err(fault) => fault,
    };
    let mut admitted = match failure {
        FailurePolicy::Fallback => entry.fallback.clone(),
        _ => Admitted::default(),
    };
    if matches!(failure, FailurePolicy::Fallback | FailurePolicy::BestEffort) {
        admitted.diagnostics.push(diagnostic(&fault, failure));
    }
    let closed = (failure == FailurePolicy::FailClosed).then(|| error(entry, &fault));
    let status = status(fault.cause, failure);
    Settled { status, admitted, error_preview: Some(fault.preview), closed }
}

/// Returns the error that ends a phase.
pub(crate) fn error(entry: &RegisteredHook, fault: &RunFailure) -> HookError {
    HookError::Failed {
        hook_id: entry.subscription.hook_id.clone(),
        subscription_id: entry.subscription.id.clone(),
        phase: entry.subscription.phase,
        cause: fault.cause,
        preview: fault.preview.clone(),
    }
}

fn status(cause: FailureCause, failure: FailurePolicy) -> RunStatus {
    match (cause, failure) {
        (FailureCause::Rejected, _) => RunStatus::Rejected,
        (_, FailurePolicy::Fallback) => RunStatus::FellBack,
        (_, FailurePolicy::Skip) => RunStatus::Skipped,
        (FailureCause::Timeout, _) => RunStatus::TimedOut,
        (FailureCause::Panic, _) => RunStatus::Panicked,
        (FailureCause::Error | FailureCause::TooLarge | FailureCause::Refused, _) => RunStatus::Failed,
    }
}

fn diagnostic(fault: &RunFailure, failure: FailurePolicy) -> PromptDiagnostic {
    let code = match fault.cause {
        FailureCause::Timeout => PromptDiagnosticCode::HookTimedOut,
        _ => PromptDiagnosticCode::HookFailed,
    };
    let consequence = match failure {
        FailurePolicy::Fallback => "; its fallback is used",
        _ => "",
    };
    PromptDiagnostic::new(code, format!("{}{consequence}", fault.preview))
}

/// The outcome of a phase under construction. Hooks are added in order, so the first one to take a slot keeps it.
#[derive(Default)]
pub(crate) struct Merge {
    outcome: PhaseOutcome,
    taken: HashMap<(ContributionKind, String), Arc<RegisteredHook>>,
}

impl Merge {
    /// Adds the admitted contributions of a run. Fails if a contribution of a fail-closed hook has to be refused.
    pub(crate) fn add(
        &mut self,
        entry: &Arc<RegisteredHook>,
        admitted: Admitted,
        run: Option<&mut OpenRun>,
    ) -> Result<(), HookError> {
        let mut diagnostics = admitted.diagnostics;
        let mut refusals = Vec::new();
        for (contribution, truncation) in admitted.accepted {
            if let Some(slot) = contribution.slot() {
                let place = (contribution.kind(), slot.to_owned());
                // The first hook in order keeps the slot, whichever finished first. Otherwise two runs of the same
                // turn could produce different prompts.
                if let Some(other) = self.taken.get(&place) {
                    let other = &other.subscription.hook_id;
                    let reason = format!("hook `{other}` already contributed `{slot}`");
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
                && entry.subscription.failure == FailurePolicy::FailClosed
                && let Some(diagnostic) = diagnostics.pop()
            {
                run.fail(diagnostic.message.clone());
                return Err(error(
                    entry,
                    &RunFailure { cause: FailureCause::Refused, preview: diagnostic.message },
                ));
            }
        }
        // `Skip` means the hook is optional, so its problems are kept in its record and stay out of the turn's
        // manifest.
        if entry.subscription.failure != FailurePolicy::Skip {
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
