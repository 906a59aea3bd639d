//! Skills at or below a path that could be trusted, with their content.

use std::path::{Path, PathBuf};

use instructions::file::{Bounds, Found};
use protocol::SkillReason;

use super::Trusted;
use super::comparison::{TrustChange, TrustChangeKind, compare};
use super::file::TrustFile;
use crate::discovery::skill_folders;
use crate::folder::{FolderFile, SKILL_FILE, SkillFolder};
use crate::front_matter::{self, SkillProblem};
use crate::limits::{MAX_COPY_BYTES, MAX_ENTRIES};
use crate::place::{IN_DIRECTORIES, IN_ROOT, SKILLS};

/// Directories that are not searched for skills: they are large and contain none.
const NOT_SEARCHED: [&str; 2] = [".git", "node_modules"];
/// Greatest depth of the search.
const MAX_DEPTH: usize = 32;

/// A skill of a project with its whole content.
#[derive(Debug)]
pub struct TrustCandidate {
    /// Name, or the name of the folder if the front matter is invalid.
    pub slug: String,
    /// Resolved path of the folder.
    pub folder: PathBuf,
    /// Objects that are not files of the skill, with the reason.
    pub left_out: Vec<(PathBuf, String)>,
    /// Differences from the trusted content. `None` if the skill was never trusted.
    pub changes: Option<Vec<TrustChange>>,
    /// Reason why it cannot be trusted, with a message.
    pub problem: Option<(SkillReason, String)>,
    pub(crate) files: Vec<FolderFile>,
}

/// Returns all skills at a path, which is a skill, a folder of skills, or any directory of a project. Links are not followed.
/// The flag is true if the search stopped at its limit.
pub fn candidates(path: &Path, trusted: &Trusted) -> std::io::Result<(Vec<TrustCandidate>, bool)> {
    let path = path.canonicalize()?;
    let path = if path.file_name().is_some_and(|name| name == SKILL_FILE) {
        path.parent().unwrap_or(&path).to_owned()
    } else {
        path
    };
    let mut room = MAX_ENTRIES;
    let mut places = Vec::new();
    // A SKILL.md makes its folder a candidate wherever it lies. Only a directory without one is searched for folders of
    // skills.
    if is_in_place(&path) || path.join(SKILL_FILE).exists() {
        places.push(path.clone());
    } else {
        find_places(&path, 0, &mut room, &mut places);
    }
    let bounds = Bounds::default();
    let mut found = Vec::new();
    for place in places {
        let Ok(folder) = SkillFolder::open(&place, &bounds) else { continue };
        if !matches!(folder.read(Path::new(SKILL_FILE), 0), Found::Absent) {
            found.push(candidate(&folder, trusted));
            continue;
        }
        let (folders, _) = skill_folders(&folder, &mut room);
        for relative in folders {
            // A link may lead elsewhere, but only targets below the given path are candidates.
            let real = place.join(&relative).canonicalize().ok().filter(|real| real.starts_with(&path));
            match real.map(|real| SkillFolder::open(&real, &bounds)) {
                Some(Ok(folder)) => found.push(candidate(&folder, trusted)),
                _ => found.push(outside(&place.join(&relative))),
            }
        }
    }
    Ok((found, room == 0))
}

/// Returns true if a path is a folder of skills or inside one.
fn is_in_place(path: &Path) -> bool {
    path.ancestors().any(|ancestor| {
        let name = |path: &Path| path.file_name().map(|name| name.to_owned());
        name(ancestor).is_some_and(|name| name == SKILLS)
            && ancestor.parent().and_then(name).is_some_and(|name| name == IN_DIRECTORIES || name == IN_ROOT)
    })
}

/// Finds folders of skills below a directory in order, without following links.
fn find_places(directory: &Path, depth: usize, room: &mut usize, places: &mut Vec<PathBuf>) {
    if is_in_place(directory) {
        places.push(directory.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        if *room == 0 {
            return;
        }
        *room -= 1;
        let is_searched = NOT_SEARCHED.iter().all(|name| entry.file_name() != *name);
        if is_searched && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below.push(entry.path());
        }
    }
    // Sorted so that a search that reaches its limit stops at the same place on every machine.
    below.sort();
    if depth < MAX_DEPTH {
        below.iter().for_each(|directory| find_places(directory, depth + 1, room, places));
    }
}

