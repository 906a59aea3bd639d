//! All skills of a directory, and the problems of unusable ones.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::file::{Bounds, Found};
use protocol::{SkillReason, SkillSummary};
use rustix::io::Errno;

use crate::cache::{Dependencies, SkillCache};
use crate::discovery::skill_folders;
use crate::folder::{SKILL_FILE, SkillFolder};
use crate::front_matter::{self, SkillProblem};
use crate::limits::{MAX_DESCRIPTION_CHARS, MAX_ENTRIES, MAX_FILE_BYTES, MAX_SKILLS};
use crate::place::{SkillDirectory, SkillOrigin, places};
use crate::skill::{Skill, Standing};
use crate::trust::comparison::compare;
use crate::trust::file::{TrustError, TrustFile};
use crate::trust::{PinnedSkill, Trusted};

/// Scope of a resolution.
#[derive(Debug, Clone, Copy)]
pub struct SkillRequest<'a> {
    /// Configuration directory of the user, with the user's skills and trust.
    pub home: &'a Path,
    /// Root of the project. `None` without a project.
    pub root: Option<&'a Path>,
    /// Working directory inside the root.
    pub cwd: Option<&'a Path>,
    /// Additional folders of skills from the user's configuration.
    pub folders: &'a [PathBuf],
    /// Paths that no file of a project may be or lead to.
    pub private_paths: &'a [PathBuf],
}

impl<'a> SkillRequest<'a> {
    /// Creates a request for the user's own skills only.
    pub fn new(home: &'a Path) -> Self {
        Self { home, root: None, cwd: None, folders: &[], private_paths: &[] }
    }
}

/// An owned request, for the cache.
#[derive(Debug)]
pub(crate) struct RequestKey {
    home: PathBuf,
    root: Option<PathBuf>,
    cwd: Option<PathBuf>,
    folders: Vec<PathBuf>,
    private_paths: Vec<PathBuf>,
}

impl RequestKey {
    pub(crate) fn of(request: &SkillRequest<'_>) -> Self {
        Self {
            home: request.home.to_owned(),
            root: request.root.map(Path::to_owned),
            cwd: request.cwd.map(Path::to_owned),
            folders: request.folders.to_vec(),
            private_paths: request.private_paths.to_vec(),
        }
    }

    pub(crate) fn is_for(&self, request: &SkillRequest<'_>) -> bool {
        self.home == request.home
            && self.root.as_deref() == request.root
            && self.cwd.as_deref() == request.cwd
            && self.folders == request.folders
            && self.private_paths == request.private_paths
    }
}

/// The skills of a directory, nearest first.
#[derive(Debug)]
pub struct Catalogue {
    skills: Vec<Skill>,
    by_slug: HashMap<String, usize>,
    /// Reason why no skill of a project can be trusted.
    trust_problem: Option<String>,
    is_cut: bool,
    pub(crate) evidence: Dependencies,
}

impl Catalogue {
    /// Returns all skills, nearest first, then by path.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// Returns the usable skill with this slug.
    pub fn usable(&self, slug: &str) -> Option<&Skill> {
        self.by_slug.get(slug).map(|index| &self.skills[*index])
    }

    /// Returns the usable skill with this slug, or else the nearest unusable one.
    pub fn find(&self, slug: &str) -> Option<&Skill> {
        self.usable(slug).or_else(|| self.skills.iter().find(|skill| skill.slug == slug))
    }

    /// Returns the summary of the nearest unusable skill with this slug, which explains why. `None` if there is none.
    pub fn why_not(&self, slug: &str) -> Option<SkillSummary> {
        let skill = self.skills.iter().find(|skill| skill.slug == slug && !skill.is_usable())?;
        let (outcome, reason) = skill.verdict()?;
        Some(skill.summary(outcome, reason))
    }

    /// Returns the reason why no skill of a project can be trusted.
    pub fn trust_problem(&self) -> Option<&str> {
        self.trust_problem.as_deref()
    }

