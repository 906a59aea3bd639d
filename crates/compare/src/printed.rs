//! A resolution as commands and servers print it, for programs: with an estimate of its tokens.

use instructions::{ContentHash, Resolution};
use serde::Serialize;

/// A file as the commands print it: with an estimate of its tokens.
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

/// A resolution as `show` and `watch` print it.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    #[serde(flatten)]
    resolution: Printed<'a>,
    blocks: &'a [instructions::Block],
    text: Option<&'a str>,
}

/// A resolution as `explain` prints it.
#[derive(Debug, Serialize)]
pub struct Explained<'a> {
    #[serde(flatten)]
    resolution: Printed<'a>,
    limit_bytes: u64,
    /// What counts against the limit.
    kept_bytes: u64,
    root_reason: &'a str,
    /// Why nothing is read at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    switched_off: Option<&'a str>,
    /// Of the whole text.
    text_bytes: usize,
    /// The same, estimated.
    tokens: usize,
}

/// What both print.
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
    /// The files, the decisions and the text.
    pub fn new(resolution: &'a Resolution) -> Self {
        Self {
            resolution: Printed::new(resolution, Absent::LeftOut),
            blocks: &resolution.blocks,
            text: resolution.text.as_deref(),
        }
    }
}

impl<'a> Explained<'a> {
    /// The files and the decisions, with limits and sums.
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

/// Whether candidates that are not there are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// They are.
    Listed,
    /// They are not.
    LeftOut,
}

/// How much of a resolution counts against its limit.
pub fn kept_bytes(resolution: &Resolution) -> u64 {
    resolution.files.iter().filter(|file| file.limited).map(|file| file.kept_bytes).sum()
}

/// The estimate that all commands print.
pub fn tokens(text: &str) -> usize {
    tokens::count(tokens::Encoding::Cl100k, text)
}
