//! A skill that was found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::ContentHash;
use instructions::file::{Bounds, Content, Found};
use protocol::{SkillOutcome, SkillReason, SkillSummary};
use rustix::io::Errno;

use crate::catalogue::shell_word;
use crate::folder::{ReadError, SKILL_FILE, SkillFolder};
use crate::front_matter::{SkillFrontMatter, SkillProblem};
use crate::limits::{MAX_FILE_BYTES, MAX_READ_BYTES, MAX_SKILL_BYTES};
use crate::place::SkillOrigin;
use crate::trust::PinnedSkill;
use crate::trust::comparison::TrustChange;

/// A skill that was found, usable or not.
#[derive(Debug)]
pub struct Skill {
    /// Name, or the name of the folder if the front matter is invalid.
    pub slug: String,
    /// Description as one safe line.
    pub description: String,
    /// Folder of the skill.
    pub folder: PathBuf,
    /// Owner of the skill.
    pub origin: SkillOrigin,
    /// Hash of the SKILL.md that was read. `None` if it is unreadable.
    pub sha256: Option<ContentHash>,
    /// Front matter. `None` if it is invalid.
    pub front_matter: Option<SkillFrontMatter>,
    pub(crate) standing: Standing,
    /// Content that the user trusted.
    pub(crate) pins: Option<Arc<PinnedSkill>>,
    /// Directory that its globs are relative to.
    pub(crate) base: Option<PathBuf>,
    /// Directory that it must not lead out of. `None` for the user's own skills.
    pub(crate) root: Option<PathBuf>,
}

/// Usability of a skill, independent of any turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Usable,
    Invalid(SkillProblem),
    Untrusted(SkillProblem),
    Changed(Vec<TrustChange>),
    /// Hidden by the SKILL.md at this path.
    Shadowed(PathBuf),
    /// Slugs of required skills that are missing.
    Lacks(Vec<String>),
}

impl Skill {
    /// Returns the path of the SKILL.md.
    pub fn file(&self) -> PathBuf {
        self.folder.join(SKILL_FILE)
    }

    /// Returns the differences from the files that the user trusted.
    pub fn changes(&self) -> &[TrustChange] {
        match &self.standing {
            Standing::Changed(changes) => changes,
            _ => &[],
        }
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.standing == Standing::Usable
    }

    /// Returns the text after the front matter if the file is unchanged.
    pub fn body(&self) -> Result<String, ReadError> {
        let text = self.text()?;
        // An invalid front matter is not an error here: the hash is set before the front matter is judged, so an
        // unusable skill has a text as well. It is then returned from its start.
        let start = crate::front_matter::read(&text, &self.slug).map_or(0, |(_, start)| start);
        Ok(text[start..].to_owned())
    }

    /// Returns the whole SKILL.md if it is unchanged.
    pub fn text(&self) -> Result<String, ReadError> {
        let content = self.read_content(Path::new(SKILL_FILE), MAX_FILE_BYTES)?;
        // Read again instead of keeping the text in memory, so the content must be the one that was judged.
        if self.sha256.as_ref() != Some(&content.sha256) {
            let since = if self.pins.is_some() { "trusted" } else { "found" };
            return Err(ReadError::Changed { slug: self.slug.clone(), file: SKILL_FILE.to_owned(), since });
        }
        Ok(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    /// Returns a file of the skill for a model, cut if it is too long. For a trusted skill the content must be exactly what the user
    /// trusted.
    pub fn read(&self, file: &str) -> Result<String, ReadError> {
        if file == SKILL_FILE {
            return Ok(cut(self.text()?));
        }
        let relative = Path::new(file);
        let named = || (self.slug.clone(), file.to_owned());
        // The path comes from a model. Only plain names are accepted: `..` and absolute paths are refused before any
        // system call, and links are checked again when the file is opened.
        let is_below = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_below || file.is_empty() {
            let (slug, file) = named();
            return Err(ReadError::Outside { slug, file });
        }
        // A trusted file is read whole, because its hash can only be compared with all of its bytes. For the user's own
        // files one byte more than the answer holds is enough to see that it must be cut.
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
        let slug = self.slug.clone();
        let file = relative.to_string_lossy().into_owned();
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

    /// Opens the folder, which must still be inside its root.
    pub(crate) fn open<'a>(&self, bounds: &'a Bounds<'a>) -> Result<SkillFolder<'a>, Errno> {
        match &self.root {
            None => SkillFolder::open(&self.folder, bounds),
            // The folder is opened from the root again on every read. A parent directory may have been replaced with a
            // link since discovery, and the stored path alone would follow it.
            Some(root) => {
                let below = self.folder.strip_prefix(root).map_err(|_| Errno::XDEV)?;
                SkillFolder::open(root, bounds)?.open_below(below)
            }
        }
    }

    /// Returns the outcome that holds in every turn. `None` for a usable skill.
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

    /// Describes the reason and the next step for users.
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

/// Cuts a text to the limit of an answer, at a line end, and marks the cut.
fn cut(text: String) -> String {
    if text.len() <= MAX_READ_BYTES {
        return text;
    }
    // The cut first moves to a character boundary and then to a line end, so that a model does not see half of an
    // instruction that might mean the opposite of the whole one.
    let end = text.floor_char_boundary(MAX_READ_BYTES);
    let end = text[..end].rfind('\n').map_or(end, |line| line + 1);
    format!("{}[cut here: only the first {end} bytes are given]\n", &text[..end])
}
