//! What went otherwise than asked, for the manifest. Never content.

use serde::{Deserialize, Serialize};

/// Stable codes of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticCode {
    /// A bootstrap file is not there.
    MissingFile,
    /// A bootstrap file cannot be read, or not as text.
    FileReadError,
    /// A bootstrap file is longer than one may be.
    FileTruncated,
    /// Several texts together are longer than they may be.
    TotalBudgetTruncated,
    /// A section is longer than it may be.
    SectionTruncated,
    /// A section is not there at all.
    SectionOmitted,
    /// A hook failed.
    HookFailed,
    /// A hook took too long.
    HookTimedOut,
    /// A hook wants to have something said.
    HookRemark,
    /// A text has characters that cannot be seen, or tags of ours; they were made visible.
    UnsafeText,
}

impl DiagnosticCode {
    /// The code as manifests have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingFile => "missing_file",
            Self::FileReadError => "file_read_error",
            Self::FileTruncated => "file_truncated",
            Self::TotalBudgetTruncated => "total_budget_truncated",
            Self::SectionTruncated => "section_truncated",
            Self::SectionOmitted => "section_omitted",
            Self::HookFailed => "hook_failed",
            Self::HookTimedOut => "hook_timed_out",
            Self::HookRemark => "hook_remark",
            Self::UnsafeText => "unsafe_text",
        }
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What it is.
    pub code: DiagnosticCode,
    /// What happened, to what, and what to do.
    pub message: String,
    /// The section it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Diagnostic {
    /// About nothing in particular.
    pub fn new(code: DiagnosticCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), section_id: None, file: None }
    }

    /// About a section.
    pub fn in_section(mut self, id: impl Into<String>) -> Self {
        self.section_id = Some(id.into());
        self
    }

    /// About a file.
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }
}
