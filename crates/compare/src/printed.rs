//! JSON output of resolutions, with estimated tokens.

use instructions::{ContentHash, Resolution};
use serde::Serialize;

/// A file in the output.
#[derive(Debug, Serialize)]
struct PrintedFile<'a> {
    path: String,
    scope: instructions::FileScope,
    bytes: u64,
    kept_bytes: u64,
    tokens: usize,
    sha256: &'a ContentHash,
    mtime_ms: i64,
    truncated: bool,
}

/// Output of `show` and `watch`.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    #[serde(flatten)]
    resolution: Printed<'a>,
    blocks: &'a [instructions::Block],
    text: Option<&'a str>,
}

/// Output of `explain`.
#[derive(Debug, Serialize)]
pub struct Explained<'a> {
    #[serde(flatten)]
    resolution: Printed<'a>,
    limit_bytes: u64,
    /// Bytes that count against the limit.
    kept_bytes: u64,
    root_reason: &'a str,
    /// Reason if nothing is read at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    switched_off: Option<&'a str>,
    /// Size of the whole text.
    text_bytes: usize,
    /// Estimated tokens of the whole text.
    tokens: usize,
}

/// Common part of both outputs.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    profile: &'a str,
    cwd: String,
    root: Option<String>,
    files: Vec<PrintedFile<'a>>,
    decisions: Vec<&'a instructions::Decision>,
    diagnostics: &'a [instructions::Diagnostic],
}

impl<'a> Shown<'a> {
    /// Creates the output with files, decisions and text.
    pub fn new(resolution: &'a Resolution) -> Self {
        Self {
            resolution: Printed::new(resolution, Absent::LeftOut),
            blocks: &resolution.blocks,
            text: resolution.text.as_deref(),
        }
    }
}

impl<'a> Explained<'a> {
    /// Creates the output with files, decisions, limits and sums.
    pub fn new(resolution: &'a Resolution, absent: Absent) -> Self {
        Self {
            resolution: Printed::new(resolution, absent),
            limit_bytes: resolution.limit_bytes,
            kept_bytes: kept_bytes(resolution),
            root_reason: &resolution.root_reason,
            switched_off: resolution.switched_off.as_deref(),
            text_bytes: resolution.text.as_deref().map_or(0, str::len),
            tokens: resolution.text.as_deref().map_or(0, tokens),
        }
    }
}

impl<'a> Printed<'a> {
    fn new(resolution: &'a Resolution, absent: Absent) -> Self {
        let listed = |decision: &&instructions::Decision| {
            // Each directory up to the root has several absent candidates per agent. Only an explanation needs them.
            absent == Absent::Listed || decision.outcome != instructions::Outcome::Absent
        };
        Self {
            profile: resolution.profile,
            cwd: resolution.cwd.to_string_lossy().into_owned(),
            root: resolution.root.as_ref().map(|root| root.to_string_lossy().into_owned()),
            files: resolution
                .files
                .iter()
                .map(|file| PrintedFile {
                    path: file.path.to_string_lossy().into_owned(),
                    scope: file.scope,
                    bytes: file.bytes,
                    kept_bytes: file.kept_bytes,
                    tokens: tokens(&file.text),
                    sha256: &file.sha256,
                    mtime_ms: file.mtime_ms,
                    truncated: file.truncated,
                })
                .collect(),
            decisions: resolution.decisions.iter().filter(listed).collect(),
            diagnostics: &resolution.diagnostics,
        }
    }
}

/// Treatment of candidates that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// They are included.
    Listed,
    /// They are omitted.
    LeftOut,
}

/// Returns the bytes of a resolution that count against its limit.
pub fn kept_bytes(resolution: &Resolution) -> u64 {
    resolution.files.iter().filter(|file| file.limited).map(|file| file.kept_bytes).sum()
}

/// Returns the token estimate used by all commands.
pub fn tokens(text: &str) -> usize {
    tokens::count(tokens::Encoding::Cl100k, text)
}
