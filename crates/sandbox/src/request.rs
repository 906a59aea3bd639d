//! What is to be run, and what it may reach.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use protocol::SandboxLevel;
use serde::{Deserialize, Serialize};

use crate::{Directory, Limits};

/// A command, and what it may reach. Every path is absolute and without links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// How far it is kept apart. What a machine cannot give fails, and never falls to less.
    pub level: SandboxLevel,
    /// The directory it works on: read and written.
    pub root: Directory,
    /// Where it starts, inside the root.
    pub cwd: Directory,
    /// A directory for its temporary files, which is its home, too; an isolated command has another one.
    pub temporary: PathBuf,
    /// What it can read besides the root and the system's directories.
    pub readable: Vec<PathBuf>,
    /// What it can read and write besides.
    pub writable: Vec<PathBuf>,
    /// Directories that it cannot see, wherever they are.
    pub hidden: Vec<PathBuf>,
    /// Files and directories inside the root that it can read but not write. Only an isolated command is held to it.
    pub protected: Vec<PathBuf>,
    /// Its environment, but for `HOME` and `TMPDIR` where it is not `off`.
    pub environment: Vec<(OsString, OsString)>,
    /// The command, for `sh -c`.
    pub text: String,
    /// How much it may use.
    pub limits: Limits,
}

impl Request {
    /// Why this cannot be held to at its level, whatever the machine can do.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.level == SandboxLevel::Off {
            return None;
        }
        let root = self.root.path();
        for hidden in &self.hidden {
            let (hidden_shown, root_shown) = (hidden.display(), root.display());
            if root.starts_with(hidden) {
                return Some(format!("{root_shown} is in {hidden_shown}, which no command may see"));
            }
            // Landlock allows below what it allows: nothing can be taken out again.
            if self.level == SandboxLevel::Confined && self.reached().any(|path| hidden.starts_with(path)) {
                return Some(format!(
                    "{hidden_shown} is inside what the command may read, and a confined command cannot be kept from it"
                ));
            }
        }
        None
    }

    fn reached(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let named = self.readable.iter().chain(&self.writable).cloned();
        named.chain([self.root.path()])
    }

    /// Directories strictly below the root that lead to a path below it, from the root down.
    #[cfg(target_os = "linux")]
    pub(crate) fn between<'a>(root: &'a Path, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|directory| directory.starts_with(root) && *directory != root)
            .collect();
        above.into_iter().rev()
    }
}

#[cfg(not(target_os = "linux"))]
const _: fn(&Path) = |_| {};
