//! Resolver of a running session: announces files that newly apply to touched paths, each once.
//!
//! A file counts as announced only after its announcement is confirmed. An announcement can be dropped before
//! it reaches a request, for example when the turn is cancelled.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::diagnostic::Diagnostic;
use crate::fs::path;
use crate::profile::AnnouncedFirst;
use crate::resolve::applicable::{Applicable, ApplicableFiles, applicable};
use crate::resolve::applies_to::Target;
use crate::resolve::budget::nearest_first_order;
use crate::resolve::chain::SWITCHED_OFF;
use crate::resolve::resolution::{Request, ResolveError};
use crate::session::delivery::{
    DeliveredText, DeliveryForm, FileRead, FileReader, InlineBudget, Purpose, delivery_form,
};
use crate::session::reminder::{FileNovelty, Reminder, ReminderFile};
use crate::session::removal::RemovedFile;
use crate::session::resume::ResumeDifference;
use crate::session::{FileVersion, Session};
use crate::settings::FileSettings;

/// A running session. Clones share its state and may resolve concurrently.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<Shared>,
    reader: FileReader,
}

struct Shared {
    settings: FileSettings,
    cache: Arc<Cache>,
    state: Mutex<State>,
}

struct State {
    session: Session,
    /// Files in announcements that are not confirmed yet.
    // Concurrent calls of one round touch the same directories. Without this map each of them would bring the
    // same texts.
    pending: HashMap<PathBuf, PendingAnnouncement>,
}

/// A file in an announcement that is not confirmed yet.
struct PendingAnnouncement {
    /// Announced version; `None` for a removal.
    version: Option<FileVersion>,
    /// True if the announcement contains the text.
    inline: bool,
}

/// Files that newly apply to a path, in the format of the public schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResolvedAgents {
    /// New or changed files.
    pub files: Vec<ResolvedFile>,
}

/// A file in the result of `resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolvedFile {
    /// Path of the file.
    #[serde(serialize_with = "path::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Modification time in milliseconds since 1970.
    pub mtime_ms: i64,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl ResolvedFile {
    pub(crate) fn new(path: &Path, version: &FileVersion) -> Self {
        Self { path: path.to_owned(), mtime_ms: version.mtime_ms, size_bytes: version.bytes }
    }
}

/// Reason why no files were resolved for a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Resolution is disabled by settings.
    SwitchedOff {
        /// The setting.
        reason: String,
    },
    /// The path is outside the session's project.
    OutsideRoot {
        /// The path.
        path: PathBuf,
        /// Root of the project.
        root: PathBuf,
    },
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::SwitchedOff { reason } => formatter.write_str(reason),
            SkipReason::OutsideRoot { path, root } => {
                write!(formatter, "{} is outside the session's root {}", path.display(), root.display())
            }
        }
    }
}

/// Reason shown when the resolver is disabled.
const RESOLVER_OFF: &str = "files are not brought in as an agent moves (agents.resolver.enabled)";

/// Files that newly apply to touched paths. Must be confirmed once its reminder is part of a message; if
/// dropped, the files are announced again.
#[must_use = "what is not confirmed is announced again"]
pub struct Announcement {
    shared: Arc<Shared>,
    files: Vec<(ReminderFile, FileVersion)>,
    removed: Vec<RemovedFile>,
    diagnostics: Vec<Diagnostic>,
    skipped: Vec<SkipReason>,
    left_over: usize,
    /// Applicable files that are part of another unconfirmed announcement.
    pending_elsewhere: Vec<PathBuf>,
    confirmed: bool,
}

impl Resolver {
    /// Continues a session. Its profile and frozen settings replace those in `settings`.
    pub fn new(session: Session, settings: FileSettings, cache: Arc<Cache>) -> Self {
        // The settings may come from a newer configuration than the session. The values frozen at its start take
        // precedence.
        let settings = session.overlay_on(settings);
        let state = Mutex::new(State { session, pending: HashMap::new() });
        Self { shared: Arc::new(Shared { settings, cache, state }), reader: FileReader::Present }
    }

    /// Sets whether the model can read announced files.
    #[must_use]
    pub fn with_reader(mut self, reader: FileReader) -> Self {
        self.reader = reader;
        self
    }

    /// Returns a snapshot of the session.
    pub fn session(&self) -> Session {
        self.shared.lock().session.clone()
    }

