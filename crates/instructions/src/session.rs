//! One agent's run in one working directory: a frozen start, and the versions of files it has seen.

pub(crate) mod cleanup;
pub(crate) mod delivery;
pub(crate) mod file;
pub(crate) mod frozen;
pub(crate) mod reminder;
pub(crate) mod resolver;
pub(crate) mod resume;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::cache::Cache;
use crate::diagnostic::DiagnosticCode;
use crate::fs::stored_path;
use crate::profile::{Fallbacks, Profile};
use crate::resolve::decision::Outcome;
use crate::resolve::resolution::{Request, Resolution, ResolveError, resolve};
use crate::session::delivery::{FileRead, Told};
use crate::session::reminder::{Reminder, ReminderFile};
use crate::settings::{AgentsConfig, FileSettings, candidate_names};
use crate::text::content_hash::ContentHash;

/// The format that is written and read.
pub const SCHEMA: u32 = 1;
/// Touched paths that a session remembers.
const MAX_TOUCHED: usize = 1_000;

/// A file version that reached the model: what the next look at the disk is compared with.
///
/// Its relatives each serve one reader: `InstructionFile` is a file of a resolution, with what was kept of it;
/// `ResolvedFile` the answer of `resolve` in the shape agents know; `ReminderFile` what a model was told, perhaps with the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadedVersion {
    /// Modification time in milliseconds since 1970.
    pub mtime_ms: i64,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 of what was read.
    pub sha256: ContentHash,
    /// The file of a chain that imports it, itself or through others; absent for one that applies by its own place.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub imported_by: Option<PathBuf>,
}

/// How much of a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Whole,
    InPart,
}

impl LoadedVersion {
    /// The directory for whose sake a session has this version of the file at `path`.
    pub(crate) fn directory<'a>(&'a self, path: &'a Path) -> Option<&'a Path> {
        self.imported_by.as_deref().unwrap_or(path).parent()
    }

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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitialChain {
    /// The directory it was made for; sessions of older versions of this program do not say.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub cwd: Option<PathBuf>,
    /// The workspace's directory at that time; none outside of a workspace, and in one without a directory.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub workspace: Option<PathBuf>,
    /// The text; none when nothing applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// SHA-256 of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<ContentHash>,
    /// The files it came from, in the order of their text.
    #[serde(with = "stored_path::list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub files: Vec<PathBuf>,
    /// The versions that the text was made from; sessions of older versions of this program have none.
    #[serde(default, with = "stored_path::map", skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, LoadedVersion>"))]
    pub versions: BTreeMap<PathBuf, LoadedVersion>,
    /// What went otherwise than a reader of the files would think, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FileProblem>,
}

/// Something about a file of the initial text: never its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileProblem {
    /// The file.
    #[serde(with = "stored_path")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// What it is.
    pub code: DiagnosticCode,
}

impl InitialChain {
    /// Whether something of a file was left out for want of room.
    pub fn is_truncated(&self) -> bool {
        let for_room = [DiagnosticCode::Truncated, DiagnosticCode::OverBudget];
        self.findings.iter().any(|problem| for_room.contains(&problem.code))
    }
}

/// The directories whose files a model has. Those of imports are not among them: their own files may be news.
fn covered(versions: &BTreeMap<PathBuf, LoadedVersion>) -> BTreeSet<PathBuf> {
    versions.iter().filter_map(|(path, version)| version.directory(path)).map(PathBuf::from).collect()
}

/// What a model's text hides from somebody who knows the files: cuts, refusals, changed characters.
fn problems(resolution: &Resolution, above: Vec<FileProblem>) -> Vec<FileProblem> {
    let outcomes = resolution.decisions.iter().filter_map(|decision| {
        let code = match decision.outcome {
            Outcome::Truncated => DiagnosticCode::Truncated,
            Outcome::OverBudget => DiagnosticCode::OverBudget,
            Outcome::TooDeep => DiagnosticCode::TooDeep,
            Outcome::NotAFile => DiagnosticCode::NotAFile,
            Outcome::OutsideRoot => DiagnosticCode::OutsideRoot,
            Outcome::Unreadable => DiagnosticCode::Unreadable,
            _ => return None,
        };
        Some(FileProblem { path: decision.path.clone(), code })
    });
    let diagnostics = resolution
        .diagnostics
        .iter()
        .filter_map(|found| Some(FileProblem { path: found.path.clone()?, code: found.code }));
    let all: BTreeSet<FileProblem> = outcomes.chain(diagnostics).chain(above).collect();
    all.into_iter().collect()
}

