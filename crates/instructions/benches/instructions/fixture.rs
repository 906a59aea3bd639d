//! A project of a given depth with an instruction file in every directory.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use instructions::{FOREWORD, FileSettings, HomeDirectories, Request};
use tempfile::TempDir;

/// Bytes of each file. 33 of them fit into the limit.
pub(crate) const FILE_BYTES: usize = 900;

/// A project on disk with the request to resolve.
pub(crate) struct Project {
    pub(crate) directory: TempDir,
    /// From the root to the working directory.
    pub(crate) directories: Vec<PathBuf>,
    settings: FileSettings,
}

impl Project {
    /// A root with `depth` directories inside one another, and a home directory with a file.
    pub(crate) fn create(depth: usize) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let home = directory.path().join("home");
        fs::create_dir(&home)?;
        fs::write(home.join("AGENTS.md"), body())?;
        let mut directories = vec![directory.path().join("project")];
        for level in 0..depth {
            directories.push(directories[level].join(format!("level{level}")));
        }
        fs::create_dir_all(&directories[depth])?;
        fs::create_dir(directories[0].join(".git"))?;
        for directory in &directories {
            fs::write(directory.join("AGENTS.md"), body())?;
        }
        let homes = HomeDirectories::default().with(&FOREWORD, home);
        Ok(Self { directory, directories, settings: FileSettings { homes, ..FileSettings::default() } })
    }

    /// Waits until the files are old enough for the cache to trust them.
    pub(crate) fn settle(self) -> Self {
        std::thread::sleep(Duration::from_millis(2_100));
        self
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            cwd: self.directories.last().map_or_else(|| self.directory.path(), PathBuf::as_path),
            settings: &self.settings,
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }
}

/// Realistic text.
pub(crate) fn body() -> String {
    let mut text = String::from("# Rules\n\n");
    while text.len() < FILE_BYTES - 64 {
        text.push_str("- Run the tests before you commit, and say what failed.\n");
    }
    text
}
