//! What an agent's own settings file says about instruction files, as its profile describes the file.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::io::Errno;
use serde::Deserialize;

use crate::beneath::type_name;
use crate::cache::CacheEvidence;
use crate::file::Stamp;
use crate::profile::{Profile, SettingsFile};
use crate::settings::AgentsConfig;

/// Largest settings file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The agent's settings file is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{agent} would not start with {}: {message}", path.display())]
pub struct SettingsFileError {
    /// The agent.
    pub agent: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
}

/// The part of the file that matters here.
#[derive(Debug, Default)]
pub(crate) struct AgentSettings {
    pub(crate) agents: AgentsConfig,
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

/// Reads the file in a home directory; none is the same as an empty one.
pub(crate) fn read(
    profile: &Profile,
    file: &SettingsFile,
    home: &Path,
    evidence: &mut CacheEvidence,
) -> Result<AgentSettings, SettingsFileError> {
    let path = &home.join(file.name);
    let broken = |message: String| SettingsFileError { agent: profile.name, path: path.clone(), message };
    let mut text = String::new();
    let looked_at = SystemTime::now();
    match rustix::fs::stat(path) {
        Ok(stat) if type_name(&stat) == "file" => evidence.state(path, Stamp::of(&stat), looked_at),
        Ok(_) => return Err(broken("it is not a file".to_owned())),
        Err(Errno::NOENT) => {
            evidence.nothing(path);
            return Ok(AgentSettings::default());
        }
        Err(errno) => return Err(broken(std::io::Error::from(errno).to_string())),
    }
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .map_err(|error| broken(error.to_string()))?;
    parse(&text, file).map_err(|error| broken(error.message().to_owned()))
}

fn parse(text: &str, file: &SettingsFile) -> Result<AgentSettings, toml::de::Error> {
    let mut theirs: toml::Table = toml::from_str(text)?;
    let mut ours = toml::Table::new();
    for (path, key) in file.keys {
        if let Some(value) = theirs.remove(*key) {
            insert(&mut ours, path, value);
        }
    }
    let projects = theirs.remove(file.projects).map(toml::Value::try_into).transpose()?;
    Ok(AgentSettings { agents: ours.try_into()?, projects: projects.unwrap_or_default() })
}

/// Puts a value where the patch type has the setting of this dotted path, `agents` left out.
fn insert(table: &mut toml::Table, path: &str, value: toml::Value) {
    let mut parts: Vec<String> = path.split('.').skip(1).map(camel_case).collect();
    let Some(name) = parts.pop() else { return };
    let mut table = table;
    for part in parts {
        let below = table.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        let toml::Value::Table(below) = below else { return };
        table = below;
    }
    table.insert(name, value);
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        camel.push_str(&first.to_uppercase());
        camel.push_str(rest);
    }
    camel
}

/// Why a project's files are not read, if the user does not trust it: by its directory, else by its repository.
pub(crate) fn distrust(
    profile: &Profile,
    projects: &BTreeMap<PathBuf, Project>,
    cwd: &Path,
    evidence: &mut CacheEvidence,
) -> Option<String> {
    if projects.is_empty() {
        return None;
    }
    let about = |path: &Path| projects.get(path).and_then(|project| project.trust_level);
    let (path, trust) = match about(cwd) {
        Some(trust) => (cwd.to_owned(), trust),
        None => {
            let repository = repository(cwd, evidence)?;
            let trust = about(&repository)?;
            (repository, trust)
        }
    };
    (trust == Trust::Untrusted)
        .then(|| format!("{}'s settings say that {} is untrusted", profile.name, path.display()))
}

/// The root of the Git repository around a directory; of the main one for a worktree.
fn repository(cwd: &Path, evidence: &mut CacheEvidence) -> Option<PathBuf> {
    let looked_at = SystemTime::now();
    let mut note = |path: &Path| match rustix::fs::stat(path) {
        Ok(stat) => evidence.state(path, Stamp::of(&stat), looked_at),
        Err(_) => evidence.nothing(path),
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
