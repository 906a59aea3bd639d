//! An agent's own settings file in TOML, as described by its profile.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::io::Errno;
use serde::Deserialize;

use crate::cache::CacheEvidence;
use crate::fs::file::Found;
use crate::fs::path;
use crate::fs::source::FileSource;
use crate::profile::{Profile, SettingsFile};
use crate::resolve::resolution::Request;
use crate::settings::AgentsConfig;

/// Largest settings file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A broken settings file, with which the agent would not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{agent} would not start with {}: {message}", path.display())]
pub struct SettingsFileError {
    /// Name of the agent.
    pub agent: &'static str,
    /// Path of the file.
    pub path: PathBuf,
    /// Description of the problem.
    pub message: String,
}

/// Relevant part of a settings file.
#[derive(Debug, Default)]
pub(crate) struct AgentSettings {
    pub(crate) agents: AgentsConfig,
    pub(crate) projects: BTreeMap<PathBuf, Project>,
}

/// Settings for a project.
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

/// Reads the settings file in a home directory. A missing file is empty.
pub(crate) fn read(
    profile: &Profile,
    file: &SettingsFile,
    home: &Path,
    evidence: &mut CacheEvidence,
) -> Result<AgentSettings, SettingsFileError> {
    let path = &home.join(file.name);
    match read_text(profile, path, &FileSource::Disk, evidence)? {
        Some(text) => parse(&text, file).map_err(|error| broken(profile, path, error.message().to_owned())),
        None => Ok(AgentSettings::default()),
    }
}

fn broken(profile: &Profile, path: &Path, message: String) -> SettingsFileError {
    SettingsFileError { agent: profile.name, path: path.to_owned(), message }
}

/// Reads the text of a settings file, or returns `None` if it does not exist.
fn read_text(
    profile: &Profile,
    path: &Path,
    source: &FileSource,
    evidence: &mut CacheEvidence,
) -> Result<Option<String>, SettingsFileError> {
    let broken = |message: String| broken(profile, path, message);
    let mut text = String::new();
    let looked_at = SystemTime::now();
    match source.state(path) {
        Ok(state) if state.is_file() => evidence.state(path, state.stamp, looked_at),
        Ok(_) => return Err(broken("it is not a file".to_owned())),
        Err(Errno::NOENT | Errno::NOTDIR) => {
            evidence.nothing(path);
            return Ok(None);
        }
        Err(errno) => return Err(broken(std::io::Error::from(errno).to_string())),
    }
    if source.snapshot().is_some() {
        return match source.read_anywhere(path, MAX_BYTES) {
            Found::File { content, .. } => match String::from_utf8(content.bytes.clone()) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(broken("stream did not contain valid UTF-8".to_owned())),
            },
            Found::Unreadable { reason } => Err(broken(reason.to_string())),
            _ => Ok(None),
        };
    }
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .map_err(|error| broken(error.to_string()))?;
    Ok(Some(text))
}

impl AgentSettings {
    pub(crate) fn has_trusted_projects(&self) -> bool {
        self.projects.values().any(|project| project.trust_level == Some(Trust::Trusted))
    }

    /// Returns true if files in a directory count that require the user's trust.
    fn trusts(&self, places: &[&Path]) -> bool {
        let about = |path: &Path| self.projects.get(path).and_then(|project| project.trust_level);
        let known = |path: &&Path| about(path).or_else(|| about(&path.canonicalize().ok()?));
        places.iter().find_map(known) == Some(Trust::Trusted)
    }
}