    /// Returns true if there are more skills than the limit.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Quotes a path for a shell. Users paste hints, and a repository chooses the names of its folders.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    // A list of harmless characters instead of one of dangerous ones: a character that is missing here only costs two
    // quotes.
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+@%:,=".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Finds the skills of a directory. With a cache, unchanged files are not read again.
pub fn resolve(request: &SkillRequest<'_>, cache: Option<&SkillCache>) -> Arc<Catalogue> {
    if let Some(known) = cache.and_then(|cache| cache.get(request)) {
        return known;
    }
    let make = || Arc::new(CatalogueBuilder::new(request).finish());
    match cache {
        Some(cache) => cache.make(request, make),
        None => make(),
    }
}

/// State of a resolution.
struct CatalogueBuilder<'a> {
    request: &'a SkillRequest<'a>,
    trusted: Result<Trusted, TrustError>,
    evidence: Dependencies,
    skills: Vec<Skill>,
    room: usize,
    is_cut: bool,
}

impl<'a> CatalogueBuilder<'a> {
    fn new(request: &'a SkillRequest<'a>) -> Self {
        let mut evidence = Dependencies::new();
        let trust_file = TrustFile::new(request.home);
        // The stamp is taken before reading, so that a change in between invalidates the cached result.
        match rustix::fs::stat(trust_file.path()) {
            Ok(stat) => evidence.state(trust_file.path(), instructions::file::Stamp::of(&stat)),
            Err(Errno::NOENT) => evidence.nothing(trust_file.path()),
            Err(_) => evidence.unknown(),
        }
        // Without a project there is nothing to trust, so an unreadable trust file must not disturb the user's own
        // skills.
        let trusted = if request.root.is_some() { trust_file.read() } else { Ok(Trusted::default()) };
        Self { request, trusted, evidence, skills: Vec::new(), room: MAX_ENTRIES, is_cut: false }
    }

    fn finish(mut self) -> Catalogue {
        let project_bounds = Bounds::default().without(self.request.private_paths);
        let own_bounds = Bounds::default();
        for place in places(self.request) {
            // Private paths are kept from projects only. The user's own skills may lie in a directory that no project
            // may read, such as the configuration directory itself.
            let bounds = match place.origin {
                SkillOrigin::Project => &project_bounds,
                SkillOrigin::User => &own_bounds,
            };
            self.look_in(&place, bounds);
        }
        // After all folders are read, because precedence and requirements depend on every usable skill.
        let by_slug = self.judge_together();
        let trust_problem = self.trusted.as_ref().err().map(ToString::to_string);
        Catalogue {
            skills: self.skills,
            by_slug,
            trust_problem,
            is_cut: self.is_cut,
            evidence: self.evidence,
        }
    }

