//! This program, run again as a guard or as the helper inside a sandbox.

use std::path::PathBuf;
use std::process::ExitCode;

/// The first argument of a guard.
pub(crate) const GUARD: &str = "sandbox-guard";
/// The first argument of the helper inside.
#[cfg(target_os = "linux")]
pub(crate) const HELPER: &str = "sandbox-helper";

/// A program that calls [`run_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(PathBuf);

impl Program {
    /// This very program, also when its file has been replaced since it was started.
    pub fn this() -> Self {
        #[cfg(target_os = "linux")]
        let path = PathBuf::from("/proc/self/exe");
        #[cfg(not(target_os = "linux"))]
        let path = std::env::current_exe().unwrap_or_default();
        Self(path)
    }

    /// Another one.
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

/// Does the work of a guard or a helper if that is what this process was started for. To be called at the start of
/// `main`, before there is any other thread: some of this holds for a thread and what it starts.
pub fn run_if_asked() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    match first.to_str()? {
        GUARD => Some(crate::guard::run()),
        #[cfg(target_os = "linux")]
        HELPER => Some(crate::helper::run()),
        _ => None,
    }
}
