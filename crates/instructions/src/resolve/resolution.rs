//! The public result of a resolution, and the functions that compute one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::cache::{Cache, CacheEvidence};
use crate::diagnostic::Diagnostic;
use crate::fs::path;
use crate::fs::source::FileSource;
use crate::profile::{CwdSpelling, FOREWORD, Links, OnReading};
use crate::resolve::chain::{Chain, Survey};
use crate::resolve::decision::Decision;
use crate::resolve::nested::LoadPhase;
use crate::resolve::render::Block;
use crate::session::FileVersion;
use crate::settings::file::{self as settings_file, SettingsFileError};
use crate::settings::json::{self, FromSettings, NamedFiles};
use crate::settings::{FileSettings, LinkBounds, ProjectBounds, SettingsError};
use crate::text::content_hash::ContentHash;

/// Input of a resolution.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Working directory; absolute, without dots.
    pub cwd: &'a Path,
    /// Profile and settings.
    pub settings: &'a FileSettings,
}

/// Origin of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileScope {
    /// The user's own directory.
    Home,
    /// The project.
    Project,
    /// An import of another file.
    Import,
    /// A rule, of the user or of the project, whose condition is met.
    Rule,
}

/// A file that is included, in full or truncated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstructionFile {
    /// Path under which it was found.
    #[serde(serialize_with = "path::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Origin.
    pub scope: FileScope,
    /// Size in bytes.
    pub bytes: u64,
    /// Bytes that are included.
    pub kept_bytes: u64,
    /// SHA-256 of the bytes that were read.
    pub sha256: ContentHash,
    /// Modification time in milliseconds since 1970.
    pub mtime_ms: i64,
    /// Some of it is missing.
    pub truncated: bool,
    /// Its part of the text, for counting tokens.
    #[serde(skip)]
    pub text: String,
    /// Number of lines before that part in the file.
    #[serde(skip)]
    pub lines_before: u64,
    /// It counts towards the limit. The user's own files do not.
    #[serde(skip)]
    pub limited: bool,
    /// The file of the chain, or the rule, that imports it, directly or through others.
    #[serde(skip)]
    pub imported_by: Option<PathBuf>,
}

impl InstructionFile {
    /// Returns the version that was read.
    pub(crate) fn version(&self) -> FileVersion {
        FileVersion {
            mtime_ms: self.mtime_ms,
            bytes: self.bytes,
            sha256: self.sha256.clone(),
            imported_by: self.imported_by.clone(),
        }
    }
}

/// Result of a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// Name of the profile.
    pub profile: &'static str,
    /// Working directory.
    #[serde(serialize_with = "path::serialize")]
    pub cwd: PathBuf,
    /// The project root. `None` if only the working directory counts.
    #[serde(serialize_with = "path::serialize_option")]
    pub root: Option<PathBuf>,
    /// Reason for the root.
    #[serde(skip)]
    pub root_reason: String,
    /// True if the root is a workspace's directory because no directory has a marker. Outside a workspace, another root or none
    /// would count.
    #[serde(skip)]
    pub root_is_fallback: bool,
    /// Markers that were searched.
    #[serde(skip)]
    pub markers: Vec<String>,
    /// Directories that were searched, root first.
    #[serde(skip)]
    pub directories: Vec<PathBuf>,
    /// Maximum bytes of project files.
    #[serde(skip)]
    pub limit_bytes: u64,
    /// Reason if project files were skipped.
    #[serde(skip)]
    pub switched_off: Option<String>,
    /// Included files, in the order of the text.
    pub files: Vec<InstructionFile>,
    /// Decisions about all candidates, in the order in which they were considered.
    pub decisions: Vec<Decision>,
    /// Problems found on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// The text in blocks.
    pub blocks: Vec<Block>,
    /// The whole text. `None` if nothing applies.
    pub text: Option<String>,
}

/// Error of a resolution.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The directory does not exist or cannot be entered.
    #[error("cannot look into {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// It is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The settings contradict themselves or the directory.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The agent's own settings file is broken, so the agent itself would not start.
    #[error(transparent)]
    SettingsFile(#[from] SettingsFileError),
}

/// Returns the text that an agent gets in a directory. With a cache, unchanged files are not read again.
pub fn resolve(request: &Request<'_>, cache: Option<&Cache>) -> Result<Arc<Resolution>, ResolveError> {
    let cache = cache.filter(|_| request.settings.source.snapshot().is_none());
    if let Some(answer) = cache.and_then(|cache| cache.answer(request)) {
        return Ok(answer);
    }
    let effective = effective(request)?;
    let (resolution, evidence) =
        Chain::load(&effective.borrow(request), cache, Survey::Needed, LoadPhase::Start)?;
    let resolution = Arc::new(resolution);
    if let Some(cache) = cache
        && let Some(evidence) = evidence.join(effective.evidence)
    {
        cache.keep(request, evidence, &resolution);
    }
    Ok(resolution)
}

/// Resolves with a decision about every file that could be meant for an agent: shadowed names, other agents' files,
/// other letter cases, files above the root.
pub fn survey(request: &Request<'_>) -> Result<Resolution, ResolveError> {
    Ok(Chain::load(&effective(request)?.borrow(request), None, Survey::Everything, LoadPhase::Start)?.0)
}

