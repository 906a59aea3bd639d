//! What a phase led to.

use serde::{Deserialize, Serialize};

use crate::registry::Entry;
use crate::{
    Audit, BackgroundJob, Contribution, Diagnostic, ManifestDiagnostic, Policy, PromptContext, PromptSection,
    ToolBundle, Truncation, Visibility,
};

/// What the hooks of a phase contributed, in the order of the hooks and not of their finishing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseOutcome {
    /// What was contributed.
    pub contributions: Vec<Contributed>,
    /// What went wrong without ending the phase.
    pub diagnostics: Vec<Diagnostic>,
}

/// A contribution and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contributed {
    /// The hook's package.
    pub package_id: String,
    /// The hook.
    pub hook_id: String,
    /// Its subscription.
    pub subscription_id: String,
    /// Who may be shown it.
    pub visibility: Visibility,
    /// Whether its text was cut.
    pub truncation: Truncation,
    /// The contribution.
    #[serde(flatten)]
    pub contribution: Contribution,
}

impl Contributed {
    pub(crate) fn new(entry: &Entry, contribution: Contribution, truncation: Truncation) -> Self {
        Self {
            package_id: entry.package_id.clone(),
            hook_id: entry.subscription.hook_id.clone(),
            subscription_id: entry.subscription.id.clone(),
            visibility: entry.subscription.visibility,
            truncation,
            contribution,
        }
    }
}

/// An iterator over the contributions of each kind.
macro_rules! by_kind {
    ($($(#[$doc:meta])* $method:ident: $kind:ident;)*) => {
        impl PhaseOutcome {
            $($(#[$doc])*
            pub fn $method(&self) -> impl Iterator<Item = (&Contributed, &$kind)> {
                self.contributions.iter().filter_map(|contributed| match &contributed.contribution {
                    Contribution::$kind(contribution) => Some((contributed, contribution)),
                    _ => None,
                })
            })*
        }
    };
}

by_kind! {
    /// The settings of the turn's policy.
    policies: Policy;
    /// The texts that sections are made from.
    contexts: PromptContext;
    /// The sections.
    sections: PromptSection;
    /// The tools.
    bundles: ToolBundle;
    /// The remarks for the manifest.
    remarks: ManifestDiagnostic;
    /// What is to be kept.
    audits: Audit;
    /// The work for after the turn.
    jobs: BackgroundJob;
}
