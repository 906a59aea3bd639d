//! What is to be run, and what it may reach.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use protocol::SandboxLevel;
use serde::{Deserialize, Serialize};

use crate::system_directories::SYSTEM;
use crate::{Directory, ResourceLimits};

/// A command, and what it may reach. Every path is absolute and without links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRequest {
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
    /// Directories and files that it cannot see, wherever they are.
    pub hidden: Vec<PathBuf>,
    /// Files and directories inside the root that it can read but not write. Only an isolated command is held to it.
    pub protected: Vec<PathBuf>,
    /// Its environment, but for `HOME` and `TMPDIR` where it is not `off`.
    pub environment: Vec<(OsString, OsString)>,
    /// The command, for `sh -c`.
    pub text: String,
    /// How much it may use.
    pub limits: ResourceLimits,
}

impl CommandRequest {
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

    /// What a confined command can read, without links.
    fn reached(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let named = self.readable.iter().chain(&self.writable).chain([&self.temporary]).cloned();
        // What is not there now may be made before the command begins.
        let real = |path: &str| Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
        let system = SYSTEM.iter().map(move |row| real(row.path));
        named.chain([self.root.path()]).chain(system)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(level: SandboxLevel, root: &Path, hidden: &str) -> CommandRequest {
        CommandRequest {
            level,
            root: Directory::look(root).unwrap(),
            cwd: Directory::look(root).unwrap(),
            temporary: "/tmp/of-the-command".into(),
            readable: vec!["/srv/readable".into()],
            writable: vec!["/srv/writable".into()],
            hidden: vec![hidden.into()],
            protected: Vec::new(),
            environment: Vec::new(),
            text: String::new(),
            limits: ResourceLimits::default(),
        }
    }

    /// Landlock opens the system's directories with everything in them.
    #[test]
    fn a_confined_command_is_refused_where_the_gateways_data_is_in_a_directory_of_the_system() {
        let holder = tempfile::tempdir().unwrap();
        let root = holder.path().canonicalize().unwrap();
        for row in SYSTEM {
            let real = Path::new(row.path).canonicalize().unwrap_or_else(|_| row.path.into());
            let hidden = real.join("foreword");
            let request = |level| request(level, &root, hidden.to_str().unwrap());
            let refused = request(SandboxLevel::Confined).contradiction();
            assert!(
                refused.is_some_and(|why| why.contains("is inside what the command may read")),
                "{}",
                row.path
            );
            assert_eq!(
                request(SandboxLevel::Isolated).contradiction(),
                None,
                "{}: it is hidden there",
                row.path
            );
        }
        for hidden in ["/srv/readable/x", "/srv/writable", "/tmp/of-the-command/x"] {
            assert!(request(SandboxLevel::Confined, &root, hidden).contradiction().is_some(), "{hidden}");
        }
        for hidden in ["/srv/other", "/usrlocal", "/home/somebody/data"] {
            assert_eq!(request(SandboxLevel::Confined, &root, hidden).contradiction(), None, "{hidden}");
        }
    }
}