/// Like [`survey`], for work on an existing or new file in the directory: our own rules that match it apply.
pub fn survey_for(request: &Request<'_>, file: &Path) -> Result<Resolution, ResolveError> {
    let moment = LoadPhase::StartFor { file };
    Ok(Chain::load(&effective(request)?.borrow(request), None, Survey::Everything, moment)?.0)
}

/// Returns the files that are loaded when a tool reads `file`, with a decision about every candidate on the way.
/// `None` for agents that load nothing then, and for those whose sessions do; use a [`Resolver`](crate::Resolver)
/// for these.
pub fn survey_reading(request: &Request<'_>, file: &Path) -> Result<Option<Resolution>, ResolveError> {
    let OnReading::Nested(nested) = request.settings.profile.session.on_reading else { return Ok(None) };
    let moment = LoadPhase::Reading { file, nested };
    let effective = effective(request)?;
    Ok(Some(Chain::load(&effective.borrow(request), None, Survey::Everything, moment)?.0))
}

/// Returns the names of instruction files that the agent's own settings list in a directory. Empty if the agent
/// would not start.
pub fn configured_names(request: &Request<'_>) -> Vec<String> {
    let named = effective(request).ok().and_then(|effective| effective.from_settings.named);
    named.map_or_else(Vec::new, |named| named.names)
}

/// Settings merged with the agent's own settings files.
pub(crate) struct Effective {
    /// Directory in which the agent searches, if it mistakes the working directory for another one.
    cwd: Option<PathBuf>,
    settings: FileSettings,
    from_settings: FromSettings,
    evidence: CacheEvidence,
}

impl Effective {
    pub(crate) fn borrow<'a>(&'a self, request: &Request<'a>) -> EffectiveRequest<'a> {
        EffectiveRequest {
            request: Request { cwd: self.cwd.as_deref().unwrap_or(request.cwd), settings: &self.settings },
            started_in: request.cwd,
            distrusted: self.from_settings.distrusted.as_deref(),
            named: self.from_settings.named.as_ref(),
            notes: &self.from_settings.notes,
        }
    }
}

/// A request merged with the agent's own settings.
pub(crate) struct EffectiveRequest<'a> {
    pub(crate) request: Request<'a>,
    /// The working directory.
    pub(crate) started_in: &'a Path,
    /// Reason if the agent does not trust the project, whose files are then not read.
    pub(crate) distrusted: Option<&'a str>,
    /// Names from the agent's settings.
    pub(crate) named: Option<&'a NamedFiles>,
    /// Warnings about settings that are not followed.
    pub(crate) notes: &'a [Diagnostic],
}

/// Returns the nearest directory with a marker of ours, or the directory itself.
fn project_around<'a>(cwd: &'a Path, source: &FileSource) -> &'a Path {
    let is_marked = |directory: &&Path| {
        FOREWORD.search.markers.iter().any(|marker| source.has_entry(&directory.join(marker.name())))
    };
    cwd.ancestors().find(is_marked).unwrap_or(cwd)
}

pub(crate) fn effective(request: &Request<'_>) -> Result<Effective, ResolveError> {
    let mut settings = request.settings.clone();
    let mut from_settings = FromSettings::default();
    // An agent without a root reads up to the file system's root. If a project chose that profile, the search must
    // stay in the project, or a cloned repository could include files from outside.
    if settings.links == LinkBounds::Root
        && settings.profile.search.links == Links::Anywhere
        && settings.bounds == ProjectBounds::None
    {
        settings.bounds = ProjectBounds::Workspace(project_around(request.cwd, &settings.source).to_owned());
    }
    let mut evidence = CacheEvidence::default();
    if let Some(file) = settings.profile.settings_file()
        && let Some(home) = settings.homes.of(settings.profile)
    {
        let (agent, described) = (settings.profile, file);
        let mut file = settings_file::read(agent, &described, home, &mut evidence)?;
        if file.has_trusted_projects() {
            settings_file::read_in_project(&mut file, agent, &described, home, request, &mut evidence)?;
        }
        // Settings of ours take precedence over the agent's own file.
        let ours = std::mem::replace(&mut settings.agents, file.agents);
        settings.agents.merge(&ours);
        from_settings.distrusted =
            settings_file::distrust(settings.profile, &file.projects, request, &mut evidence);
    }
    if let Some(described) = settings.profile.json_settings() {
        // Settings files obey the same bounds as instruction files.
        let bounded = Request { settings: &settings, ..*request };
        let FromSettings { named, notes, distrusted } = json::read(&described, &bounded, &mut evidence)?;
        from_settings =
            FromSettings { named, notes, distrusted: distrusted.or(from_settings.distrusted.take()) };
    }
    let cwd = match settings.profile.search.cwd {
        CwdSpelling::AsIs => None,
        // A decoded path may lead out of a workspace, whose bounds hold for every agent.
        CwdSpelling::PercentDecoded => path::percent_decoded(request.cwd)
            .filter(|cwd| settings.bounds.workspace().is_none_or(|workspace| cwd.starts_with(workspace))),
    };
    Ok(Effective { cwd, settings, from_settings, evidence })
}
