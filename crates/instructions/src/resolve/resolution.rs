//! What an agent started in a directory gets, and what became of every file that was considered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::cache::{Cache, CacheEvidence};
use crate::diagnostic::Diagnostic;
use crate::fs::path;
use crate::profile::{FOREWORD, Links, OnReading};
use crate::resolve::chain::{Chain, Survey};
use crate::resolve::decision::Decision;
use crate::resolve::nested::Moment;
use crate::resolve::render::Block;
use crate::session::FileVersion;
use crate::settings::file::{self as settings_file, SettingsFileError};
use crate::settings::json::{self, FromSettings, NamedFiles};
use crate::settings::{FileSettings, LinkBounds, ProjectBounds, SettingsError};
use crate::text::content_hash::ContentHash;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// In which directory; absolute, without dots.
    pub cwd: &'a Path,
    /// By which rules and settings.
    pub settings: &'a FileSettings,
}

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileScope {
    /// The user's own directory.
    Home,
    /// The project.
    Project,
    /// Named by another file.
    Import,
    /// Either, where its `applies_to` matches.
    Rule,
}

/// A file whose text is there, at least in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstructionFile {
    /// The path it was found by.
    #[serde(serialize_with = "path::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Where it comes from.
    pub scope: FileScope,
    /// Its size.
    pub bytes: u64,
    /// How much of it is there.
    pub kept_bytes: u64,
    /// SHA-256 of what was read of it.
    pub sha256: ContentHash,
    /// Modification time in milliseconds since 1970.
    pub mtime_ms: i64,
    /// Whether something is missing.
    pub truncated: bool,
    /// Its part of the text, for whoever counts tokens.
    #[serde(skip)]
    pub text: String,
    /// How many lines are before that part in the file.
    #[serde(skip)]
    pub lines_before: u64,
    /// Whether it counts towards the limit: what is in the user's own directory does not.
    #[serde(skip)]
    pub limited: bool,
    /// The file of the chain, or the rule, that imports it, itself or through others.
    #[serde(skip)]
    pub imported_by: Option<PathBuf>,
}

