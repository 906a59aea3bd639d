//! Finds the folders of a place that are skills.

use std::path::{Path, PathBuf};

use instructions::file::Stamp;
use rustix::fs::FileType;

use crate::folder::{Folder, SKILL_FILE};
use crate::limits::MAX_GROUP_DEPTH;

/// The skills below an open folder, by path, and the directories that were listed for that. A folder without a SKILL.md
/// groups others; what begins with a dot is no skill. `room` is how many entries may still be looked at.
pub(crate) fn skill_folders(place: &Folder<'_>, room: &mut usize) -> (Vec<PathBuf>, Vec<(PathBuf, Stamp)>) {
    let (mut found, mut listed) = (Vec::new(), Vec::new());
    search(place, Path::new(""), 0, room, &mut found, &mut listed);
    (found, listed)
}

fn search(
    place: &Folder<'_>,
    relative: &Path,
    depth: usize,
    room: &mut usize,
    found: &mut Vec<PathBuf>,
    listed: &mut Vec<(PathBuf, Stamp)>,
) {
    let Ok((stamp, names)) = place.list(relative) else {
        // A link that leads out, or a folder that nobody may read: the reason is found when it is opened.
        if !relative.as_os_str().is_empty() {
            found.push(relative.to_owned());
        }
        return;
    };
    // Whatever a SKILL.md is, a folder with one is a skill's.
    if depth > 0 && names.iter().any(|(path, _)| path.file_name().is_some_and(|name| name == SKILL_FILE)) {
        found.push(relative.to_owned());
        return;
    }
    listed.push((place.path().join(relative), stamp));
    for (path, kind) in names {
        if *room == 0 {
            return;
        }
        *room -= 1;
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let may_be_a_folder = match kind {
            FileType::Directory => true,
            // One that leads nowhere may have been meant for a skill, and is reported as one.
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
