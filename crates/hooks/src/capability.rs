//! Which kinds of contribution a subscription may make.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::ContributionKind;

/// A set of kinds of contribution; empty unless declared.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(u8);

impl Capabilities {
    /// What a background hook may have: it runs when the phase is over, so nothing of it can reach a prompt.
    pub const BACKGROUND: Self = Self(bit(ContributionKind::Audit) | bit(ContributionKind::BackgroundJob));

    /// Whether a kind is in the set.
    pub fn allow(self, kind: ContributionKind) -> bool {
        self.0 & bit(kind) != 0
    }

    /// The kinds in the set.
    pub fn kinds(self) -> impl Iterator<Item = ContributionKind> {
        ContributionKind::ALL.into_iter().filter(move |kind| self.allow(*kind))
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

impl Serialize for Capabilities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.kinds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_declared_is_allowed() {
        let set: Capabilities = [ContributionKind::Audit, ContributionKind::Policy].into_iter().collect();
        let kinds: Vec<_> = set.kinds().collect();
        assert_eq!(kinds, [ContributionKind::Policy, ContributionKind::Audit]);
        assert_eq!(Capabilities::default().kinds().count(), 0);
        assert_eq!(serde_json::to_string(&set).unwrap(), r#"["policy","audit"]"#);
    }
}
