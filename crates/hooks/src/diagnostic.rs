//! Problems as values: what a phase went on in spite of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::registry::Entry;
use crate::{Phase, Visibility};

/// The stable code of a [`Diagnostic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticCode {
    /// A hook failed: an error, a panic, far too much, or no room in the background.
    HookFailed,
    /// A hook was given up.
    HookTimedOut,
    /// A section was cut to its hook's budget.
    SectionTruncated,
    /// A section was refused.
    SectionOmitted,
    /// A text that is not a section was cut to its hook's budget.
    ContributionTruncated,
    /// Something that is not a section was refused.
    ContributionRefused,
}

impl DiagnosticCode {
    /// The code as manifests write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::HookFailed => "hook_failed",
            Self::HookTimedOut => "hook_timed_out",
            Self::SectionTruncated => "section_truncated",
            Self::SectionOmitted => "section_omitted",
            Self::ContributionTruncated => "contribution_truncated",
            Self::ContributionRefused => "contribution_refused",
        }
    }
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A problem that did not end the phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: DiagnosticCode,
    /// What happened, in one line without secrets.
    pub message: String,
    /// The section it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// The hook it is about.
    pub hook_id: String,
    /// The hook's subscription.
    pub subscription_id: String,
    /// The phase it happened in.
    pub phase: Phase,
    /// Who may be shown it.
    pub visibility: Visibility,
}

/// A [`Diagnostic`] before it is known of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) code: DiagnosticCode,
    pub(crate) message: String,
    pub(crate) section_id: Option<String>,
}

impl Remark {
    pub(crate) fn of(self, entry: &Entry) -> Diagnostic {
        Diagnostic {
            code: self.code,
            message: format!("hook `{}`: {}", entry.subscription.hook_id, self.message),
            section_id: self.section_id,
            hook_id: entry.subscription.hook_id.clone(),
            subscription_id: entry.subscription.id.clone(),
            phase: entry.subscription.phase,
            visibility: entry.subscription.visibility,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_serialised_as_its_name() {
        for code in [
            DiagnosticCode::HookFailed,
            DiagnosticCode::HookTimedOut,
            DiagnosticCode::SectionTruncated,
            DiagnosticCode::SectionOmitted,
            DiagnosticCode::ContributionTruncated,
            DiagnosticCode::ContributionRefused,
        ] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
    }
}
