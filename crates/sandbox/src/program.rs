//! This program, run again as a guard or as the helper inside a sandbox.

use std::path::PathBuf;
use std::process::ExitCode;

/// First argument of a guard.
pub(crate) const GUARD: &str = "sandbox-guard";
/// First argument of the helper.
#[cfg(target_os = "linux")]
pub(crate) const HELPER: &str = "sandbox-helper";

/// A program that calls [`run_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(PathBuf);

impl Program {
    /// Returns the running program, even if its file was replaced since the start.
    pub fn this() -> Self {
        #[cfg(target_os = "linux")]
        let path = PathBuf::from("/proc/self/exe");
        #[cfg(not(target_os = "linux"))]
        let path = std::env::current_exe().unwrap_or_default();
        Self(path)
    }

    /// Returns the program at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Default for Program {
    fn default() -> Self {
        Self::this()
    }
}

/// Acts as a guard or helper if this process was started as one. Must be called at the start of `main` while there is only
/// one thread: some restrictions apply to a thread and its children only.
pub fn run_if_asked() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    match first.to_str()? {
        GUARD => Some(crate::guard::run()),
        #[cfg(target_os = "linux")]
        HELPER => Some(crate::helper::run()),
        _ => None,
    }
}
