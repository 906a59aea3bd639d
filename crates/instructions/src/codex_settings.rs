//! What Codex's own `config.toml` says about instruction files.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::io::Errno;
use serde::Deserialize;

use crate::cache::Grounds;
use crate::file::{self, Stamp};

/// Largest settings file that is read.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// The agent's settings file is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("codex would not start with {}: {message}", path.display())]
pub struct SettingsFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
}

/// The part of the file that matters here.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CodexSettings {
    #[serde(rename = "project_doc_max_bytes")]
    pub(crate) max_bytes: Option<u64>,
    #[serde(rename = "project_doc_fallback_filenames")]
    pub(crate) fallback_filenames: Option<Vec<String>>,
    #[serde(rename = "project_root_markers")]
    pub(crate) markers: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) projects: BTreeMap<PathBuf, Project>,
}

/// What the user said about a project.
#[derive(Debug, Deserialize)]
pub(crate) struct Project {
    trust_level: Option<Trust>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Trust {
    Trusted,
    Untrusted,
}

/// Reads the file; none is the same as an empty one.
pub(crate) fn read(path: &Path, grounds: &mut Grounds) -> Result<CodexSettings, SettingsFileError> {
    let broken = |message: String| SettingsFileError { path: path.to_owned(), message };
    let mut text = String::new();
    let looked_at = SystemTime::now();
    match rustix::fs::stat(path) {
        Ok(stat) if file::kind(&stat) == "file" => grounds.state(path, Stamp::of(&stat), looked_at),
        Ok(_) => return Err(broken("it is not a file".to_owned())),
        Err(Errno::NOENT) => {
            grounds.nothing(path);
            return Ok(CodexSettings::default());
        }
        Err(errno) => return Err(broken(std::io::Error::from(errno).to_string())),
    }
    std::fs::File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
        .map_err(|error| broken(error.to_string()))?;
    toml::from_str(&text).map_err(|error| broken(error.message().to_owned()))
}

/// Why a project's files are not read, if the user does not trust it: by its directory, else by its repository.
pub(crate) fn distrust(
    projects: &BTreeMap<PathBuf, Project>,
    cwd: &Path,
    grounds: &mut Grounds,
) -> Option<String> {
    if projects.is_empty() {
        return None;
    }
    let about = |path: &Path| projects.get(path).and_then(|project| project.trust_level);
    let (path, trust) = match about(cwd) {
        Some(trust) => (cwd.to_owned(), trust),
        None => {
            let repository = repository(cwd, grounds)?;
            let trust = about(&repository)?;
            (repository, trust)
        }
    };
    (trust == Trust::Untrusted).then(|| format!("codex's settings say that {} is untrusted", path.display()))
}

/// The root of the Git repository around a directory; of the main one for a worktree.
fn repository(cwd: &Path, grounds: &mut Grounds) -> Option<PathBuf> {
    let looked_at = SystemTime::now();
    let mut note = |path: &Path| match rustix::fs::stat(path) {
        Ok(stat) => grounds.state(path, Stamp::of(&stat), looked_at),
        Err(_) => grounds.nothing(path),
    };
    for directory in cwd.ancestors() {
        let git = directory.join(".git");
        note(directory);
        if git.is_dir() {
            let head = git.join("HEAD");
            note(&head);
            if head.exists() {
                return Some(directory.to_owned());
            }
        } else if let Ok(pointer) = std::fs::read_to_string(&git) {
            note(&git);
            let target = directory.join(pointer.strip_prefix("gitdir:")?.trim());
            // A worktree's directory is `.git/worktrees/NAME` of the main repository.
            let main = target.parent()?.parent()?;
            return main.parent().map(Path::to_owned);
        }
    }
    None
}
