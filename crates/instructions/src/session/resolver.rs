//! Follows an agent as it moves: says what newly applies to a path, once, and believes that it was said only when
//! that is confirmed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::diagnostic::Diagnostic;
use crate::fs::path;
use crate::resolve::applicable::{Applicable, Applying, applicable};
use crate::resolve::applies_to::Target;
use crate::resolve::budget::nearest_first_order;
use crate::resolve::chain::SWITCHED_OFF;
use crate::resolve::resolution::{Request, ResolveError};
use crate::session::delivery::{FileRead, FileReader, InlineRoom, Purpose, Telling, Told, telling};
use crate::session::reminder::{Reminder, ReminderFile};
use crate::session::resume::ResumeDifference;
use crate::session::{LoadedVersion, Session};
use crate::settings::FileSettings;

/// A running session. Clones share it, and any number of threads may resolve at once.
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
    /// What is being told and not yet confirmed.
    under_way: HashMap<PathBuf, UnderWay>,
}

/// What an answer tells of a file before it is confirmed.
struct UnderWay {
    /// None for a removal.
    version: Option<LoadedVersion>,
    /// Whether its text comes along.
    inline: bool,
}

/// The files that newly apply to a path, as the public schema has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResolvedAgents {
    /// Files that are new or changed.
    pub files: Vec<ResolvedFile>,
}

/// A file of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolvedFile {
    /// The file.
    #[serde(serialize_with = "path::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Modification time in milliseconds since 1970.
    pub mtime_ms: i64,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl ResolvedFile {
    pub(crate) fn new(path: &Path, version: &LoadedVersion) -> Self {
        Self { path: path.to_owned(), mtime_ms: version.mtime_ms, size_bytes: version.size }
    }
}

/// Why files for a path were not looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedOver {
    /// Settings say so.
    SwitchedOff {
        /// Which, in words.
        reason: String,
    },
    /// It is not in the session's project.
    OutsideRoot {
        /// The path.
        path: PathBuf,
        /// Where the project begins.
        root: PathBuf,
    },
}

impl fmt::Display for PassedOver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PassedOver::SwitchedOff { reason } => formatter.write_str(reason),
            PassedOver::OutsideRoot { path, root } => {
                write!(formatter, "{} is outside the session's root {}", path.display(), root.display())
            }
        }
    }
}

/// Why nothing is brought in when settings say so.
const RESOLVER_OFF: &str = "files are not brought in as an agent moves (agents.resolver.enabled)";

/// What newly applies to a path. Confirm it when it has reached a message; dropped unconfirmed, it is said again.
#[must_use = "what is not confirmed is announced again"]
pub struct Announcement {
    shared: Arc<Shared>,
    files: Vec<(ReminderFile, LoadedVersion)>,
    removed: Vec<PathBuf>,
    diagnostics: Vec<Diagnostic>,
    passed_over: Vec<PassedOver>,
    left_over: usize,
    /// Files that are new or changed and are being told by an earlier answer that is not confirmed yet.
    told_elsewhere: Vec<PathBuf>,
    confirmed: bool,
}

impl Resolver {
    /// Goes on with a session; the rules and settings it was started with replace those that are given.
    pub fn new(session: Session, settings: FileSettings, cache: Arc<Cache>) -> Self {
        let settings = session.settings_over(settings);
        let state = Mutex::new(State { session, under_way: HashMap::new() });
        Self { shared: Arc::new(Shared { settings, cache, state }), reader: FileReader::Present }
    }

    /// Says whether the model can read what it is pointed to.
    #[must_use]
    pub fn with_reader(mut self, reader: FileReader) -> Self {
        self.reader = reader;
        self
    }

    /// What the session remembers now.
    pub fn session(&self) -> Session {
        self.shared.lock().session.clone()
    }

    /// What newly applies to a path that a tool is about to touch.
    pub fn resolve(&self, target: &Path) -> Result<Announcement, ResolveError> {
        self.resolve_all([target])
    }

    /// What newly applies to any of several paths.
    pub fn resolve_all<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Announcement, ResolveError> {
        self.resolve_for(targets, Purpose::Read, &mut InlineRoom::default())
    }

