//! Files of known findings, so that a project can adopt the check and see only what is new.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::CheckReport;
use crate::finding::Finding;

/// Version of the format.
const VERSION: u32 = 1;

/// Known findings of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Version of the format; 1.
    #[serde(rename = "foreword_baseline")]
    version: u32,
    findings: Vec<KnownFinding>,
}

/// A finding that is not reported again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFinding {
    path: String,
    rule: String,
    fingerprint: String,
    /// Description, for readers of the file.
    message: String,
}

/// Reason why a text is not a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The text is not JSON of the right form.
    #[error("it is not a baseline: {0}")]
    Form(#[from] serde_json::Error),
    /// The format is newer.
    #[error("its format has version {0}, and this version of foreword reads {VERSION}")]
    Version(u32),
}

impl Baseline {
    /// Creates a baseline of all findings of a report.
    pub fn of(report: &CheckReport) -> Self {
        let known = |finding: &Finding| KnownFinding {
            path: report.relative(&finding.path),
            rule: finding.rule().code.to_owned(),
            fingerprint: finding.fingerprint.clone(),
            message: finding.message.clone(),
        };
        let mut findings: Vec<KnownFinding> = report.findings.iter().map(known).collect();
        findings.sort();
        Self { version: VERSION, findings }
    }

    /// Reads a baseline.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let baseline: Self = serde_json::from_str(text)?;
        if baseline.version == VERSION { Ok(baseline) } else { Err(BaselineError::Version(baseline.version)) }
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> Result<String, BaselineError> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }

    /// Returns the number of known findings.
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Returns true if no finding is known.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Removes known findings from a report. Returns the numbers of removed findings and of known ones that no longer
    /// occur.
    pub fn apply(&self, report: &mut CheckReport) -> (usize, usize) {
        // Equal findings have different fingerprints only by their order, so each known one removes one finding.
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &self.findings {
            *known.entry(&finding.fingerprint).or_default() += 1;
        }
        let before = report.findings.len();
        report.findings.retain(|finding| match known.get_mut(finding.fingerprint.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        (before - report.findings.len(), known.values().sum())
    }
}
