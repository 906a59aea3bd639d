//! Rules that limit how much is read.

/// Limits of the project's files. The user's own files do not count.
#[derive(Debug, Clone, Copy)]
pub struct BudgetRules {
    /// Maximum total size in bytes.
    pub max_bytes: u64,
    /// Maximum number of files.
    pub max_files: Option<u64>,
    /// Treatment of files above the limit.
    pub over_limit: OverLimit,
}

/// Treatment of files above the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverLimit {
    /// Files nearest to the working directory are kept; the others are cut or dropped, with a mark.
    NearestFirst,
    /// Files nearest to the root are kept; the one on the border is cut at a byte, without a mark.
    RootFirst,
    /// Reading stops at the first file that does not fit.
    StopsAtFirst,
}
