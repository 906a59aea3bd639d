//! One agent run in one working directory: its frozen start, and the file versions it has seen.

pub(crate) mod cleanup;
pub(crate) mod delivery;
pub(crate) mod file;
pub(crate) mod frozen;
pub(crate) mod reminder;
pub(crate) mod removal;
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
use crate::profile::{Fallbacks, NameRole, Profile};
use crate::resolve::decision::Outcome;
use crate::resolve::resolution::{Request, Resolution, ResolveError, resolve};
use crate::session::delivery::{DeliveredText, FileRead};
use crate::session::reminder::{Reminder, ReminderFile};
use crate::settings::{AgentsConfig, FileSettings, candidate_names};
use crate::text::content_hash::ContentHash;

/// Version of the session format.
pub const SCHEMA: u32 = 1;
/// Most touched paths kept in a session.
// A session is stored after every turn. The limit keeps one that touches a whole repository from growing
// without end.
const MAX_TOUCHED: usize = 1_000;

/// Version of an instruction file that reached the model, for comparison with the disk.
///
/// A map keys it by path. Three types repeat some of its fields because their formats are fixed elsewhere:
/// `InstructionFile` (result of a resolution, with the kept part), `ResolvedFile` (public schema of
/// `resolve`), and `ReminderFile` (stored reminder, in which older entries lack a version).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileVersion {
    /// Modification time in milliseconds since 1970.
    pub mtime_ms: i64,
    /// Size in bytes.
    // Sessions on disk and in databases name the field `size`.
    #[serde(rename = "size")]
    pub bytes: u64,
    /// SHA-256 of the content that was read.
    pub sha256: ContentHash,
    /// File of a chain that imports it, directly or through others; absent for a file that applies by its own
    /// location.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub imported_by: Option<PathBuf>,
}

/// Extent to which a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Whole,
    InPart,
}

impl FileVersion {
    /// Returns the directory for which the session has this version of the file at `path`.
    pub(crate) fn directory<'a>(&'a self, path: &'a Path) -> Option<&'a Path> {
        self.imported_by.as_deref().unwrap_or(path).parent()
    }

    /// Returns true if the content differs from an earlier version.
    // The hash covers only what was read. Of a file beyond the read limit, a change of the rest shows in size
    // and time alone.
    pub(crate) fn content_differs(&self, earlier: &FileVersion, read: Read) -> bool {
        self.sha256 != earlier.sha256
            || self.bytes != earlier.bytes
            || (read == Read::InPart && self.mtime_ms != earlier.mtime_ms)
    }
}

/// Text that a session started with. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitialChain {
    /// Directory for which it was made; absent in sessions of older versions.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub cwd: Option<PathBuf>,
    /// Directory of the workspace at that time; absent outside a workspace, and in one without a directory.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub workspace: Option<PathBuf>,
    /// The text; absent if no file applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// SHA-256 of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<ContentHash>,
    /// Files of the text, in order.
    #[serde(with = "stored_path::list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub files: Vec<PathBuf>,
    /// Versions of the files; absent in sessions of older versions.
    #[serde(default, with = "stored_path::map", skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, FileVersion>"))]
    pub versions: BTreeMap<PathBuf, FileVersion>,
    /// Problems with the files, each listed once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FileProblem>,
}

/// A problem with a file of the initial text, without content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileProblem {
    /// Path of the file.
    #[serde(with = "stored_path")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Kind of problem.
    pub code: DiagnosticCode,
}

impl InitialChain {
    /// Returns true if a file was cut or dropped because of a limit.
    pub fn is_truncated(&self) -> bool {
        let for_room = [DiagnosticCode::Truncated, DiagnosticCode::OverBudget];
        self.findings.iter().any(|problem| for_room.contains(&problem.code))
    }
}

/// Returns the directories whose files the model has. Directories of imports are not included, because their
/// own files may not have been delivered.
fn covered(versions: &BTreeMap<PathBuf, FileVersion>) -> BTreeSet<PathBuf> {
    versions.iter().filter_map(|(path, version)| version.directory(path)).map(PathBuf::from).collect()
}