fn candidate(folder: &SkillFolder<'_>, trusted: &Trusted) -> TrustCandidate {
    let real = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned());
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // An unreadable folder becomes a candidate with a problem instead of being skipped: a user who trusts a whole
    // project must see what is not covered.
    let (contents, mut problem) = match folder.contents() {
        Ok(contents) => (contents, None),
        Err(problem) => (Default::default(), Some(problem)),
    };
    let file = contents.files.iter().find(|file| file.path == Path::new(SKILL_FILE));
    let mut slug = name.clone();
    match file {
        Some(file) => match front_matter::read(&String::from_utf8_lossy(&file.content.bytes), &name) {
            Ok((found, _)) => slug = found.name,
            Err(found) => problem = problem.or(Some(found)),
        },
        None => {
            let why = contents.left_out.iter().find(|(path, _)| path == Path::new(SKILL_FILE));
            let message = format!("its SKILL.md is {}", why.map_or("missing", |(_, why)| why));
            problem = problem.or(Some(SkillProblem::new(SkillReason::NotAFile, message)));
        }
    }
    TrustCandidate {
        slug,
        changes: trusted.of(&real).map(|pins| compare(pins, &contents.files)),
        folder: real,
        left_out: contents.left_out,
        problem: problem.map(|problem| (problem.reason, problem.message)),
        files: contents.files,
    }
}

fn outside(folder: &Path) -> TrustCandidate {
    let message = "it is a link that leads elsewhere; name the folder itself".to_owned();
    TrustCandidate {
        slug: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        folder: folder.to_owned(),
        left_out: Vec::new(),
        changes: None,
        problem: Some((SkillReason::Outside, message)),
        files: Vec::new(),
    }
}

impl TrustCandidate {
    /// Returns true if the user has trusted exactly this content.
    pub fn is_trusted(&self) -> bool {
        self.changes.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns path, bytes and digest of each file.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &[u8], &instructions::ContentHash)> {
        let files = self.files.iter();
        files.map(|file| (file.path.as_path(), file.content.bytes.as_slice(), &file.content.sha256))
    }

    /// Returns the difference from the trusted file as a unified diff, or a description if there is no text to compare.
    pub fn diff(&self, change: &TrustChange, trust_file: &TrustFile) -> String {
        let new = self.files.iter().find(|file| file.path == change.path).map(|file| &file.content.bytes);
        let old = change.old.as_ref().and_then(|sha256| trust_file.copy(sha256));
        let as_text = |bytes: &[u8]| {
            let is_text = bytes.len() <= MAX_COPY_BYTES && !bytes.contains(&0);
            is_text.then(|| String::from_utf8_lossy(bytes).into_owned())
        };
        let old_text = match change.difference {
            TrustChangeKind::Added => Some(String::new()),
            // The copy may be missing, because large files are not copied, and binary ones are no help as text. The
            // change is then described by its digests.
            _ => old.as_deref().and_then(as_text),
        };
        let new_text = match change.difference {
            TrustChangeKind::Removed => Some(String::new()),
            _ => new.and_then(|bytes| as_text(bytes)),
        };
        match (old_text, new_text) {
            (Some(old), Some(new)) => {
                let path = change.path.display().to_string();
                let name = |side: &str, is_there: bool| {
                    if is_there { format!("{side}/{path}") } else { "/dev/null".to_owned() }
                };
                let names = (name("trusted", change.old.is_some()), name("now", change.new.is_some()));
                diff::LineDiff::new(&old, &new).unified(&names.0, &names.1)
            }
            _ => {
                let digest = |sha256: &Option<instructions::ContentHash>| {
                    sha256.as_ref().map_or("none".to_owned(), ToString::to_string)
                };
                format!(
                    "{change}: no text to compare, {} before, {} now\n",
                    digest(&change.old),
                    digest(&change.new)
                )
            }
        }
    }
}
