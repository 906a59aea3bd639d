//! Differences between a stored session and the present state of the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::fs::path;
use crate::resolve::applicable::{Applicable, applicable};
use crate::resolve::applies_to::Target;
use crate::resolve::render::{self, Part};
use crate::resolve::resolution::{InstructionFile, Request, Resolution, ResolveError, resolve};
use crate::session::delivery::{DeliveryForm, FileReader, InlineBudget, Purpose, delivery_form};
use crate::session::reminder::{FileNovelty, Reminder, ReminderFile, ReminderWording, ResumeLines};
use crate::session::removal::RemovedFile;
use crate::session::resolver::{ResolvedAgents, ResolvedFile};
use crate::session::{FileVersion, Read, Session};
use crate::text::safety;
use crate::text::{cut, headings_after};

/// Differences found on resume. They count as delivered only after [`ResumeDifference::confirm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeDifference {
    cwd: (PathBuf, PathBuf),
    root: (Option<PathBuf>, Option<PathBuf>),
    markers: (Vec<String>, Vec<String>),
    lines: ResumeLines,
    files: Vec<(ReminderFile, FileVersion)>,
    removed: Vec<RemovedFile>,
    /// Number of changed files beyond the budget of one message.
    left_over: usize,
    wording: ReminderWording,
}

impl ResumeDifference {
    /// Compares a stored session with the disk, for the directory of the request.
    pub fn find(
        session: &Session,
        request: &Request<'_>,
        reader: FileReader,
        cache: Option<&Cache>,
    ) -> Result<Self, ResolveError> {
        let now = resolve(request, cache)?;
        let top = now.root.as_deref().unwrap_or(&now.cwd).to_owned();
        let here = Target::Directory(request.cwd);
        // A resume may be in another directory or a moved project, so the session is compared with the present root,
        // not with the stored one.
        let mut applying = applicable(request, &top, request.cwd, here, cache)?;
        let scope = path::chain(&top, request.cwd);
        let elsewhere = elsewhere(session, &now, &top, &scope);
        for directory in &elsewhere {
            let there = applicable(request, &top, directory, Target::Directory(directory), cache)?;
            let is_of_it = |file: &Applicable| file.version.directory(&file.path) == Some(directory);
            applying.files.extend(there.files.into_iter().filter(is_of_it));
            applying.dormant.extend(there.dormant.into_iter().filter(is_of_it));
            applying.dormant_imports.extend(there.dormant_imports);
        }
        // A rule known to the session was announced for a matching path, and that path still matches.
        let is_had = |rule: &mut Applicable| session.loaded_versions.contains_key(&rule.path);
        let had: Vec<Applicable> = applying.dormant.extract_if(.., is_had).collect();
        applying.dormant_imports.extend(had.iter().flat_map(|rule| imports_of(session, &rule.path)));
        for rule in had {
            if !applying.files.iter().any(|file| file.path == rule.path) {
                applying.files.push(rule);
            }
        }
        let home = request.settings.homes.of(request.settings.profile);
        let in_scope = |path: &Path, version: &FileVersion| {
            let directory = version.directory(path);
            let known = scope.iter().chain(&elsewhere).map(PathBuf::as_path).chain(home);
            directory.is_some_and(|directory| known.into_iter().any(|known| known == directory))
        };
        // A project that moved, or whose root is further down now, leaves its former files behind.
        let is_left = |path: &Path, version: &FileVersion| {
            version.directory(path).is_some_and(|directory| !directory.starts_with(&top))
        };
        let applies = |path: &Path| {
            applying.files.iter().any(|file| file.path == path)
                || now.files.iter().any(|file| file.path == path)
        };
        let removed = session
            .loaded_versions
            .iter()
            .filter(|(path, version)| {
                !applies(path)
                    && !applying.is_dormant(path, version)
                    && (in_scope(path, version) || is_left(path, version) || path.symlink_metadata().is_err())
            })
            .map(|(path, version)| RemovedFile::find(path, version, &top, request.settings, &applying.files))
            .collect();
        // The user's own file may be located inside the project. If the chain passes its directory, it counts
        // as a project file.
        let is_own = |file: &&InstructionFile| {
            !file.limited && !applying.files.iter().any(|applying| applying.path == file.path)
        };
        let home = now.files.iter().filter(is_own);
        // The user's own files come first, as in the initial text.
        let differing = home.map(Differing::Home).chain(applying.files.iter().map(Differing::Project));
        let differing = differing.filter(|file| file.differs(session, request)).collect();
        let mut difference = Self {
            cwd: (session.cwd.clone(), now.cwd.clone()),
            root: (session.root.clone(), now.root.clone()),
            markers: (session.markers.clone(), now.markers.clone()),
            lines: request.settings.profile.session.reminders.resume_lines(),
            files: Vec::new(),
            removed,
            left_over: 0,
            wording: request.settings.profile.session.reminders.wording(),
        };
        difference.add_files(differing, session, &scope, request, reader);
        Ok(difference)
    }

