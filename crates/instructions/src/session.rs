//! One agent's run in one working directory: a frozen start, and the versions of files it has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cache::Cache;
use crate::decision::Outcome;
use crate::file::hex;
use crate::profile::Fallbacks;
use crate::reminder::Reminder;
use crate::resolution::{Request, Resolution, ResolveError, resolve};
use crate::settings::Settings;
use crate::stored_path;

/// The format that is written and read.
pub const SCHEMA: u32 = 1;

/// A file version that reached the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedVersion {
    /// Modification time in milliseconds since 1970.
    pub mtime_ms: i64,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 of what was read.
    pub sha256: String,
}

/// How much of a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Whole,
    InPart,
}

impl LoadedVersion {
    /// Whether this version of a file has another content than an earlier one, as far as that can be told: what is
    /// beyond the part that was read shows only in the size and the time.
    pub(crate) fn content_differs(&self, earlier: &LoadedVersion, read: Read) -> bool {
        self.sha256 != earlier.sha256
            || self.size != earlier.size
            || (read == Read::InPart && self.mtime_ms != earlier.mtime_ms)
    }
}

/// The text a session started with; it never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Initial {
    /// The text; none when nothing applied.
    pub text: Option<String>,
    /// SHA-256 of the text.
    pub sha256: Option<String>,
    /// The files it came from, in the order of their text.
    #[serde(with = "stored_path::list")]
    pub files: Vec<PathBuf>,
    /// The versions that the text was made from; sessions of older versions of this program have none.
    #[serde(default, with = "stored_path::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<PathBuf, LoadedVersion>,
    /// What went otherwise than a reader of the files would think, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// Something about a file of the initial text: never its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// The file.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// What it is: an outcome other than `used`, or the code of a diagnostic.
    pub code: String,
}

impl Initial {
    /// Whether something of a file was left out for want of room.
    pub fn is_truncated(&self) -> bool {
        self.findings.iter().any(|finding| ["truncated", "over_budget"].contains(&finding.code.as_str()))
    }
}

/// What a model's text hides from somebody who knows the files: cuts, refusals, changed characters.
fn findings(resolution: &Resolution) -> Vec<Finding> {
    let outcomes = resolution.decisions.iter().filter_map(|decision| {
        let code = match decision.outcome {
            Outcome::Truncated => "truncated",
            Outcome::OverBudget => "over_budget",
            Outcome::NotAFile => "not_a_file",
            Outcome::OutsideRoot => "outside_root",
            Outcome::Unreadable => "unreadable",
            _ => return None,
        };
        Some(Finding { path: decision.path.clone(), code: code.to_owned() })
    });
    let diagnostics = resolution
        .diagnostics
        .iter()
        .filter_map(|found| Some(Finding { path: found.path.clone()?, code: found.code.to_string() }));
    let all: BTreeSet<Finding> = outcomes.chain(diagnostics).collect();
    all.into_iter().collect()
}

/// The settings that a session goes on with, whatever is set later; how files are delivered is not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSettings {
    /// Names tried after the profile's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_filenames: Option<Vec<String>>,
    /// Whether links may lead out of the project.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follow_external_links: bool,
    /// Most bytes of project files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Most project files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
}