    /// What an agent has to be told before it touches any of several paths for a purpose. `room` is that of the message
    /// which will carry it, together with others.
    pub fn resolve_for<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a Path>,
        purpose: Purpose,
        room: &mut InlineRoom,
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
            announcement.passed_over.push(PassedOver::SwitchedOff { reason: reason.to_owned() });
            return Ok(announcement);
        }
        let mut applying = Applying::default();
        let mut directories: Vec<PathBuf> = Vec::new();
        let mut touched: HashSet<PathBuf> = HashSet::new();
        for target in targets {
            let target = path::normalise(target, &cwd);
            touched.insert(target.clone());
            let directory = directory_of(&target);
            if !directory.starts_with(&top) {
                let outside = PassedOver::OutsideRoot { path: target, root: top.clone() };
                announcement.passed_over.push(outside);
                continue;
            }
            let request = Request { cwd: directory, settings: &shared.settings };
            let is_directory = directory == target;
            let touched = if is_directory { Target::Directory(&target) } else { Target::File(&target) };
            let found = applicable(&request, &top, directory, touched, Some(&shared.cache))?;
            applying.files.extend(found.files);
            applying.dormant.extend(found.dormant);
            applying.dormant_imports.extend(found.dormant_imports);
            // Paths below one directory share its problems.
            for problem in found.diagnostics {
                if !announcement.diagnostics.contains(&problem) {
                    announcement.diagnostics.push(problem);
                }
            }
            let off = found.switched_off.map(|reason| PassedOver::SwitchedOff { reason });
            announcement.passed_over.extend(off.filter(|off| !announcement.passed_over.contains(off)));
            directories.extend(path::chain(&top, directory));
        }
        let mut seen = HashSet::new();
        applying.files.retain(|file| seen.insert(file.path.clone()));
        let touch = Touch { purpose, paths: &touched, directories: &directories };
        self.announce(&applying, &touch, room, &mut announcement);
        Ok(announcement)
    }

    /// Says that a tool has given the model the whole of a file: an instruction file counts as delivered
    /// then. Answers with what was read and its version; none when it is no instruction file.
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
        // One that files elsewhere import, or whose rule matches elsewhere, is known by what was told of it.
        let known = || state.session.loaded_versions.get(&file).cloned();
        let Some(version) = found.map(|found| found.version).or_else(known) else { return Ok(None) };
        if version.sha256 != read.sha256 {
            return Ok(Some(read));
        }
        state.session.note_delivered(file, version.clone());
        Ok(Some(FileRead { version: Some(version), ..read }))
    }

    /// Takes out of what applies what the model has or is being told, and notes the rest as under way.
    fn announce(
        &self,
        applying: &Applying,
        touch: &Touch<'_>,
        room: &mut InlineRoom,
        announcement: &mut Announcement,
    ) {
        let shared = &self.shared;
        let (settings, profile) = (&shared.settings, shared.settings.profile);
        let mut state = shared.lock();
        let mut due: Vec<&Applicable> = Vec::new();
        for file in &applying.files {
            let loaded = state.session.loaded_versions.get(&file.path);
            let is_had = match touch.purpose {
                Purpose::Read => !file.differs(loaded, profile),
                Purpose::Write => {
                    !file.differs(loaded, profile) && !state.session.announced.contains(&file.path)
                }
            };
            let told = state.under_way.get(&file.path).filter(|told| {
                !file.differs(told.version.as_ref(), profile)
                    && (touch.purpose == Purpose::Read || told.inline)
            });
            match told {
                Some(_) if !is_had => announcement.told_elsewhere.push(file.path.clone()),
                None if !is_had || self.is_withdrawn(&state, file) => due.push(file),
                _ => {}
            }
        }
        let limit = usize::try_from(settings.max_files_per_resolve()).unwrap_or(usize::MAX);
        announcement.left_over = due.len().saturating_sub(limit);
        due.truncate(limit);
        let mut told: Vec<Option<(ReminderFile, LoadedVersion)>> = due.iter().map(|_| None).collect();
        // Nearest first: what is furthest away gives way where a message has no room for all texts.
        for index in nearest_first_order(due.len(), |index| due[index].version.imported_by.is_some()) {
            let file = due[index];
            let size = file.version.size;
            let telling = match telling(size, touch.purpose, self.reader, settings.delivery(), profile) {
                // The call that is about to run brings the text itself.
                Telling::Text if touch.paths.contains(&file.path) => Telling::Path,
                telling => telling,
            };
            let block = match telling {
                Telling::Path => None,
                Telling::Text | Telling::TextOnly => {
                    file.block(profile, room.left(), &mut announcement.diagnostics)
                }
            };
            if block.is_none() && telling == Telling::TextOnly {
                announcement.left_over += 1;
                continue;
            }
            room.take(block.as_ref().map_or(0, |(_, bytes)| *bytes));
            told[index] = Some((file.reminder_file(block.map(|(text, _)| text)), file.version.clone()));
        }
        announcement.files = told.into_iter().flatten().collect();
        let gone = state.session.loaded_versions.iter().filter(|(path, version)| {
            let directory = version.directory(path);
            directory.is_some_and(|directory| touch.directories.iter().any(|known| known == directory))
                && !applying.files.iter().any(|file| &file.path == *path)
                && !applying.is_dormant(path, version)
                && !state.under_way.contains_key(*path)
        });
        announcement.removed = gone.map(|(path, _)| path.clone()).collect();
        for (file, version) in &announcement.files {
            let under_way = UnderWay { version: Some(version.clone()), inline: file.block.is_some() };
            state.under_way.insert(file.path.clone(), under_way);
        }
        for path in &announcement.removed {
            state.under_way.insert(path.clone(), UnderWay { version: None, inline: false });
        }
    }

    /// Whether another answer is telling of a version that is no longer the present one.
    fn is_withdrawn(&self, state: &State, file: &Applicable) -> bool {
        let told = state.under_way.get(&file.path);
        told.is_some_and(|told| file.differs(told.version.as_ref(), self.shared.settings.profile))
    }

    /// Says that a difference from the disk has been told in the middle of the session.
    pub fn confirm_difference(&self, difference: ResumeDifference) {
        difference.confirm(&mut self.shared.lock().session);
    }

    /// Says what the model still has before it; see [`Session::keep_delivered`].
    pub fn keep_delivered<'a>(&self, told: impl IntoIterator<Item = Told<'a>>) {
        self.shared.lock().session.keep_delivered(told);
    }
}