    fn look_in(&mut self, place: &SkillDirectory, bounds: &Bounds<'_>) {
        let root = self.request.root.filter(|_| place.origin == SkillOrigin::Project);
        let opened = match root {
            None => SkillFolder::open(&place.directory, bounds).map(|folder| (folder, None)),
            Some(root) => SkillFolder::open(root, bounds).and_then(|project| {
                let below = place.directory.strip_prefix(root).map_err(|_| Errno::XDEV)?;
                Ok((project.open_below(below)?, Some(project)))
            }),
        };
        let (folder, project) = match opened {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR) => return self.evidence.nothing(&place.directory),
            Err(_) => return self.evidence.unknown(),
        };
        let (found, listed) = skill_folders(&folder, &mut self.room);
        self.is_cut |= self.room == 0;
        for (path, stamp) in listed {
            self.evidence.state(&path, stamp);
        }
        for relative in found {
            if self.skills.len() >= MAX_SKILLS {
                self.is_cut = true;
                return;
            }
            let path = place.directory.join(&relative);
            // Each skill is opened from the project's root and not from the folder of skills, because a link there may
            // lead to another directory of the same project.
            let opened = match (root, &project) {
                (Some(root), Some(project)) => match path.strip_prefix(root) {
                    Ok(below) => project.open_below(below),
                    Err(_) => Err(Errno::XDEV),
                },
                _ => SkillFolder::open(&path, bounds),
            };
            let skill = self.skill(place, path, opened);
            self.skills.push(skill);
        }
    }

    fn skill(
        &mut self,
        place: &SkillDirectory,
        path: PathBuf,
        opened: Result<SkillFolder<'_>, Errno>,
    ) -> Skill {
        let mut skill = Skill {
            slug: shown_name(&path),
            description: String::new(),
            folder: path,
            origin: place.origin,
            sha256: None,
            front_matter: None,
            standing: Standing::Usable,
            pins: None,
            base: place.base.clone(),
            root: self.request.root.filter(|_| place.origin == SkillOrigin::Project).map(Path::to_owned),
        };
        match &opened {
            Ok(_) => {}
            // A link without a target: the catalogue changes as soon as something is created there.
            Err(Errno::NOENT) => self.evidence.nothing(&skill.folder),
            Err(_) => self.evidence.unknown(),
        }
        let read = opened.map_err(unopened).and_then(|folder| {
            self.read(&folder, &mut skill)?;
            Ok(folder)
        });
        match read {
            Err(problem) => skill.standing = Standing::Invalid(problem),
            Ok(folder) if place.origin == SkillOrigin::Project => self.judge_trust(&folder, &mut skill),
            Ok(_) => {}
        }
        skill
    }

    /// Reads the front matter of a skill.
    fn read(&mut self, folder: &SkillFolder<'_>, skill: &mut Skill) -> Result<(), SkillProblem> {
        let path = skill.file();
        let problem = |reason, message: String| Err(SkillProblem::new(reason, message));
        let content = match folder.read(Path::new(SKILL_FILE), MAX_FILE_BYTES) {
            Found::File { stamp, content } => {
                if content.unsteady {
                    self.evidence.unknown();
                }
                self.evidence.state(&path, stamp);
                content
            }
            found => {
                match &found {
                    Found::NotAFile { stamp, .. } => self.evidence.state(&path, *stamp),
                    // The target of a link may change without changing the link.
                    _ => self.evidence.unknown(),
                }
                return match found {
                    Found::NotAFile { kind, .. } => {
                        problem(SkillReason::NotAFile, format!("its SKILL.md is a {kind}"))
                    }
                    Found::Outside | Found::Private => {
                        problem(SkillReason::Outside, "its SKILL.md leads out of its folder".to_owned())
                    }
                    Found::Unreadable { reason } => {
                        problem(SkillReason::Unreadable, format!("its SKILL.md cannot be read: {reason}"))
                    }
                    Found::Absent | Found::File { .. } => {
                        problem(SkillReason::NotAFile, "it has no SKILL.md that leads anywhere".to_owned())
                    }
                };
            }
        };
        if !content.whole {
            let message = format!("its SKILL.md has more than {MAX_FILE_BYTES} bytes");
            return problem(SkillReason::TooLarge, message);
        }
        // Set before the front matter is judged, so that the text of an invalid skill can still be shown and compared
        // with what was found.
        skill.sha256 = Some(content.sha256.clone());
        let text = String::from_utf8_lossy(&content.bytes);
        let (front_matter, _) = front_matter::read(&text, &skill.slug)?;
        skill.slug = front_matter.name.clone();
        skill.description = shown_description(&front_matter.description);
        skill.front_matter = Some(front_matter);
        Ok(())
    }

    /// Compares a project's skill with the content that the user has trusted.
    fn judge_trust(&mut self, folder: &SkillFolder<'_>, skill: &mut Skill) {
        let trusted = match &self.trusted {
            Ok(trusted) => trusted,
            Err(error) => {
                let problem = SkillProblem::new(SkillReason::TrustUnreadable, error.to_string());
                skill.standing = Standing::Untrusted(problem);
                return;
            }
        };
        // Trust is recorded for the resolved path: the same relative path in another project is another skill.
        let real = if trusted.is_empty() { None } else { skill.folder.canonicalize().ok() };
        let Some(pins) = real.and_then(|real| trusted.of(&real)).map(Arc::clone) else {
            let message =
                format!("look at it and trust it with `foreword trust {}`", shell_word(&skill.folder));
            skill.standing = Standing::Untrusted(SkillProblem::new(SkillReason::NeverTrusted, message));
            return;
        };
        match folder.contents() {
            Err(problem) => skill.standing = Standing::Invalid(problem),
            Ok(contents) => {
                for (path, stamp) in &contents.directories {
                    self.evidence.state(path, *stamp);
                }
                for file in &contents.files {
                    self.evidence.state(&skill.folder.join(&file.path), file.stamp);
                }
                if !contents.left_out.is_empty() {
                    self.evidence.unknown();
                }
                // The SKILL.md was read earlier than the rest of the folder. Both readings must match the pins, or a
                // file that is exchanged between the two could be used without having been trusted.
                let changes = compare(&pins, &contents.files);
                if !changes.is_empty() || !is_pinned(&pins, skill) {
                    skill.standing = Standing::Changed(changes);
                }
                skill.pins = Some(pins);
            }
        }
    }

    /// Applies precedence: the nearest usable skill of each slug wins, and unusable ones hide nothing. Then removes skills that
    /// require a missing one, which may cascade.
    fn judge_together(&mut self) -> HashMap<String, usize> {
        let mut by_slug: HashMap<String, usize> = HashMap::new();
        for index in 0..self.skills.len() {
            if !self.skills[index].is_usable() {
                continue;
            }
            match by_slug.get(&self.skills[index].slug) {
                Some(nearest) => {
                    self.skills[index].standing = Standing::Shadowed(self.skills[*nearest].file());
                }
                None => {
                    by_slug.insert(self.skills[index].slug.clone(), index);
                }
            }
        }
        loop {
            // The round is finished before anything is removed, so every skill is judged against the same set and the
            // reported reasons do not depend on the order of the map. Each round removes at least one skill, so the
            // loop ends.
            let mut lacking = Vec::new();
            for index in by_slug.values() {
                let requires = self.skills[*index].front_matter.iter().flat_map(|found| &found.requires);
                let absent: HashSet<&String> = requires.filter(|slug| !by_slug.contains_key(*slug)).collect();
                if !absent.is_empty() {
                    let mut absent: Vec<String> = absent.into_iter().cloned().collect();
                    absent.sort();
                    lacking.push((*index, absent));
                }
            }
            if lacking.is_empty() {
                return by_slug;
            }
            for (index, absent) in lacking {
                by_slug.remove(&self.skills[index].slug);
                self.skills[index].standing = Standing::Lacks(absent);
            }
        }
    }
}

/// Returns true if the SKILL.md that was read has the trusted content.
fn is_pinned(pins: &PinnedSkill, skill: &Skill) -> bool {
    pins.file(Path::new(SKILL_FILE)).is_some_and(|pinned| Some(&pinned.sha256) == skill.sha256.as_ref())
}

fn unopened(errno: Errno) -> SkillProblem {
    match errno {
        Errno::XDEV => SkillProblem::new(SkillReason::Outside, "it is a link that leads out of the project"),
        errno => {
            let error = std::io::Error::from(errno);
            SkillProblem::new(SkillReason::Unreadable, format!("its folder cannot be opened: {error}"))
        }
    }
}

/// Returns the name of a skill without a valid front matter.
fn shown_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    instructions::make_harmless(&name).0.into_owned()
}

/// Returns a description as one line that is safe in a prompt.
fn shown_description(description: &str) -> String {
    let words: Vec<&str> = description.split_whitespace().collect();
    let line = words.join(" ");
    let mut short: String = line.chars().take(MAX_DESCRIPTION_CHARS).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    instructions::make_harmless(&short).0.into_owned()
}