    /// Returns the files that newly apply to a path that a tool is about to touch.
    pub fn resolve(&self, target: &Path) -> Result<Announcement, ResolveError> {
        self.resolve_all([target])
    }

    /// Returns the files that newly apply to any of several paths.
    pub fn resolve_all<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Announcement, ResolveError> {
        self.resolve_for(targets, Purpose::Read, &mut InlineBudget::default())
    }

    /// Returns the files to announce before any of several paths is accessed. `budget` belongs to the message
    /// that will carry the reminder.
    pub fn resolve_for<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a Path>,
        purpose: Purpose,
        budget: &mut InlineBudget,
    ) -> Result<Announcement, ResolveError> {
        let shared = &self.shared;
        let (cwd, top) = {
            let state = shared.lock();
            (state.session.cwd.clone(), state.session.top().to_owned())
        };
        let mut announcement = Announcement::empty(Arc::clone(shared));
        let off = match (shared.settings.enabled(), shared.settings.resolver_enabled()) {
            (false, _) => Some(SWITCHED_OFF),
            (_, false) => Some(RESOLVER_OFF),
            _ => None,
        };
        if let Some(reason) = off {
            announcement.skipped.push(SkipReason::SwitchedOff { reason: reason.to_owned() });
            return Ok(announcement);
        }
        let mut applying = ApplicableFiles::default();
        let mut directories: Vec<PathBuf> = Vec::new();
        let mut touched: HashSet<PathBuf> = HashSet::new();
        for target in targets {
            let target = path::normalise(target, &cwd);
            touched.insert(target.clone());
            let directory = directory_of(&target);
            // A path outside is not an error: agents may read such files, but no instructions of the project apply
            // there.
            if !directory.starts_with(&top) {
                let outside = SkipReason::OutsideRoot { path: target, root: top.clone() };
                announcement.skipped.push(outside);
                continue;
            }
            let request = Request { cwd: directory, settings: &shared.settings };
            let is_directory = directory == target;
            let touched = if is_directory { Target::Directory(&target) } else { Target::File(&target) };
            let found = applicable(&request, &top, directory, touched, Some(&shared.cache))?;
            applying.files.extend(found.files);
            applying.dormant.extend(found.dormant);
            applying.dormant_imports.extend(found.dormant_imports);
            // Paths below one directory report the same problems.
            for problem in found.diagnostics {
                if !announcement.diagnostics.contains(&problem) {
                    announcement.diagnostics.push(problem);
                }
            }
            let off = found.switched_off.map(|reason| SkipReason::SwitchedOff { reason });
            announcement.skipped.extend(off.filter(|off| !announcement.skipped.contains(off)));
            directories.extend(path::chain(&top, directory));
        }
        let mut seen = HashSet::new();
        applying.files.retain(|file| seen.insert(file.path.clone()));
        let touch = Touch { purpose, paths: &touched, directories: &directories };
        self.announce(&applying, &touch, budget, &mut announcement);
        Ok(announcement)
    }

    /// Records that a tool returned a complete file to the model, which delivers an instruction file. Returns
    /// the file with its version, or `None` if it is not an instruction file.
    pub fn mark_read(&self, read: FileRead) -> Result<Option<FileRead>, ResolveError> {
        let shared = &self.shared;
        let (file, top) = {
            let state = shared.lock();
            (path::normalise(&read.path, &state.session.cwd), state.session.top().to_owned())
        };
        let Some(directory) = file.parent().filter(|directory| directory.starts_with(&top)) else {
            return Ok(None);
        };
        if !shared.settings.enabled() {
            return Ok(None);
        }
        let request = Request { cwd: directory, settings: &shared.settings };
        let applying = applicable(&request, &top, directory, Target::File(&file), Some(&shared.cache))?;
        let found = applying.files.into_iter().chain(applying.dormant).find(|found| found.path == file);
        let mut state = shared.lock();
        // A file imported elsewhere, or a rule that matches elsewhere, is not among the files of its own
        // directory but may be known to the session.
        let known = || state.session.loaded_versions.get(&file).cloned();
        let Some(version) = found.map(|found| found.version).or_else(known) else { return Ok(None) };
        // The tool has read another version than the one on disk now. The newer one still has to be announced.
        if version.sha256 != read.sha256 {
            return Ok(Some(read));
        }
        state.session.record_delivered(file, version.clone());
        Ok(Some(FileRead { version: Some(version), ..read }))
    }

    /// Selects the files that the model neither has nor is about to receive, and marks them as pending.
    // Selection and marking happen under one lock. Between two locks another call could select the same file.
    fn announce(
        &self,
        applying: &ApplicableFiles,
        touch: &Touch<'_>,
        budget: &mut InlineBudget,
        announcement: &mut Announcement,
    ) {
        let shared = &self.shared;
        let settings = &shared.settings;
        let profile = shared.settings.profile;
        let mut state = shared.lock();
        let mut due: Vec<&Applicable> = Vec::new();
        for file in &applying.files {
            let loaded = state.session.loaded_versions.get(&file.path);
            // For a read, a pointer to the file is enough. A write needs the text itself, so a file that was only
            // announced is still due.
            let is_had = match touch.purpose {
                Purpose::Read => !file.differs(loaded, profile),
                Purpose::Write => {
                    !file.differs(loaded, profile) && !state.session.announced.contains(&file.path)
                }
            };
            let in_flight = state.pending.get(&file.path).filter(|request| {
                !file.differs(request.version.as_ref(), profile)
                    && (touch.purpose == Purpose::Read || request.inline)
            });
            match in_flight {
                Some(_) if !is_had => announcement.pending_elsewhere.push(file.path.clone()),
                None if !is_had || self.is_superseded(&state, file) => due.push(file),
                _ => {}
            }
        }
        let limit = usize::try_from(settings.max_files_per_resolve()).unwrap_or(usize::MAX);
        // The limit is applied before texts are read, so that a huge tree costs one small message at a time.
        announcement.left_over = due.len().saturating_sub(limit);
        let mut kept: Vec<usize> = (0..due.len()).collect();
        if profile.session.reminders.first() == AnnouncedFirst::Nearest {
            // Stable, so that of two directories that are equally deep the one that was touched first comes first, and imports
            // stay behind the file that names them.
            let depth = |file: &Applicable| {
                file.version.directory(&file.path).map_or(0, |directory| directory.components().count())
            };
            kept.sort_by_key(|index| std::cmp::Reverse(depth(due[*index])));
        }
        kept.truncate(limit);
        // The reminder lists files in the order of the chain, whatever their order of announcement.
        kept.sort_unstable();
        let due: Vec<&Applicable> = kept.into_iter().map(|index| due[index]).collect();
        let mut shown: Vec<Option<(ReminderFile, FileVersion)>> = due.iter().map(|_| None).collect();
        // Nearest files first: if the budget does not suffice for all texts, the most distant ones are named
        // by path.
        for index in nearest_first_order(due.len(), |index| due[index].version.imported_by.is_some()) {
            let file = due[index];
            let bytes = file.version.bytes;
            let form = match delivery_form(bytes, touch.purpose, self.reader, settings.delivery(), profile) {
                // The call that is about to run returns the text of this file itself.
                DeliveryForm::Text if touch.paths.contains(&file.path) => DeliveryForm::Path,
                form => form,
            };
            let block = match form {
                DeliveryForm::Path => None,
                DeliveryForm::Text | DeliveryForm::TextOnly => {
                    file.block(profile, budget.remaining(), &mut announcement.diagnostics)
                }
            };
            if block.is_none() && form == DeliveryForm::TextOnly {
                announcement.left_over += 1;
                continue;
            }
            budget.spend(block.as_ref().map_or(0, |(_, bytes)| *bytes));
            let novelty = FileNovelty::of(state.session.loaded_versions.get(&file.path));
            let reminder = file.reminder_file(block.map(|(text, _)| text), novelty);
            shown[index] = Some((reminder, file.version.clone()));
        }
        announcement.files = shown.into_iter().flatten().collect();
        let gone = state.session.loaded_versions.iter().filter(|(path, version)| {
            let directory = version.directory(path);
            directory.is_some_and(|directory| touch.directories.iter().any(|known| known == directory))
                && !applying.files.iter().any(|file| &file.path == *path)
                && !applying.is_dormant(path, version)
                && !state.pending.contains_key(*path)
        });
        let top = state.session.top();
        let removed =
            gone.map(|(path, version)| RemovedFile::find(path, version, top, settings, &applying.files));
        announcement.removed = removed.collect();
        for (file, version) in &announcement.files {
            let pending =
                PendingAnnouncement { version: Some(version.clone()), inline: file.block.is_some() };
            state.pending.insert(file.path.clone(), pending);
        }
        for removed in &announcement.removed {
            let pending = PendingAnnouncement { version: None, inline: false };
            state.pending.insert(removed.path.clone(), pending);
        }
    }

    /// Returns true if a pending announcement contains an outdated version of a file.
    fn is_superseded(&self, state: &State, file: &Applicable) -> bool {
        let request = state.pending.get(&file.path);
        request.is_some_and(|request| file.differs(request.version.as_ref(), self.shared.settings.profile))
    }

    /// Records that a resume difference was sent in the middle of the session.
    pub fn confirm_difference(&self, difference: ResumeDifference) {
        difference.confirm(&mut self.shared.lock().session);
    }

    /// Rebuilds the session from the texts that are still in the request. See [`Session::retain_delivered`].
    pub fn retain_delivered<'a>(&self, delivered: impl IntoIterator<Item = DeliveredText<'a>>) {
        self.shared.lock().session.retain_delivered(delivered);
    }
}