/// What a call is about to touch.
struct Touch<'a> {
    purpose: Purpose,
    paths: &'a HashSet<PathBuf>,
    /// Theirs and those above them.
    directories: &'a [PathBuf],
}

/// The directory whose files apply to a target, which need not exist yet.
fn directory_of(target: &Path) -> &Path {
    let mut at = target;
    loop {
        let above = at.parent().unwrap_or(at);
        match at.metadata() {
            Ok(metadata) if metadata.is_dir() => return at,
            // Something on the way is a file, so there is nothing below it: the directory is further up.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory && above != at => at = above,
            _ => return above,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Announcement {
    fn empty(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            files: Vec::new(),
            removed: Vec::new(),
            diagnostics: Vec::new(),
            passed_over: Vec::new(),
            left_over: 0,
            told_elsewhere: Vec::new(),
            confirmed: false,
        }
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.removed.is_empty()
    }

    /// Files that are new or changed.
    pub fn resolved(&self) -> ResolvedAgents {
        let files = self.files.iter().map(|(file, version)| ResolvedFile::new(&file.path, version));
        ResolvedAgents { files: files.collect() }
    }

    /// Files that no longer apply.
    pub fn removed(&self) -> &[PathBuf] {
        &self.removed
    }

    /// Problems that were found on the way.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Why files were not looked for, where they were not.
    pub fn passed_over(&self) -> &[PassedOver] {
        &self.passed_over
    }

    /// How many more files are new or changed than fit into one answer; the next one has them.
    pub fn left_over(&self) -> usize {
        self.left_over
    }

    /// Whether files apply that have not reached the model: those of this answer, those that are left over, and those
    /// that another answer is about to tell. Until they have, nothing should be edited where they apply.
    pub fn is_awaited(&self) -> bool {
        !self.files.is_empty() || self.left_over > 0 || !self.told_elsewhere.is_empty()
    }

    /// What to tell the model; none when there is nothing to say.
    pub fn reminder(&self) -> Option<Reminder> {
        (!self.is_empty()).then(|| Reminder::AgentsResolvePaths {
            files: self.files.iter().map(|(file, _)| file.clone()).collect(),
            removed: self.removed.clone(),
        })
    }

    /// Says that the reminder has really been attached to a message.
    pub fn confirm(mut self) {
        let mut state = self.shared.lock();
        for (file, version) in &self.files {
            state.under_way.remove(&file.path);
            state.session.note_told(file, version.clone());
        }
        for path in &self.removed {
            state.under_way.remove(path);
            state.session.forget(path);
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
        for path in self.files.iter().map(|(file, _)| &file.path).chain(&self.removed) {
            state.under_way.remove(path);
        }
    }
}