/// Merges the settings files of a trusted project, nearest last. Files of untrusted projects are ignored, but
/// an unreadable one still keeps the agent from starting.
// The order of checks follows the agent: it reads every file before it looks at the trust, so an unreadable file stops
// it even in an untrusted project. The text is parsed only if the project is trusted.
pub(crate) fn read_in_project(
    settings: &mut AgentSettings,
    profile: &Profile,
    file: &SettingsFile,
    home: &Path,
    request: &Request<'_>,
    evidence: &mut CacheEvidence,
) -> Result<(), SettingsFileError> {
    let cwd = request.cwd;
    let source = &request.settings.source;
    let own = settings.agents.root.markers.clone();
    let markers = request.settings.agents.root.markers.clone().or(own);
    // The agent determines the root for settings before it has read any settings of the project, so only the user's own
    // markers count here.
    let is_marked = |directory: &&Path| match &markers {
        Some(markers) => markers.iter().any(|marker| source.exists(&directory.join(marker))),
        None => profile.search.markers.iter().any(|marker| source.exists(&directory.join(marker.name()))),
    };
    let root = cwd.ancestors().find(is_marked).unwrap_or(cwd);
    let repository = repository(cwd, source, evidence);
    for directory in path::chain(root, cwd) {
        let path = directory.join(file.in_project);
        let folder = path.parent().unwrap_or(&path);
        let is_home = folder == home || source.canonicalize(folder).ok() == home.canonicalize().ok();
        // The user's own settings file was read already. In the home directory it is also found as the file of a
        // project.
        if is_home && source.exists(folder) {
            continue;
        }
        let Some(text) = read_text(profile, &path, source, evidence)? else { continue };
        let places = [Some(directory.as_path()), Some(root), repository.as_deref()];
        if !settings.trusts(&places.into_iter().flatten().collect::<Vec<_>>()) {
            continue;
        }
        let read = parse(&text, file).map_err(|error| broken(profile, &path, error.message().to_owned()))?;
        let mut agents = read.agents;
        // The root is already determined at this point, so the agent ignores these.
        agents.root.markers = None;
        settings.agents.merge(&agents);
        settings.projects.extend(read.projects);
    }
    Ok(())
}

fn parse(text: &str, file: &SettingsFile) -> Result<AgentSettings, toml::de::Error> {
    // Only known keys are taken over. Other settings of the agent may have any type and must not cause errors here.
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

/// Inserts a value at a dotted path of `AgentsConfig`, without the prefix `agents`.
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

/// Returns the reason for ignoring project files if the user does not trust the directory or its repository.
pub(crate) fn distrust(
    profile: &Profile,
    projects: &BTreeMap<PathBuf, Project>,
    request: &Request<'_>,
    evidence: &mut CacheEvidence,
) -> Option<String> {
    let cwd = request.cwd;
    if projects.is_empty() {
        return None;
    }
    let about = |path: &Path| projects.get(path).and_then(|project| project.trust_level);
    let (path, trust) = match about(cwd) {
        Some(trust) => (cwd.to_owned(), trust),
        None => {
            let repository = repository(cwd, &request.settings.source, evidence)?;
            let trust = about(&repository)?;
            (repository, trust)
        }
    };
    (trust == Trust::Untrusted)
        .then(|| format!("{}'s settings say that {} is untrusted", profile.name, path.display()))
}

/// Returns the root of the Git repository around a directory; for a worktree, that of the main repository.
// Every path that was looked at is noted as evidence, also those that do not exist: a cached answer is valid
// only while none of them changes.
fn repository(cwd: &Path, source: &FileSource, evidence: &mut CacheEvidence) -> Option<PathBuf> {
    let looked_at = SystemTime::now();
    let mut note = |path: &Path| match source.state(path) {
        Ok(state) => evidence.state(path, state.stamp, looked_at),
        Err(_) => evidence.nothing(path),
    };
    for directory in cwd.ancestors() {
        let git = directory.join(".git");
        note(directory);
        if source.is_directory(&git) {
            let head = git.join("HEAD");
            note(&head);
            if source.exists(&head) {
                return Some(directory.to_owned());
            }
        } else if let Some(pointer) = source.on_disk(&git).and_then(|git| crate::fs::git::text_of(&git)) {
            note(&git);
            let target = directory.join(pointer.strip_prefix("gitdir:")?.trim());
            // A worktree's directory is `.git/worktrees/NAME` in the main repository.
            let main = target.parent()?.parent()?;
            return main.parent().map(Path::to_owned);
        }
    }
    None
}