/// Collects the problems that make the text differ from the files: cuts, rejected files, changed characters.
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

/// Returns files above the workspace's directory that would otherwise count.
fn files_above_workspace(request: &Request<'_>) -> Result<Vec<FileProblem>, ResolveError> {
    let settings = request.settings;
    let Some(workspace) = settings.bounds.workspace().filter(|_| settings.enabled()) else {
        return Ok(Vec::new());
    };
    // Files above the workspace are reported by name only. Reading them could reveal content that the workspace must
    // not see.
    let mut names = candidate_names(settings)?;
    names.extend(settings.profile.names_with(NameRole::Added).map(str::to_owned));
    let above = workspace.ancestors().skip(1);
    let paths = above.flat_map(|directory| names.iter().map(|name| directory.join(name)));
    let found = paths.filter(|path| path.is_file());
    Ok(found.map(|path| FileProblem { path, code: DiagnosticCode::AboveRoot }).collect())
}

/// Returns the settings that stay in effect for the whole session. Delivery of files is not among them.
// Everything that decides which files apply is frozen. If a later change of configuration took effect in a
// running session, files would appear or vanish without a change on disk.
fn frozen_settings(settings: &FileSettings) -> AgentsConfig {
    let AgentsConfig { fallback_filenames, follow_external_links, imports, initial, .. } =
        settings.agents.clone();
    AgentsConfig {
        fallback_filenames: fallback_filenames
            .filter(|_| settings.profile.choose.fallbacks != Fallbacks::Unsupported),
        follow_external_links: follow_external_links.filter(|follow| *follow),
        imports: imports.filter(|imports| !*imports && settings.profile.imports.is_some()),
        initial,
        ..AgentsConfig::default()
    }
}

