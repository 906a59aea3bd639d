//! What changed between a stored session and the present.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::fs::path;
use crate::resolve::applicable::{Applicable, applicable};
use crate::resolve::applies_to::Target;
use crate::resolve::render::{self, Part};
use crate::resolve::resolution::{InstructionFile, Request, Resolution, ResolveError, resolve};
use crate::session::delivery::{FileReader, InlineRoom, Purpose, Telling, telling};
use crate::session::reminder::{Reminder, ReminderFile, ResumeLines};
use crate::session::resolver::{ResolvedAgents, ResolvedFile};
use crate::session::{LoadedVersion, Read, Session};
use crate::text::safety;
use crate::text::{cut, headings_after};

/// The differences; nothing of them counts as told before [`ResumeDifference::confirm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeDifference {
    cwd: (PathBuf, PathBuf),
    root: (Option<PathBuf>, Option<PathBuf>),
    markers: (Vec<String>, Vec<String>),
    lines: ResumeLines,
    files: Vec<(ReminderFile, LoadedVersion)>,
    removed: Vec<PathBuf>,
    /// How many files differ that one message has no room for.
    left_over: usize,
}

impl ResumeDifference {
    /// Compares a stored session with the disk, for the directory the request names.
    pub fn find(
        session: &Session,
        request: &Request<'_>,
        reader: FileReader,
        cache: Option<&Cache>,
    ) -> Result<Self, ResolveError> {
        let now = resolve(request, cache)?;
        let top = now.root.as_deref().unwrap_or(&now.cwd).to_owned();
        let here = Target::Directory(request.cwd);
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
        // A rule that the session has was told of for a path that matched, and that path still does.
        let is_had = |rule: &mut Applicable| session.loaded_versions.contains_key(&rule.path);
        let had: Vec<Applicable> = applying.dormant.extract_if(.., is_had).collect();
        applying.dormant_imports.extend(had.iter().flat_map(|rule| imports_of(session, &rule.path)));
        for rule in had {
            if !applying.files.iter().any(|file| file.path == rule.path) {
                applying.files.push(rule);
            }
        }
        let home = request.settings.homes.of(request.settings.profile);
        let in_scope = |path: &Path, version: &LoadedVersion| {
            let directory = version.directory(path);
            let known = scope.iter().chain(&elsewhere).map(PathBuf::as_path).chain(home);
            directory.is_some_and(|directory| known.into_iter().any(|known| known == directory))
        };
        // A project that is somewhere else now has left its files behind.
        let is_left = |path: &Path, version: &LoadedVersion| {
            let directory = version.directory(path);
            directory.is_some_and(|directory| !directory.starts_with(&top) && !top.starts_with(directory))
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
            .map(|(path, _)| path.clone())
            .collect();
        // The user's own file may be inside the project, and is then one of its files where the chain leads past it.
        let is_own = |file: &&InstructionFile| {
            !file.limited && !applying.files.iter().any(|applying| applying.path == file.path)
        };
        let home = now.files.iter().filter(is_own);
        let differing = home.map(Differing::Home).chain(applying.files.iter().map(Differing::Project));
        let differing = differing.filter(|file| file.differs(session, request)).collect();
        let mut difference = Self {
            cwd: (session.cwd.clone(), now.cwd.clone()),
            root: (session.root.clone(), now.root.clone()),
            markers: (session.markers.clone(), now.markers.clone()),
            lines: request.settings.profile.resume_lines,
            files: Vec::new(),
            removed,
            left_over: 0,
        };
        difference.tell(differing, &scope, request, reader);
        Ok(difference)
    }

    /// Puts texts to the files as far as one message has room for them, those nearest to the directory first.
    fn tell(
        &mut self,
        differing: Vec<Differing<'_>>,
        scope: &[PathBuf],
        request: &Request<'_>,
        reader: FileReader,
    ) {
        let settings = request.settings;
        let mut room = InlineRoom::default();
        let mut by_nearness: Vec<usize> = (0..differing.len()).collect();
        by_nearness.sort_by_key(|index| {
            let version = differing[*index].version();
            let parent = version.directory(differing[*index].path());
            std::cmp::Reverse(scope.iter().position(|directory| Some(directory.as_path()) == parent))
        });
        let mut told: Vec<Option<(ReminderFile, LoadedVersion)>> = differing.iter().map(|_| None).collect();
        for index in by_nearness {
            let file = &differing[index];
            let version = file.version();
            let telling = telling(version.size, Purpose::Read, reader, settings.delivery(), settings.profile);
            let block = (telling != Telling::Path).then(|| file.block(request, room.left())).flatten();
            if block.is_none() && telling == Telling::TextOnly {
                self.left_over += 1;
                continue;
            }
            room.take(block.as_ref().map_or(0, |(_, bytes)| *bytes));
            let reminder = ReminderFile {
                path: file.path().to_owned(),
                mtime_ms: version.mtime_ms,
                sha256: Some(version.sha256.clone()),
                size_bytes: Some(version.size),
                imported_by: version.imported_by.clone(),
                block: block.map(|(text, _)| text),
            };
            told[index] = Some((reminder, version));
        }
        self.files = told.into_iter().flatten().collect();
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.cwd.0 == self.cwd.1
            && self.root.0 == self.root.1
            && self.markers.0 == self.markers.1
            && self.files.is_empty()
            && self.removed.is_empty()
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

    /// How many more files differ than one message has room for; the next difference has them.
    pub fn left_over(&self) -> usize {
        self.left_over
    }

    /// What to tell the model; none when nothing differs.
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
        })
    }

    /// Says that the reminder has really been attached to a message: the session is now where the disk is.
    ///
    /// The initial text stays as it was: it is frozen for the session's life.
    pub fn confirm(self, session: &mut Session) {
        session.cwd = self.cwd.1;
        session.root = self.root.1;
        session.markers = self.markers.1;
        for (file, version) in self.files {
            session.note_told(&file, version);
        }
        self.removed.iter().for_each(|path| session.forget(path));
    }
}

