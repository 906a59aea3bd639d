//! One skill that was found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::ContentHash;
use instructions::file::{Bounds, Content, Found};
use protocol::{SkillOutcome, SkillReason, SkillSummary};
use rustix::io::Errno;

use crate::catalogue::shell_word;
use crate::folder::{Folder, ReadError, SKILL_FILE};
use crate::front_matter::{FrontMatter, Problem};
use crate::limits::{MAX_FILE_BYTES, MAX_READ_BYTES, MAX_SKILL_BYTES};
use crate::place::Origin;
use crate::trust::PinnedSkill;
use crate::trust::comparison::FileChange;

/// A skill that was found, whether it can be used or not.
#[derive(Debug)]
pub struct Skill {
    /// Its name; of a broken one the name of its folder.
    pub slug: String,
    /// What it is for, on one line and harmless.
    pub description: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Whose it is.
    pub origin: Origin,
    /// Of the SKILL.md that all this was read from; none where it cannot be read.
    pub sha256: Option<ContentHash>,
    /// What it says about itself; none of a broken one.
    pub front_matter: Option<FrontMatter>,
    pub(crate) standing: Standing,
    /// What the user trusted.
    pub(crate) pins: Option<Arc<PinnedSkill>>,
    /// What its globs count from.
    pub(crate) base: Option<PathBuf>,
    /// What it may not lead out of; none for the user's own.
    pub(crate) root: Option<PathBuf>,
}

/// What is known of a skill before anybody asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Usable,
    Invalid(Problem),
    Untrusted(Problem),
    Changed(Vec<FileChange>),
    /// By which SKILL.md.
    Shadowed(PathBuf),
    /// Which skills it lacks.
    Lacks(Vec<String>),
}

impl Skill {
    /// Its SKILL.md.
    pub fn file(&self) -> PathBuf {
        self.folder.join(SKILL_FILE)
    }

    /// How its files differ from those that the user trusted.
    pub fn changes(&self) -> &[FileChange] {
        match &self.standing {
            Standing::Changed(changes) => changes,
            _ => &[],
        }
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.standing == Standing::Usable
    }

    /// The text behind the front matter, if the file is still the one that was read.
    pub fn body(&self) -> Result<String, ReadError> {
        let text = self.text()?;
        let start = crate::front_matter::read(&text, &self.slug).map_or(0, |(_, start)| start);
        Ok(text[start..].to_owned())
    }

    /// The whole SKILL.md, if it is still the one that was read.
    pub fn text(&self) -> Result<String, ReadError> {
        let content = self.read_content(Path::new(SKILL_FILE), MAX_FILE_BYTES)?;
        if self.sha256.as_ref() != Some(&content.sha256) {
            let since = if self.pins.is_some() { "trusted" } else { "found" };
            return Err(ReadError::Changed { slug: self.slug.clone(), file: SKILL_FILE.to_owned(), since });
        }
        Ok(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    /// A file of the skill for a model: text, cut where there is too much of it. Of a trusted skill the bytes are those that
    /// the user trusted, or there are none.
    pub fn read(&self, file: &str) -> Result<String, ReadError> {
        if file == SKILL_FILE {
            return Ok(cut(self.text()?));
        }
        let relative = Path::new(file);
        let named = || (self.slug.clone(), file.to_owned());
        let is_below = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_below || file.is_empty() {
            let (slug, file) = named();
            return Err(ReadError::Outside { slug, file });
        }
        let max_bytes = if self.pins.is_some() { MAX_SKILL_BYTES } else { MAX_READ_BYTES as u64 + 1 };
        let pinned = match &self.pins {
            None => None,
            Some(pins) => match pins.file(relative) {
                Some(pinned) => Some(pinned),
                None => {
                    let (slug, file) = named();
                    return Err(ReadError::Absent { slug, file });
                }
            },
        };
        let content = self.read_content(relative, max_bytes)?;
        let (slug, file) = named();
        if pinned.is_some_and(|pinned| !content.whole || pinned.sha256 != content.sha256) {
            return Err(ReadError::Changed { slug, file, since: "trusted" });
        }
        if content.bytes.contains(&0) {
            let reason = "it has bytes that are zero".to_owned();
            return Err(ReadError::NotText { slug, file, reason });
        }
        Ok(cut(String::from_utf8_lossy(&content.bytes).into_owned()))
    }

    fn read_content(&self, relative: &Path, max_bytes: u64) -> Result<Arc<Content>, ReadError> {
        let (slug, file) = (self.slug.clone(), relative.to_string_lossy().into_owned());
        let bounds = Bounds::default();
        let folder = match self.open(&bounds) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR) => return Err(ReadError::Absent { slug, file }),
            Err(Errno::XDEV) => return Err(ReadError::Outside { slug, file }),
            Err(errno) => {
                let reason = std::io::Error::from(errno).to_string();
                return Err(ReadError::Unreadable { slug, file, reason });
            }
        };
        match folder.read(relative, max_bytes) {
            Found::File { content, .. } => Ok(content),
            Found::Absent => Err(ReadError::Absent { slug, file }),
            Found::NotAFile { kind, .. } => {
                Err(ReadError::NotText { slug, file, reason: format!("it is a {kind}") })
            }
            Found::Outside | Found::Private => Err(ReadError::Outside { slug, file }),
            Found::Unreadable { reason } => {
                Err(ReadError::Unreadable { slug, file, reason: reason.to_string() })
            }
        }
    }

