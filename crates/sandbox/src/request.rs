//! A command and its permitted access.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use protocol::SandboxLevel;
use serde::{Deserialize, Serialize};

use crate::system_directories::SYSTEM;
use crate::{Directory, ResourceLimits};

/// A command and its permitted access. Every path is absolute and without links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRequest {
    /// Sandbox level. A level that the machine does not support is an error, never replaced by a weaker one.
    pub level: SandboxLevel,
    /// Directory that the command can read and write.
    pub root: Directory,
    /// Working directory, inside the root.
    pub cwd: Directory,
    /// Directory for temporary files, which is also the home directory. An isolated command uses another one.
    pub temporary: PathBuf,
    /// Paths that the command can read in addition to the root and the system's directories.
    pub readable: Vec<PathBuf>,
    /// Paths that the command can read and write in addition.
    pub writable: Vec<PathBuf>,
    /// Paths that the command cannot see.
    pub hidden: Vec<PathBuf>,
    /// Paths inside the root that the command can read but not write. Enforced for isolated commands only.
    pub protected: Vec<PathBuf>,
    /// Environment of the command. A sandbox adds `HOME` and `TMPDIR`.
    pub environment: Vec<(OsString, OsString)>,
    /// Command for `sh -c`.
    pub text: String,
    /// Resource limits.
    pub limits: ResourceLimits,
}

impl CommandRequest {
    /// Returns the reason why the request cannot be fulfilled at its level on any machine.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.level == SandboxLevel::Off {
            return None;
        }
        let root = self.root.path();
        for hidden in &self.hidden {
            let hidden_shown = hidden.display();
            let root_shown = root.display();
            if root.starts_with(hidden) {
                return Some(format!("{root_shown} is in {hidden_shown}, which no command may see"));
            }
            // Landlock rules cover everything below a path, without exceptions.
            if self.level == SandboxLevel::Confined && self.reached().any(|path| hidden.starts_with(path)) {
                return Some(format!(
                    "{hidden_shown} is inside what the command may read, and a confined command cannot be kept from it"
                ));
            }
        }
        None
    }

    /// Returns the resolved paths that a confined command can read.
    fn reached(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let named = self.readable.iter().chain(&self.writable).chain([&self.temporary]).cloned();
        // A path that does not exist yet may be created before the command begins.
        let real = |path: &str| Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
        let system = SYSTEM.iter().map(move |row| real(row.path));
        named.chain([self.root.path()]).chain(system)
    }

    /// Returns the directories strictly between `root` and `path`, from the root down.
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

    // Landlock allows the system's directories with everything in them.
    #[test]
    fn confined_command_cannot_hide_data_in_a_system_directory() {
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