/// Files that would count if the workspace's directory were further up.
fn above_workspace(request: &Request<'_>) -> Result<Vec<FileProblem>, ResolveError> {
    let settings = request.settings;
    let Some(workspace) = settings.bounds.workspace().filter(|_| settings.enabled()) else {
        return Ok(Vec::new());
    };
    let mut names = candidate_names(settings)?;
    names.extend(settings.profile.added.iter().map(|name| (*name).to_owned()));
    let above = workspace.ancestors().skip(1);
    let paths = above.flat_map(|directory| names.iter().map(|name| directory.join(name)));
    let found = paths.filter(|path| path.is_file());
    Ok(found.map(|path| FileProblem { path, code: DiagnosticCode::AboveRoot }).collect())
}

/// The settings that a session goes on with, whatever is set later; how files are delivered is not among them.
fn frozen_settings(settings: &FileSettings) -> AgentsConfig {
    let AgentsConfig { fallback_filenames, follow_external_links, imports, initial, .. } =
        settings.agents.clone();
    AgentsConfig {
        fallback_filenames: fallback_filenames
            .filter(|_| settings.profile.fallbacks != Fallbacks::Unsupported),
        follow_external_links: follow_external_links.filter(|follow| *follow),
        imports: imports.filter(|imports| !*imports && settings.profile.imports.is_some()),
        initial,
        ..AgentsConfig::default()
    }
}