    /// Adds the texts of changed files within the budget of one message, nearest files first.
    // Texts are assigned by nearness, but the files keep their order in the reminder: the order of the chain
    // shows the model which file is more specific.
    fn add_files(
        &mut self,
        differing: Vec<Differing<'_>>,
        session: &Session,
        scope: &[PathBuf],
        request: &Request<'_>,
        reader: FileReader,
    ) {
        let settings = request.settings;
        let mut budget = InlineBudget::default();
        let mut by_nearness: Vec<usize> = (0..differing.len()).collect();
        by_nearness.sort_by_key(|index| {
            let version = differing[*index].version();
            let parent = version.directory(differing[*index].path());
            std::cmp::Reverse(scope.iter().position(|directory| Some(directory.as_path()) == parent))
        });
        let mut shown: Vec<Option<(ReminderFile, FileVersion)>> = differing.iter().map(|_| None).collect();
        for index in by_nearness {
            let file = &differing[index];
            let version = file.version();
            let form =
                delivery_form(version.bytes, Purpose::Read, reader, settings.delivery(), settings.profile);
            let block =
                (form != DeliveryForm::Path).then(|| file.block(request, budget.remaining())).flatten();
            if block.is_none() && form == DeliveryForm::TextOnly {
                self.left_over += 1;
                continue;
            }
            budget.spend(block.as_ref().map_or(0, |(_, bytes)| *bytes));
            let reminder = ReminderFile {
                path: file.path().to_owned(),
                mtime_ms: version.mtime_ms,
                sha256: Some(version.sha256.clone()),
                size_bytes: Some(version.bytes),
                imported_by: version.imported_by.clone(),
                block: block.map(|(text, _)| text),
                novelty: FileNovelty::of(session.loaded_versions.get(file.path())),
            };
            shown[index] = Some((reminder, version));
        }
        self.files = shown.into_iter().flatten().collect();
    }

    /// Returns true if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.cwd.0 == self.cwd.1
            && self.root.0 == self.root.1
            && self.markers.0 == self.markers.1
            && self.files.is_empty()
            && self.removed.is_empty()
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

    /// Returns the number of changed files beyond the budget. The next difference contains them.
    pub fn left_over(&self) -> usize {
        self.left_over
    }

    /// Returns the reminder for the model, or `None` if nothing changed.
    pub fn reminder(&self) -> Option<Reminder> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let root = |root: &Option<PathBuf>| root.as_deref().map_or_else(|| "none".to_owned(), shown);
        (!self.is_empty()).then(|| Reminder::SessionResumeDiff {
            cwd: (shown(&self.cwd.0), shown(&self.cwd.1)),
            root: (root(&self.root.0), root(&self.root.1)),
            markers: self.markers.clone(),
            lines: self.lines,
            files: self.files.iter().map(|(file, _)| file.clone()).collect(),
            removed: self.removed.clone(),
            wording: self.wording,
        })
    }

    /// Records that the reminder is part of a message, and updates the session.
    ///
    /// The initial text is not changed; it is frozen for the life of the session.
    pub fn confirm(self, session: &mut Session) {
        session.cwd = self.cwd.1;
        session.root = self.root.1;
        session.markers = self.markers.1;
        for (file, version) in self.files {
            session.record_reminder(&file, version);
        }
        self.removed.iter().for_each(|removed| session.remove(&removed.path));
    }
}

/// A file that may have changed.
enum Differing<'a> {
    Project(&'a Applicable),
    /// The user's own file, of which only the text is available.
    Home(&'a InstructionFile),
}

impl Differing<'_> {
    fn path(&self) -> &Path {
        match self {
            Differing::Project(file) => &file.path,
            Differing::Home(file) => &file.path,
        }
    }

    fn version(&self) -> FileVersion {
        match self {
            Differing::Project(file) => file.version.clone(),
            Differing::Home(file) => file.version(),
        }
    }

    fn differs(&self, session: &Session, request: &Request<'_>) -> bool {
        let known = session.loaded_versions.get(self.path());
        match self {
            Differing::Project(file) => file.differs(known, request.settings.profile),
            Differing::Home(file) => {
                // The limit does not apply to the user's own file. It is truncated only if it exceeds the
                // read limit.
                let read = if file.truncated { Read::InPart } else { Read::Whole };
                known.is_none_or(|known| self.version().content_differs(known, read))
            }
        }
    }

    fn block(&self, request: &Request<'_>, room: u64) -> Option<(String, u64)> {
        match self {
            // The resolution has already reported problems of the text.
            Differing::Project(file) => file.block(request.settings.profile, room, &mut Vec::new()),
            Differing::Home(file) => {
                let bytes = file.text.as_bytes();
                let is_whole = !file.truncated && bytes.len() as u64 <= room;
                let kept = cut(bytes, usize::try_from(room).unwrap_or(usize::MAX));
                if kept == 0 && !is_whole {
                    return None;
                }
                // Making characters visible can make the text longer than its file.
                let mark = (!is_whole).then(|| {
                    let size = file.bytes.max(bytes.len() as u64);
                    render::mark(&file.path, kept, size, &headings_after(bytes, kept), 0)
                });
                let text = safety::make_harmless(&file.text[..kept]).0;
                let part = Part { home: true, ..Part::of_project(&file.path, &text, mark) };
                Some((render::block(&part), if is_whole { kept as u64 } else { room }))
            }
        }
    }
}

/// Returns the project directories that the session has covered, or covers with this difference, outside the
/// path to the current one.
fn elsewhere(session: &Session, now: &Resolution, top: &Path, scope: &[PathBuf]) -> BTreeSet<PathBuf> {
    let met = session.loaded_versions.iter().filter_map(|(path, version)| version.directory(path));
    // The user's own directory may be inside the project. It is covered once its file is announced.
    let own = now.files.iter().filter(|file| !file.limited && file.imported_by.is_none());
    met.chain(own.filter_map(|file| file.path.parent()))
        .filter(|directory| directory.starts_with(top) && !scope.iter().any(|known| known == directory))
        .map(Path::to_owned)
        .collect()
}

/// Returns the files that a session has because `owner` imports them.
fn imports_of<'a>(session: &'a Session, owner: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let versions = session.loaded_versions.iter();
    versions
        .filter(move |(_, version)| version.imported_by.as_deref() == Some(owner))
        .map(|(path, _)| path.clone())
}