/// Reads a session's settings. Older versions wrote four of them as separate fields in snake case.
fn stored_settings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AgentsConfig, D::Error> {
    struct Settings;

    impl<'de> Visitor<'de> for Settings {
        type Value = AgentsConfig;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a session's settings")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentsConfig, A::Error> {
            let mut settings = AgentsConfig::default();
            // Unknown keys are skipped, because a later version may add settings without changing the format.
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

/// State of a session, stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Version of the format.
    pub schema: u32,
    /// Name of the profile.
    pub profile: String,
    /// Working directory.
    #[serde(with = "stored_path")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cwd: PathBuf,
    /// Project root; absent if only the working directory counts.
    #[serde(default, with = "stored_path::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub root: Option<PathBuf>,
    /// Root markers that were searched for.
    pub markers: Vec<String>,
    /// Settings given at the start that decide which files apply.
    #[serde(default, deserialize_with = "stored_settings", skip_serializing_if = "AgentsConfig::is_empty")]
    pub settings: AgentsConfig,
    /// The frozen start.
    pub initial: InitialChain,
    /// Directories whose files the model has.
    #[serde(with = "stored_path::list")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeSet<String>"))]
    pub covered_dirs: BTreeSet<PathBuf>,
    /// Versions of the files that the model knows.
    #[serde(with = "stored_path::map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, FileVersion>"))]
    pub loaded_versions: BTreeMap<PathBuf, FileVersion>,
    /// Known files whose text was never in a request, only their path; absent in sessions of older versions.
    #[serde(default, with = "stored_path::list", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeSet<String>"))]
    pub announced: BTreeSet<PathBuf>,
    /// Files and directories touched by calls, up to a limit, for skills and rules with globs.
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
        // A file of which nothing fit was not delivered. It is announced when the agent touches its
        // directory.
        let loaded: Vec<_> =
            resolution.files.iter().filter(|file| file.kept_bytes > 0 || file.bytes == 0).collect();
        let versions: BTreeMap<PathBuf, FileVersion> =
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
                findings: problems(&resolution, files_above_workspace(request)?),
            },
            covered_dirs: covered(&versions),
            loaded_versions: versions,
            announced: BTreeSet::new(),
            touched: BTreeSet::new(),
        };
        Ok((session, resolution))
    }

    /// Adds paths touched by calls. Paths are never removed, so that a skill or rule that applied once keeps
    /// applying and the prompt does not alternate.
    pub fn touch(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            // Beyond the limit the first paths are kept: skills and rules that apply already must not vanish again.
            if self.touched.len() >= MAX_TOUCHED {
                return;
            }
            self.touched.insert(path);
        }
    }

    /// Rebuilds the known files from the frozen start and the texts that are still in the request, in order.
    /// Files whose messages left the request count as undelivered again, and so does a change of the working
    /// directory.
    // Rebuilt from scratch instead of adjusted: a summary can remove any part of the history, and a turn can
    // be undone, so only what is in the request counts.
    pub fn retain_delivered<'a>(&mut self, delivered: impl IntoIterator<Item = DeliveredText<'a>>) {
        let known = std::mem::take(&mut self.loaded_versions);
        let known_cwd = self.cwd.clone();
        // The frozen start records where the session began, except in sessions of older versions.
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
        for text in delivered {
            let (files, removed) = match text {
                DeliveredText::Reminder(Reminder::AgentsResolvePaths { files, removed, .. }) => {
                    (files, removed)
                }
                DeliveredText::Reminder(Reminder::SessionResumeDiff {
                    cwd: (_, now),
                    files,
                    removed,
                    ..
                }) => {
                    // A reminder contains a lossy form of a path that is not UTF-8. The known path is kept if
                    // it renders the same.
                    let is_known = known_cwd.to_string_lossy() == now.as_str();
                    self.cwd = if is_known { known_cwd.clone() } else { PathBuf::from(now) };
                    (files, removed)
                }
                DeliveredText::Reminder(_) => continue,
                DeliveredText::Read(FileRead { path, sha256, version }) => {
                    let remembered = || known.get(path).filter(|version| version.sha256 == *sha256).cloned();
                    if let Some(version) = version.clone().or_else(remembered) {
                        self.record_delivered(path.clone(), version);
                    }
                    continue;
                }
            };
            for file in files {
                // Reminders of older versions contain no hash. For these only the newest version of a file is
                // known, and an older one is outdated anyway.
                let remembered = || known.get(&file.path).filter(|it| it.mtime_ms == file.mtime_ms).cloned();
                match file.version().or_else(remembered) {
                    Some(version) => self.record_reminder(file, version),
                    None => self.remove(&file.path),
                }
            }
            removed.iter().for_each(|removed| self.remove(&removed.path));
        }
        self.covered_dirs = covered(&self.loaded_versions);
    }

    /// Records a file named in a reminder, with or without its text.
    pub(crate) fn record_reminder(&mut self, file: &ReminderFile, version: FileVersion) {
        let has_text = self.loaded_versions.get(&file.path).is_some_and(|had| had.sha256 == version.sha256)
            && !self.announced.contains(&file.path);
        self.record_delivered(file.path.clone(), version);
        // A pointer does not undo the delivery of a text that is already in the request.
        if file.block.is_none() && !has_text {
            self.announced.insert(file.path.clone());
        }
    }

    /// Records that the text of a file is in the request.
    pub(crate) fn record_delivered(&mut self, path: PathBuf, version: FileVersion) {
        self.announced.remove(&path);
        self.covered_dirs.extend(version.directory(&path).map(PathBuf::from));
        self.loaded_versions.insert(path, version);
    }

    /// Removes a file that no longer applies.
    pub(crate) fn remove(&mut self, path: &Path) {
        self.announced.remove(path);
        self.loaded_versions.remove(path);
    }

    /// Returns `settings` with the session's profile and frozen settings. If the session's profile no longer
    /// exists, the given one stays.
    pub fn overlay_on(&self, mut settings: FileSettings) -> FileSettings {
        settings.profile = Profile::find(&self.profile).unwrap_or(settings.profile);
        settings.agents.merge(&self.settings);
        settings
    }

    /// Returns the directory that bounds the session.
    pub(crate) fn top(&self) -> &Path {
        self.root.as_deref().unwrap_or(&self.cwd)
    }
}