/// Reads a session's settings. Older versions of this program wrote four of them side by side, in snake case.
fn stored_settings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AgentsConfig, D::Error> {
    struct Settings;

    impl<'de> Visitor<'de> for Settings {
        type Value = AgentsConfig;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a session's settings")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentsConfig, A::Error> {
            let mut settings = AgentsConfig::default();
            while let Some(key) = map.next_key::<String>()? {
                match key.as_str() {
                    "fallbackFilenames" | "fallback_filenames" => {
                        settings.fallback_filenames = map.next_value()?;
                    }
                    "followExternalLinks" | "follow_external_links" => {
                        settings.follow_external_links = map.next_value()?;
                    }
                    "imports" => settings.imports = map.next_value()?,
                    "initial" => settings.initial = map.next_value()?,
                    "max_bytes" => settings.initial.max_bytes = map.next_value()?,
                    "max_files" => settings.initial.max_files = map.next_value()?,
                    _ => {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(settings)
        }
    }

    deserializer.deserialize_map(Settings)
}

/// What a session remembers. Serialises to JSON and survives a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// The format.
    pub schema: u32,
    /// Name of the rules.
    pub profile: String,
    /// The working directory.
    #[serde(with = "stored_path")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cwd: PathBuf,
    /// The project root; none when only the working directory counts.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub root: Option<PathBuf>,
    /// The markers that were looked for.
    pub markers: Vec<String>,
    /// Settings that decide what applies, as far as they were given at the start.
    #[serde(default, deserialize_with = "stored_settings", skip_serializing_if = "AgentsConfig::is_empty")]
    pub settings: AgentsConfig,
    /// The frozen start.
    pub initial: InitialChain,
    /// Directories whose files the model has.
    #[serde(with = "stored_path::list")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeSet<String>"))]
    pub covered_dirs: BTreeSet<PathBuf>,
    /// What the model has of each file.
    #[serde(with = "stored_path::map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, LoadedVersion>"))]
    pub loaded_versions: BTreeMap<PathBuf, LoadedVersion>,
    /// Those of these files that the model was only pointed to: their text has not been in a request. Sessions of older
    /// versions of this program have none.
    #[serde(default, with = "stored_path::list", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeSet<String>"))]
    pub announced: BTreeSet<PathBuf>,
    /// Files and directories that calls have touched, the first of very many: what is for paths looks at them.
    #[serde(default, with = "stored_path::list", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeSet<String>"))]
    pub touched: BTreeSet<PathBuf>,
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
        let versions: BTreeMap<PathBuf, LoadedVersion> =
            loaded.iter().map(|file| (file.path.clone(), file.version())).collect();
        let session = Self {
            schema: SCHEMA,
            profile: resolution.profile.to_owned(),
            cwd: resolution.cwd.clone(),
            root: resolution.root.clone(),
            markers: resolution.markers.clone(),
            settings: frozen_settings(request.settings),
            initial: InitialChain {
                cwd: Some(resolution.cwd.clone()),
                workspace: request.settings.bounds.workspace().map(Path::to_owned),
                text: resolution.text.clone(),
                sha256: resolution.text.as_ref().map(ContentHash::of),
                files: resolution.files.iter().map(|file| file.path.clone()).collect(),
                versions: versions.clone(),
                findings: problems(&resolution, above_workspace(request)?),
            },
            covered_dirs: covered(&versions),
            loaded_versions: versions,
            announced: BTreeSet::new(),
            touched: BTreeSet::new(),
        };
        Ok((session, resolution))
    }

    /// Remembers paths that calls have touched. They never become fewer: what once applied to a session goes on to apply,
    /// and a prompt does not change to and fro.
    pub fn touch(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if self.touched.len() >= MAX_TOUCHED {
                return;
            }
            self.touched.insert(path);
        }
    }

    /// Takes for told only what the model still has before it: the frozen start, and what messages tell, in their order.
    /// What has left the request counts as undelivered again, a change of the working directory too, and what has come
    /// back into it as delivered.
    pub fn keep_delivered<'a>(&mut self, told: impl IntoIterator<Item = Told<'a>>) {
        let known = std::mem::take(&mut self.loaded_versions);
        let known_cwd = self.cwd.clone();
        // The frozen start says where the session began. Sessions of older versions of this program do not.
        if let Some(cwd) = &self.initial.cwd {
            self.cwd.clone_from(cwd);
        }
        self.announced.clear();
        self.loaded_versions = if self.initial.versions.is_empty() {
            let initial = known.iter().filter(|(path, _)| self.initial.files.contains(path));
            initial.map(|(path, version)| (path.clone(), version.clone())).collect()
        } else {
            self.initial.versions.clone()
        };
        for told in told {
            let (files, removed) = match told {
                Told::Reminder(Reminder::AgentsResolvePaths { files, removed }) => (files, removed),
                Told::Reminder(Reminder::SessionResumeDiff { cwd: (_, now), files, removed, .. }) => {
                    // A path that is not UTF-8 is told as far as it can be shown.
                    let is_known = known_cwd.to_string_lossy() == now.as_str();
                    self.cwd = if is_known { known_cwd.clone() } else { PathBuf::from(now) };
                    (files, removed)
                }
                Told::Reminder(_) => continue,
                Told::Read(FileRead { path, sha256, version }) => {
                    let remembered = || known.get(path).filter(|version| version.sha256 == *sha256).cloned();
                    if let Some(version) = version.clone().or_else(remembered) {
                        self.note_delivered(path.clone(), version);
                    }
                    continue;
                }
            };
            for file in files {
                // Reminders of older versions of this program do not say enough; of a file that they name only the
                // newest version is remembered, and an older one is out of date anyway.
                let remembered = || known.get(&file.path).filter(|it| it.mtime_ms == file.mtime_ms).cloned();
                match file.version().or_else(remembered) {
                    Some(version) => self.note_told(file, version),
                    None => self.forget(&file.path),
                }
            }
            removed.iter().for_each(|path| self.forget(path));
        }
        self.covered_dirs = covered(&self.loaded_versions);
    }

    /// A reminder told of a file, with its text or without.
    pub(crate) fn note_told(&mut self, file: &ReminderFile, version: LoadedVersion) {
        let has_text = self.loaded_versions.get(&file.path).is_some_and(|had| had.sha256 == version.sha256)
            && !self.announced.contains(&file.path);
        self.note_delivered(file.path.clone(), version);
        // A pointer takes nothing away from a text that is in the request already.
        if file.block.is_none() && !has_text {
            self.announced.insert(file.path.clone());
        }
    }

    /// The text of a file is in the request.
    pub(crate) fn note_delivered(&mut self, path: PathBuf, version: LoadedVersion) {
        self.announced.remove(&path);
        self.covered_dirs.extend(version.directory(&path).map(PathBuf::from));
        self.loaded_versions.insert(path, version);
    }

    /// A file no longer applies.
    pub(crate) fn forget(&mut self, path: &Path) {
        self.announced.remove(path);
        self.loaded_versions.remove(path);
    }

    /// Settings in which the session's own rules and settings hold. A session of a profile that is gone goes on with the
    /// given one.
    pub fn settings_over(&self, mut settings: FileSettings) -> FileSettings {
        settings.profile = Profile::find(&self.profile).unwrap_or(settings.profile);
        settings.agents.merge(&self.settings);
        settings
    }

    /// The directory that bounds the session.
    pub(crate) fn top(&self) -> &Path {
        self.root.as_deref().unwrap_or(&self.cwd)
    }
}
