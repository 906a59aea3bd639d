//! Text that should reach an agent's model but does not.

use std::path::{Path, PathBuf};

use instructions::{FileSettings, Outcome, Resolution};

/// A file that loses text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostFile {
    pub path: PathBuf,
    /// Outcome that caused the loss.
    pub outcome: Outcome,
    /// Number of lost bytes.
    pub bytes: u64,
    /// Size of the file.
    pub of_bytes: u64,
}

/// Returns true if an outcome means the loss of text that the agent should read.
pub fn is_loss(outcome: Outcome) -> bool {
    // Listed without a wildcard, so that a new outcome has to be classified before this compiles.
    match outcome {
        Outcome::Truncated
        | Outcome::OverBudget
        | Outcome::TooDeep
        | Outcome::OutsideRoot
        | Outcome::Unreadable => true,
        Outcome::Used
        | Outcome::Shadowed
        | Outcome::Blank
        | Outcome::Absent
        | Outcome::NotAFile
        | Outcome::NotApplicable
        | Outcome::Duplicate
        | Outcome::Disabled
        | Outcome::Ignored
        | Outcome::AboveRoot => false,
    }
}

/// Returns the lost files of a resolution, in the order of its decisions.
pub fn of(resolution: &Resolution, settings: &FileSettings) -> Vec<LostFile> {
    let decisions = resolution.decisions.iter().filter(|decision| is_loss(decision.outcome));
    decisions
        .map(|decision| {
            let path = &decision.path;
            let read = resolution.files.iter().find(|file| file.path == *path);
            // A cut file is in the resolution with the bytes that were kept. A dropped one has only a decision, so its
            // size is looked up.
            let (bytes, kept) = match read {
                Some(file) => (file.bytes, file.kept_bytes),
                None => (size(path, settings), 0),
            };
            let lost = bytes.saturating_sub(kept);
            LostFile { path: path.clone(), outcome: decision.outcome, bytes: lost, of_bytes: bytes }
        })
        .collect()
}

/// Returns the size of a file that was not read.
// Of files outside the workspace or excluded from it, callers must not even learn the size.
pub(crate) fn size(path: &Path, settings: &FileSettings) -> u64 {
    if let Some(workspace) = settings.bounds.workspace() {
        let canonicalize = |path: &Path| settings.source.canonicalize(path);
        let Ok(real) = canonicalize(path) else { return 0 };
        let is_inside = canonicalize(workspace).is_ok_and(|workspace| real.starts_with(workspace));
        let is_private =
            |private: &PathBuf| canonicalize(private).is_ok_and(|private| real.starts_with(private));
        if !is_inside || settings.private_paths.iter().any(is_private) {
            return 0;
        }
    }
    settings.source.file_size(path).unwrap_or(0)
}