    /// The folder, which must still be where it may be.
    pub(crate) fn open<'a>(&self, bounds: &'a Bounds<'a>) -> Result<Folder<'a>, Errno> {
        match &self.root {
            None => Folder::open(&self.folder, bounds),
            Some(root) => {
                let below = self.folder.strip_prefix(root).map_err(|_| Errno::XDEV)?;
                Folder::open(root, bounds)?.open_below(below)
            }
        }
    }

    /// What became of it where nothing asks for it.
    pub(crate) fn verdict(&self) -> Option<(SkillOutcome, SkillReason)> {
        Some(match &self.standing {
            Standing::Usable => return None,
            Standing::Invalid(problem) => (SkillOutcome::Invalid, problem.reason),
            Standing::Untrusted(problem) => (SkillOutcome::Untrusted, problem.reason),
            Standing::Changed(_) => (SkillOutcome::ChangedSinceTrusted, SkillReason::FilesDiffer),
            Standing::Shadowed(_) => (SkillOutcome::Shadowed, SkillReason::NearerSkill),
            Standing::Lacks(_) => (SkillOutcome::MissingDependency, SkillReason::RequiredSkill),
        })
    }

    /// Why, and what to do, for people.
    fn detail(&self, reason: SkillReason) -> Option<String> {
        match &self.standing {
            Standing::Invalid(problem) | Standing::Untrusted(problem) => Some(problem.message.clone()),
            Standing::Changed(changes) => {
                let changes: Vec<String> = changes.iter().take(3).map(ToString::to_string).collect();
                let folder = shell_word(&self.folder);
                Some(format!("{}; see it with `foreword trust --diff {folder}`", changes.join(", ")))
            }
            Standing::Shadowed(by) => Some(format!("by {}", by.display())),
            Standing::Lacks(slugs) => Some(format!("it requires {}", slugs.join(", "))),
            Standing::Usable => match reason {
                SkillReason::NoPathMatched => {
                    let globs = self.front_matter.as_ref().map(|found| found.paths.join(", "))?;
                    Some(format!("it applies to {globs}"))
                }
                SkillReason::NotImplicit => Some("it is used in turns that name it".to_owned()),
                _ => None,
            },
        }
    }

    pub(crate) fn summary(&self, outcome: SkillOutcome, reason: SkillReason) -> SkillSummary {
        SkillSummary {
            slug: self.slug.clone(),
            description: self.description.clone(),
            path: self.file().to_string_lossy().into_owned(),
            outcome,
            reason: Some(reason),
            detail: self.detail(reason),
        }
    }
}

/// A text that fits a model's answer, ended at a line and with a mark where something is missing.
fn cut(text: String) -> String {
    if text.len() <= MAX_READ_BYTES {
        return text;
    }
    let end = text.floor_char_boundary(MAX_READ_BYTES);
    let end = text[..end].rfind('\n').map_or(end, |line| line + 1);
    format!("{}[cut here: only the first {end} bytes are given]\n", &text[..end])
}