impl InstructionFile {
    /// The version that was read.
    pub(crate) fn version(&self) -> FileVersion {
        FileVersion {
            mtime_ms: self.mtime_ms,
            bytes: self.bytes,
            sha256: self.sha256.clone(),
            imported_by: self.imported_by.clone(),
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// By which rules.
    pub profile: &'static str,
    /// For which directory.
    #[serde(serialize_with = "path::serialize")]
    pub cwd: PathBuf,
    /// The project root; none when only the working directory counts.
    #[serde(serialize_with = "path::serialize_option")]
    pub root: Option<PathBuf>,
    /// Why that is the root.
    #[serde(skip)]
    pub root_reason: String,
    /// The markers that were looked for.
    #[serde(skip)]
    pub markers: Vec<String>,
    /// The directories that were looked at, root first.
    #[serde(skip)]
    pub directories: Vec<PathBuf>,
    /// How many bytes of project files are read at most.
    #[serde(skip)]
    pub limit_bytes: u64,
    /// Why no project file is read, where settings say so.
    #[serde(skip)]
    pub switched_off: Option<String>,
    /// The files whose text is there, in its order.
    pub files: Vec<InstructionFile>,
    /// What became of every candidate, in the order they were considered.
    pub decisions: Vec<Decision>,
    /// Problems that were found on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// The text in pieces.
    pub blocks: Vec<Block>,
    /// The whole text; none when nothing applies.
    pub text: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The directory does not exist, or cannot be entered.
    #[error("cannot look into {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
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

/// What an agent gets. With a cache, what has not changed is not read again.
pub fn resolve(request: &Request<'_>, cache: Option<&Cache>) -> Result<Arc<Resolution>, ResolveError> {
    if let Some(answer) = cache.and_then(|cache| cache.answer(request)) {
        return Ok(answer);
    }
    let effective = effective(request)?;
    let (resolution, evidence) =
        Chain::load(&effective.borrow(request), cache, Survey::Needed, Moment::Start)?;
    let resolution = Arc::new(resolution);
    if let Some(cache) = cache
        && let Some(evidence) = evidence.join(effective.evidence)
    {
        cache.keep(request, evidence, &resolution);
    }
    Ok(resolution)
}

/// What an agent gets, with a decision about everything that could be meant for one: shadowed names, other
/// agents' files, other letter cases, files above the root.
pub fn survey(request: &Request<'_>) -> Result<Resolution, ResolveError> {
    Ok(Chain::load(&effective(request)?.borrow(request), None, Survey::Everything, Moment::Start)?.0)
}

/// The same for work on a file in the directory, or one that is about to be made there: rules of our own that match it apply.
pub fn survey_for(request: &Request<'_>, file: &Path) -> Result<Resolution, ResolveError> {
    let moment = Moment::StartFor { file };
    Ok(Chain::load(&effective(request)?.borrow(request), None, Survey::Everything, moment)?.0)
}

/// What a tool that reads a file brings in besides what was there at the start, with a decision about everything on the way
/// that could be meant for an agent. None for agents that bring nothing in, and for those whose sessions do: ask a
/// [`Resolver`](crate::Resolver).
pub fn survey_reading(request: &Request<'_>, file: &Path) -> Result<Option<Resolution>, ResolveError> {
    let OnReading::Nested(nested) = request.settings.profile.session.on_reading else { return Ok(None) };
    let moment = Moment::Reading { file, nested };
    let effective = effective(request)?;
    Ok(Some(Chain::load(&effective.borrow(request), None, Survey::Everything, moment)?.0))
}

/// Names of instruction files that the agent's own settings list in a directory. None where the agent would not start.
pub fn configured_names(request: &Request<'_>) -> Vec<String> {
    let named = effective(request).ok().and_then(|effective| effective.from_settings.named);
    named.map_or_else(Vec::new, |named| named.names)
}

/// Settings that include what the agent's own file says.
pub(crate) struct Effective {
    settings: FileSettings,
    from_settings: FromSettings,
    evidence: CacheEvidence,
}

impl Effective {
    pub(crate) fn borrow<'a>(&'a self, request: &Request<'a>) -> EffectiveRequest<'a> {
        EffectiveRequest {
            request: Request { settings: &self.settings, ..*request },
            distrusted: self.from_settings.distrusted.as_deref(),
            named: self.from_settings.named.as_ref(),
            notes: &self.from_settings.notes,
        }
    }
}

/// A request with the agent's own settings in it.
pub(crate) struct EffectiveRequest<'a> {
    pub(crate) request: Request<'a>,
    /// Why project files are not read, if the agent does not trust the project.
    pub(crate) distrusted: Option<&'a str>,
    /// Names that the agent's settings list.
    pub(crate) named: Option<&'a NamedFiles>,
    /// What of those settings is not followed.
    pub(crate) notes: &'a [Diagnostic],
}

/// The nearest directory with a mark of a project, or the directory itself.
fn project_around(cwd: &Path) -> &Path {
    let is_marked = |directory: &&Path| {
        FOREWORD.search.markers.iter().any(|marker| directory.join(marker.name()).symlink_metadata().is_ok())
    };
    cwd.ancestors().find(is_marked).unwrap_or(cwd)
}

pub(crate) fn effective(request: &Request<'_>) -> Result<Effective, ResolveError> {
    let mut settings = request.settings.clone();
    let mut from_settings = FromSettings::default();
    // Agents that know no root read as far up as they like; a project's choice of one must not.
    if settings.links == LinkBounds::Root
        && settings.profile.search.links == Links::Anywhere
        && settings.bounds == ProjectBounds::None
    {
        settings.bounds = ProjectBounds::Workspace(project_around(request.cwd).to_owned());
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
        // What somebody set for us wins over what the agent's own file says.
        let ours = std::mem::replace(&mut settings.agents, file.agents);
        settings.agents.merge(&ours);
        from_settings.distrusted =
            settings_file::distrust(settings.profile, &file.projects, request.cwd, &mut evidence);
    }
    if let Some(described) = settings.profile.json_settings() {
        // Within the bounds that hold for everything else.
        let bounded = Request { settings: &settings, ..*request };
        let FromSettings { named, notes, distrusted } = json::read(&described, &bounded, &mut evidence)?;
        from_settings =
            FromSettings { named, notes, distrusted: distrusted.or(from_settings.distrusted.take()) };
    }
    Ok(Effective { settings, from_settings, evidence })
}
