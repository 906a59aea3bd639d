//! What happens to what was read already.

/// What happens to a file that is reached twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameFile {
    /// The second is a duplicate.
    UsedOnce,
    /// Used once by its path without links; two names of one file that are no links are two files.
    OncePerRealPath,
    /// Both are used.
    UsedTwice,
    /// Both are used where they have different paths.
    OncePerPath,
}

/// What happens to a text that another file had already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameText {
    /// Both are used.
    UsedTwice,
    /// The second is a duplicate.
    UsedOnce,
}
