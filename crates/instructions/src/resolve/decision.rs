//! What became of one candidate path, and why.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fs::path;

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its text is there, whole.
    Used,
    /// Its text is there in part.
    Truncated,
    /// Another name won here.
    Shadowed,
    /// Only white space.
    Blank,
    /// There is no such file.
    Absent,
    /// Something that is no regular file.
    NotAFile,
    /// It cannot be read.
    Unreadable,
    /// The limit was spent.
    OverBudget,
    /// Too many imports lead to it, one in the other.
    TooDeep,
    /// It leads out of the project.
    OutsideRoot,
    /// It is for other paths or another audience.
    NotApplicable,
    /// The same file was already used.
    Duplicate,
    /// Settings switch it off.
    Disabled,
    /// A file this profile does not read.
    Ignored,
    /// An instruction file above the project root.
    AboveRoot,
}

/// One candidate and its fate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The candidate.
    #[serde(serialize_with = "path::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
    /// What it lost to.
    #[serde(serialize_with = "path::serialize_option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub by: Option<PathBuf>,
    /// Why, and what to do.
    pub detail: Option<String>,
    /// Whether it comes in later, where what it says itself fits what is touched.
    #[serde(skip)]
    pub waits: bool,
}

impl Decision {
    pub(crate) fn new(path: impl Into<PathBuf>, outcome: Outcome) -> Self {
        Self { path: path.into(), outcome, by: None, detail: None, waits: false }
    }

    pub(crate) fn by(mut self, by: impl Into<PathBuf>) -> Self {
        self.by = Some(by.into());
        self
    }

    /// Says one thing more.
    pub(crate) fn add(&mut self, detail: impl Into<String>) {
        let detail = detail.into();
        self.detail = Some(match self.detail.take() {
            Some(before) => format!("{before}; {detail}"),
            None => detail,
        });
    }

    /// Says that it comes in later.
    pub(crate) fn waiting(mut self) -> Self {
        self.waits = true;
        self
    }

    pub(crate) fn because(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}
