//! Diagnostics: a stable code, a message, a location.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fs::path;

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information.
    Warning,
    /// Requires attention.
    Error,
}

/// Stable code of a diagnostic, in alphabetical order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticCode {
    /// The file is above the workspace's directory and does not count.
    AboveRoot,
    /// The file kept changing while it was read.
    ChangedWhileRead,
    /// A root marker is a dangling link.
    DanglingMarker,
    /// A character that can hide or reorder text.
    HiddenUnicode,
    /// Front matter with one of Foreword's keys is invalid.
    InvalidFrontMatter,
    /// The file contains bytes that are not UTF-8.
    InvalidUtf8,
    /// The candidate is not a regular file.
    NotAFile,
    /// The candidate is outside the project.
    OutsideRoot,
    /// The limit leaves no room for any part of the file.
    OverBudget,
    /// A setting of the agent changes what it reads, and is not supported.
    SettingNotFollowed,
    /// The chain of imports is too long.
    TooDeep,
    /// There are more imports than are followed.
    TooManyImports,
    /// The file is cut at the limit.
    Truncated,
    /// The file is unreadable.
    Unreadable,
    /// The text looks like a wrapper tag.
    WrapperTag,
    /// An invisible character with legitimate uses.
    ZeroWidth,
    /// A code introduced by a later version.
    // Stored sessions contain codes. Without this variant, an older version could not read those of a newer one.
    #[serde(other)]
    Other,
}

/// A problem met during a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostic {
    /// Code of the problem.
    pub code: DiagnosticCode,
    /// Severity, which is implied by the code.
    #[serde(skip)]
    pub severity: Severity,
    /// Description and advice.
    pub message: String,
    /// Affected file; absent if none.
    #[serde(serialize_with = "path::serialize_option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub path: Option<PathBuf>,
    /// Affected line, from 1; absent if unknown.
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
