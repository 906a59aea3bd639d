//! Decisions about candidate paths, and their reasons.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use crate::fs::path;
use crate::resolve::reason::{DecisionReason, sentence};

/// Outcome for a candidate file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Included in full.
    Used,
    /// Included in part.
    Truncated,
    /// Hidden by another name.
    Shadowed,
    /// Blank.
    Blank,
    /// Not found.
    Absent,
    /// Not a regular file.
    NotAFile,
    /// Not readable.
    Unreadable,
    /// Dropped because the limit was used up.
    OverBudget,
    /// Nested in too many imports.
    TooDeep,
    /// Outside of the project.
    OutsideRoot,
    /// Meant for other paths or another audience.
    NotApplicable,
    /// Used before under another path.
    Duplicate,
    /// Switched off by settings.
    Disabled,
    /// Not read by this profile.
    Ignored,
    /// Located above the project root.
    AboveRoot,
}

/// A candidate with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// Path of the candidate.
    #[serde(serialize_with = "path::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Its outcome.
    pub outcome: Outcome,
    /// The file that it lost to.
    #[serde(serialize_with = "path::serialize_option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub by: Option<PathBuf>,
    /// Reasons, serialized as one sentence.
    // Readers of the JSON format know one sentence under this name. The list of reasons is internal.
    #[serde(rename = "detail", serialize_with = "serialize_reasons")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub reasons: Vec<DecisionReason>,
    /// It may be loaded later, once a touched path meets its conditions.
    #[serde(skip)]
    pub waits: bool,
}

impl Decision {
    pub(crate) fn new(path: impl Into<PathBuf>, outcome: Outcome) -> Self {
        Self { path: path.into(), outcome, by: None, reasons: Vec::new(), waits: false }
    }

    pub(crate) fn by(mut self, by: impl Into<PathBuf>) -> Self {
        self.by = Some(by.into());
        self
    }

    /// Appends a reason.
    pub(crate) fn add(&mut self, reason: DecisionReason) {
        self.reasons.push(reason);
    }

    /// Returns the reasons as one sentence, or `None` if there are none.
    pub fn detail(&self) -> Option<String> {
        sentence(&self.reasons)
    }

    /// Marks it as loaded later.
    pub(crate) fn waiting(mut self) -> Self {
        self.waits = true;
        self
    }

    pub(crate) fn because(mut self, reason: DecisionReason) -> Self {
        self.reasons = vec![reason];
        self
    }
}

fn serialize_reasons<S: Serializer>(reasons: &[DecisionReason], serializer: S) -> Result<S::Ok, S::Error> {
    sentence(reasons).serialize(serializer)
}