/// Paths that a call is about to touch.
struct Touch<'a> {
    purpose: Purpose,
    paths: &'a HashSet<PathBuf>,
    /// Directories of the paths, with their ancestors up to the root.
    directories: &'a [PathBuf],
}

/// Returns the directory whose files apply to a target, which need not exist.
fn directory_of(target: &Path) -> &Path {
    let mut at = target;
    loop {
        let above = at.parent().unwrap_or(at);
        match at.metadata() {
            Ok(metadata) if metadata.is_dir() => return at,
            // A parent of the target is a file, so the nearest directory is further up.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory && above != at => at = above,
            _ => return above,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Announcement {
    fn empty(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            files: Vec::new(),
            removed: Vec::new(),
            diagnostics: Vec::new(),
            skipped: Vec::new(),
            left_over: 0,
            pending_elsewhere: Vec::new(),
            confirmed: false,
        }
    }

    /// Returns true if nothing has to be announced.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.removed.is_empty()
    }

    /// Returns the new or changed files.
    pub fn resolved(&self) -> ResolvedAgents {
        let files = self.files.iter().map(|(file, version)| ResolvedFile::new(&file.path, version));
        ResolvedAgents { files: files.collect() }
    }

    /// Returns the files that no longer apply.
    pub fn removed(&self) -> Vec<PathBuf> {
        self.removed.iter().map(|removed| removed.path.clone()).collect()
    }

    /// Returns problems met during the resolution.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the reasons for paths that were not resolved.
    pub fn skipped(&self) -> &[SkipReason] {
        &self.skipped
    }

    /// Returns the number of files beyond the limit of one announcement. The next one contains them.
    pub fn left_over(&self) -> usize {
        self.left_over
    }

    /// Returns true if applicable files have not reached the model yet: files of this announcement, files
    /// beyond its limit, and files of other pending announcements. Writes must wait for them.
    pub fn blocks_write(&self) -> bool {
        !self.files.is_empty() || self.left_over > 0 || !self.pending_elsewhere.is_empty()
    }

    /// Returns the reminder for the model, or `None` if nothing has to be announced.
    pub fn reminder(&self) -> Option<Reminder> {
        (!self.is_empty()).then(|| Reminder::AgentsResolvePaths {
            files: self.files.iter().map(|(file, _)| file.clone()).collect(),
            removed: self.removed.clone(),
            wording: self.shared.settings.profile.session.reminders.wording(),
        })
    }

    /// Records that the reminder is part of a message.
    pub fn confirm(mut self) {
        let mut state = self.shared.lock();
        for (file, version) in &self.files {
            state.pending.remove(&file.path);
            state.session.record_reminder(file, version.clone());
        }
        for RemovedFile { path, .. } in &self.removed {
            state.pending.remove(path);
            state.session.remove(path);
        }
        drop(state);
        self.confirmed = true;
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        if self.confirmed {
            return;
        }
        let mut state = self.shared.lock();
        let removed = self.removed.iter().map(|removed| &removed.path);
        for path in self.files.iter().map(|(file, _)| &file.path).chain(removed) {
            state.pending.remove(path);
        }
    }
}