/// A file that may have changed.
enum Differing<'a> {
    Project(&'a Applicable),
    /// The user's own, of which only the text is at hand.
    Home(&'a InstructionFile),
}

impl Differing<'_> {
    fn path(&self) -> &Path {
        match self {
            Differing::Project(file) => &file.path,
            Differing::Home(file) => &file.path,
        }
    }

    fn version(&self) -> LoadedVersion {
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
                // The limit does not count for the user's own file: it is cut only where it was not read further.
                let read = if file.truncated { Read::InPart } else { Read::Whole };
                known.is_none_or(|known| self.version().content_differs(known, read))
            }
        }
    }

    fn block(&self, request: &Request<'_>, room: u64) -> Option<(String, u64)> {
        match self {
            // What was found in the text has been reported by the resolution.
            Differing::Project(file) => file.block(request.settings.profile, room, &mut Vec::new()),
            Differing::Home(file) => {
                let bytes = file.text.as_bytes();
                let is_whole = !file.truncated && bytes.len() as u64 <= room;
                let kept = cut(bytes, usize::try_from(room).unwrap_or(usize::MAX));
                if kept == 0 && !is_whole {
                    return None;
                }
                // A text may be longer than its file, where characters were made visible.
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

/// Directories of the project that the session met on its way, or meets with this difference, and that the present one is not
/// below.
fn elsewhere(session: &Session, now: &Resolution, top: &Path, scope: &[PathBuf]) -> BTreeSet<PathBuf> {
    let met = session.loaded_versions.iter().filter_map(|(path, version)| version.directory(path));
    // The user's own directory may be in the project: once its file is told of, it has been met.
    let own = now.files.iter().filter(|file| !file.limited && file.imported_by.is_none());
    met.chain(own.filter_map(|file| file.path.parent()))
        .filter(|directory| directory.starts_with(top) && !scope.iter().any(|known| known == directory))
        .map(Path::to_owned)
        .collect()
}

/// What a session has because a file of a chain imports it.
fn imports_of<'a>(session: &'a Session, owner: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let versions = session.loaded_versions.iter();
    versions
        .filter(move |(_, version)| version.imported_by.as_deref() == Some(owner))
        .map(|(path, _)| path.clone())
}