impl SessionSettings {
    fn of(request: &Request<'_>) -> Self {
        let Settings { fallback_filenames, follow_external_links, max_bytes, max_files, .. } =
            request.settings;
        let fallbacks = fallback_filenames.clone();
        Self {
            fallback_filenames: fallbacks.filter(|_| request.profile.fallbacks != Fallbacks::Unsupported),
            follow_external_links: *follow_external_links,
            max_bytes: *max_bytes,
            max_files: *max_files,
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Settings in which those of the session hold.
    pub fn over(&self, settings: Settings) -> Settings {
        Settings {
            fallback_filenames: self.fallback_filenames.clone().or(settings.fallback_filenames),
            follow_external_links: self.follow_external_links || settings.follow_external_links,
            max_bytes: self.max_bytes.or(settings.max_bytes),
            max_files: self.max_files.or(settings.max_files),
            ..settings
        }
    }
}

/// What a session remembers. Serialises to JSON and survives a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The format.
    pub schema: u32,
    /// Name of the rules.
    pub profile: String,
    /// The working directory.
    #[serde(with = "stored_path")]
    pub cwd: PathBuf,
    /// The project root; none when only the working directory counts.
    #[serde(with = "stored_path::option")]
    pub root: Option<PathBuf>,
    /// The markers that were looked for.
    pub markers: Vec<String>,
    /// Settings that decide what applies, as far as they were given at the start.
    #[serde(default, skip_serializing_if = "SessionSettings::is_default")]
    pub settings: SessionSettings,
    /// The frozen start.
    pub initial: Initial,
    /// Directories whose files the model has.
    #[serde(with = "stored_path::list")]
    pub covered_dirs: BTreeSet<PathBuf>,
    /// What the model has of each file.
    #[serde(with = "stored_path::map")]
    pub loaded_versions: BTreeMap<PathBuf, LoadedVersion>,
}

impl Session {
    /// Loads the initial chain and freezes it.
    pub fn start(
        request: &Request<'_>,
        cache: Option<&Cache>,
    ) -> Result<(Self, Arc<Resolution>), ResolveError> {
        let resolution = resolve(request, cache)?;
        // A file of which nothing fitted was not delivered: it is announced when the agent comes near it.
        let loaded: Vec<_> =
            resolution.files.iter().filter(|file| file.kept_bytes > 0 || file.bytes == 0).collect();
        let versions: BTreeMap<PathBuf, LoadedVersion> = loaded
            .iter()
            .map(|file| {
                let version =
                    LoadedVersion { mtime_ms: file.mtime_ms, size: file.bytes, sha256: file.sha256.clone() };
                (file.path.clone(), version)
            })
            .collect();
        let session = Self {
            schema: SCHEMA,
            profile: resolution.profile.to_owned(),
            cwd: resolution.cwd.clone(),
            root: resolution.root.clone(),
            markers: resolution.markers.clone(),
            settings: SessionSettings::of(request),
            initial: Initial {
                text: resolution.text.clone(),
                sha256: resolution.text.as_ref().map(|text| hex(&Sha256::digest(text.as_bytes()))),
                files: resolution.files.iter().map(|file| file.path.clone()).collect(),
                versions: versions.clone(),
                findings: findings(&resolution),
            },
            covered_dirs: loaded.iter().filter_map(|file| file.path.parent()).map(PathBuf::from).collect(),
            loaded_versions: versions,
        };
        Ok((session, resolution))
    }

    /// Takes for delivered only what the model still has before it: the frozen start, and these reminders, in their
    /// order. A file whose reminder has left the request counts as undelivered again.
    pub fn keep_delivered<'a>(&mut self, reminders: impl IntoIterator<Item = &'a Reminder>) {
        let known = std::mem::take(&mut self.loaded_versions);
        self.loaded_versions = match self.initial.versions.is_empty() {
            false => self.initial.versions.clone(),
            true => known
                .iter()
                .filter(|(path, _)| self.initial.files.contains(path))
                .map(|(path, version)| (path.clone(), version.clone()))
                .collect(),
        };
        for reminder in reminders {
            let (files, removed) = match reminder {
                Reminder::AgentsResolvePaths { files, removed } => (files, removed),
                Reminder::SessionResumeDiff { files, removed, .. } => (files, removed),
                _ => continue,
            };
            for file in files {
                // Only the newest version of a file is remembered; an older one is out of date anyway.
                match known.get(&file.path).filter(|version| version.mtime_ms == file.mtime_ms) {
                    Some(version) => self.loaded_versions.insert(file.path.clone(), version.clone()),
                    None => self.loaded_versions.remove(&file.path),
                };
            }
            for path in removed {
                self.loaded_versions.remove(path);
            }
        }
        self.covered_dirs =
            self.loaded_versions.keys().filter_map(|path| path.parent()).map(PathBuf::from).collect();
    }

    /// The directory that bounds the session.
    pub(crate) fn top(&self) -> &std::path::Path {
        self.root.as_deref().unwrap_or(&self.cwd)
    }
}
