//! Finds the skill folders below a directory.

use std::path::{Path, PathBuf};

use instructions::file::Stamp;
use rustix::fs::FileType;

use crate::folder::{SKILL_FILE, SkillFolder};
use crate::limits::MAX_GROUP_DEPTH;

/// Returns the skills below an open folder by path, and the directories that were listed. A folder without a SKILL.md groups
/// others; names that begin with a dot are skipped. `room` is the number of entries that may still be visited.
pub(crate) fn skill_folders(
    place: &SkillFolder<'_>,
    room: &mut usize,
) -> (Vec<PathBuf>, Vec<(PathBuf, Stamp)>) {
    let mut found = Vec::new();
    let mut listed = Vec::new();
    search(place, Path::new(""), 0, room, &mut found, &mut listed);
    (found, listed)
}

fn search(
    place: &SkillFolder<'_>,
    relative: &Path,
    depth: usize,
    room: &mut usize,
    found: &mut Vec<PathBuf>,
    listed: &mut Vec<(PathBuf, Stamp)>,
) {
    let Ok((stamp, names)) = place.list(relative) else {
        // A link that leads outside or an unreadable folder; opening it later yields the reason.
        if !relative.as_os_str().is_empty() {
            found.push(relative.to_owned());
        }
        return;
    };
    // Any object with that name counts, so that a broken SKILL.md is reported instead of being taken for a group.
    if depth > 0 && names.iter().any(|(path, _)| path.file_name().is_some_and(|name| name == SKILL_FILE)) {
        found.push(relative.to_owned());
        return;
    }
    listed.push((place.path().join(relative), stamp));
    for (path, kind) in names {
        if *room == 0 {
            return;
        }
        // Every entry counts, also those that are not descended into: a directory with a million plain files costs as
        // much as one with a million folders.
        *room -= 1;
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let may_be_a_folder = match kind {
            FileType::Directory => true,
            // A dangling link may have been meant as a skill and is reported as one.
            FileType::Symlink | FileType::Unknown => {
                place.path().join(&path).metadata().map_or(true, |metadata| metadata.is_dir())
            }
            _ => false,
        };
        if !is_hidden && may_be_a_folder && depth < MAX_GROUP_DEPTH {
            search(place, &path, depth + 1, room, found, listed);
        }
    }
}
