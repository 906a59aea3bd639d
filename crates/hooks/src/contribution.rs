//! Contributions, the kinds a hook may make, and the outcome of a phase.

use std::fmt;

use protocol::ToolSpec;
use protocol::hook::{ContributionKind, PromptSection, Visibility};
use protocol::prompt::{PromptDiagnostic, PromptTruncation};
use serde_json::Value;
use strum::VariantArray as _;

use crate::Retries;
use crate::registry::RegisteredHook;

/// Something a hook adds to a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Contribution {
    Policy(Policy),
    PromptSection(PromptSection),
    ToolBundle(ToolBundle),
    BackgroundJob(BackgroundJob),
}

/// A setting of the turn's policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Name of the setting; only one hook may decide it.
    pub key: String,
    pub value: Value,
    /// Reason for a decision that differs from the usual one, for the turn's explanation.
    pub reason: Option<String>,
    /// Effect of such a decision, for the turn's explanation.
    pub effect: Option<String>,
}

impl Policy {
    /// Creates a decision without a reason.
    pub fn new(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { key: key.into(), value: value.into(), reason: None, effect: None }
    }
}

/// Tools the turn may offer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolBundle {
    /// Id of the bundle; only one hook may contribute it.
    pub id: String,
    pub tools: Vec<ToolSpec>,
}

/// Work to do after the turn.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundJob {
    pub kind: String,
    pub payload: Value,
}

impl Contribution {
    pub fn kind(&self) -> ContributionKind {
        match self {
            Self::Policy(_) => ContributionKind::Policy,
            Self::PromptSection(_) => ContributionKind::PromptSection,
            Self::ToolBundle(_) => ContributionKind::ToolBundle,
            Self::BackgroundJob(_) => ContributionKind::BackgroundJob,
        }
    }

    /// Returns the id that a hook may use only once; `None` for jobs, which may repeat.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Policy(policy) => Some(&policy.key),
            Self::PromptSection(section) => Some(&section.id),
            Self::ToolBundle(bundle) => Some(&bundle.id),
            Self::BackgroundJob(_) => None,
        }
    }

    /// Returns the slot that only one contribution of this kind can take, across all hooks.
    pub fn slot(&self) -> Option<&str> {
        match self {
            // A section has two ids: its own one for diagnostics and that of the place in the prompt, which
            // is contested.
            Self::PromptSection(section) => Some(&section.section_id),
            _ => self.id(),
        }
    }
}

/// Converts a typed contribution into the general one.
macro_rules! contributions {
    ($($name:ident),*) => {$(
        impl From<$name> for Contribution {
            fn from(contribution: $name) -> Self {
                Self::$name(contribution)
            }
        }
    )*};
}

contributions!(Policy, PromptSection, ToolBundle, BackgroundJob);

/// Set of contribution kinds accepted from a hook; empty unless declared.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(u8);

impl Capabilities {
    /// Kinds that a background hook may contribute. It runs after the phase, so nothing of it can reach a prompt.
    pub const BACKGROUND: Self = Self(bit(ContributionKind::BackgroundJob));

    /// Returns true if `kind` is in the set.
    pub fn allow(self, kind: ContributionKind) -> bool {
        self.0 & bit(kind) != 0
    }

    /// Returns the kinds in the set.
    pub fn kinds(self) -> impl Iterator<Item = ContributionKind> {
        ContributionKind::VARIANTS.iter().copied().filter(move |kind| self.allow(*kind))
    }
}

const fn bit(kind: ContributionKind) -> u8 {
    1 << kind as u8
}

impl FromIterator<ContributionKind> for Capabilities {
    fn from_iter<I: IntoIterator<Item = ContributionKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |set, kind| set | bit(kind)))
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.kinds()).finish()
    }
}

/// Contributions of all hooks of a phase, in hook order rather than completion order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseOutcome {
    pub contributions: Vec<Contributed>,
    /// Problems that did not end the phase. Each message names its hook.
    pub diagnostics: Vec<PromptDiagnostic>,
}

/// A contribution and the hook that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Contributed {
    pub package_id: String,
    pub hook_id: String,
    pub subscription_id: String,
    /// Roles that may see it.
    pub visibility: Visibility,
    /// Retry policy, if the contribution is a job.
    pub retries: Retries,
    /// The component that cut the hook's text, if any.
    pub truncation: PromptTruncation,
    pub contribution: Contribution,
}

impl Contributed {
    pub(crate) fn new(
        entry: &RegisteredHook,
        contribution: Contribution,
        truncation: PromptTruncation,
    ) -> Self {
        Self {
            package_id: entry.package_id.clone(),
            hook_id: entry.subscription.hook_id.clone(),
            subscription_id: entry.subscription.id.clone(),
            visibility: entry.subscription.visibility,
            retries: entry.subscription.retries,
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
    sections: PromptSection;
    bundles: ToolBundle;
    /// The work to do after the turn.
    jobs: BackgroundJob;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_allow_only_declared_kinds() {
        let set: Capabilities =
            [ContributionKind::BackgroundJob, ContributionKind::Policy].into_iter().collect();
        let kinds: Vec<_> = set.kinds().collect();
        assert_eq!(kinds, [ContributionKind::Policy, ContributionKind::BackgroundJob]);
        assert_eq!(Capabilities::default().kinds().count(), 0);
    }
}
