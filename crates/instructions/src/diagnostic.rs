//! Problems as values: a stable code, a message, a place.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::path;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Warning,
    /// Somebody should look.
    Error,
}

/// A problem that was found on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code, such as `hidden_unicode`.
    pub code: &'static str,
    /// How bad it is; the code says as much to programs.
    #[serde(skip)]
    pub severity: Severity,
    /// What it means and what to do.
    pub message: String,
    /// The file it is about.
    #[serde(serialize_with = "path::serialize_option")]
    pub path: Option<PathBuf>,
    /// The line it is in, counted from 1.
    pub line: Option<usize>,
}

impl Diagnostic {
    pub(crate) fn new(
        code: &'static str,
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
