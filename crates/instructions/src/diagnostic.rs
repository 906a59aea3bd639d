//! Problems as values: a stable code, a message, a place.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fs::path;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Warning,
    /// Somebody should look.
    Error,
}

/// Stable codes of problems, in the order of their names.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticCode {
    /// It is above the workspace's directory, so it does not count.
    AboveRoot,
    /// The file kept changing while it was read.
    ChangedWhileRead,
    /// A marker is a link that leads nowhere.
    DanglingMarker,
    /// A character that can hide text or reorder it.
    HiddenUnicode,
    /// Front matter that has a key of ours but cannot be followed.
    InvalidFrontMatter,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// Something that is no regular file.
    NotAFile,
    /// It leads out of the project.
    OutsideRoot,
    /// Nothing of it fits into the limit.
    OverBudget,
    /// A setting of the agent changes what it reads, and is not followed.
    SettingNotFollowed,
    /// Too many imports lead to it, one in the other.
    TooDeep,
    /// More imports than are followed.
    TooManyImports,
    /// It is cut to the limit.
    Truncated,
    /// It cannot be read.
    Unreadable,
    /// Text that looks like one of our own tags.
    WrapperTag,
    /// A character that cannot be seen but has honest uses.
    ZeroWidth,
    /// What a later version of this program noted.
    #[serde(other)]
    Other,
}

/// A problem that was found on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostic {
    /// What it is.
    pub code: DiagnosticCode,
    /// How bad it is; the code says as much to programs.
    #[serde(skip)]
    pub severity: Severity,
    /// What it means and what to do.
    pub message: String,
    /// The file it is about.
    #[serde(serialize_with = "path::serialize_option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub path: Option<PathBuf>,
    /// The line it is in, counted from 1.
    pub line: Option<usize>,
}

impl Diagnostic {
    pub(crate) fn new(
        code: DiagnosticCode,
        severity: Severity,
        path: &Path,
        message: impl Into<String>,
    ) -> Self {
        Self { code, severity, message: message.into(), path: Some(path.to_owned()), line: None }
    }

    pub(crate) fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}
