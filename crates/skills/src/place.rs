//! Directories with skills, nearest first.

use std::path::{Path, PathBuf};

use crate::catalogue::SkillRequest;

/// Parent of the folder of skills in every directory of a project, and in the root only.
pub(crate) const IN_DIRECTORIES: &str = ".agents";
pub(crate) const IN_ROOT: &str = ".foreword";
/// Name of the folder of skills.
pub(crate) const SKILLS: &str = "skills";

/// Owner of skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkillOrigin {
    /// The user: the home directory, and folders that the user's configuration names.
    User,
    /// A project, whose skills must be trusted.
    Project,
}

/// A directory that contains folders of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillDirectory {
    pub(crate) directory: PathBuf,
    pub(crate) origin: SkillOrigin,
    /// Directory that globs of its skills are relative to.
    pub(crate) base: Option<PathBuf>,
}

/// Returns the directories of a request. At the root, `.foreword` precedes `.agents`; the user's own come last.
pub(crate) fn places(request: &SkillRequest<'_>) -> Vec<SkillDirectory> {
    let mut places = Vec::new();
    if let Some(root) = request.root {
        // A working directory outside the root would make `ancestors` miss the root and end without any directory of
        // the project. The root's own skills still apply then.
        let cwd = request.cwd.filter(|cwd| cwd.starts_with(root)).unwrap_or(root);
        let in_project = |directory: &Path, name: &str| SkillDirectory {
            directory: directory.join(name).join(SKILLS),
            origin: SkillOrigin::Project,
            base: Some(directory.to_owned()),
        };
        for directory in cwd.ancestors().take_while(|directory| directory.starts_with(root)) {
            if directory == root {
                places.push(in_project(root, IN_ROOT));
            }
            places.push(in_project(directory, IN_DIRECTORIES));
        }
    }
    let own = [request.home.join(SKILLS)].into_iter().chain(request.folders.iter().cloned());
    places.extend(own.map(|directory| SkillDirectory {
        directory,
        origin: SkillOrigin::User,
        // The user's skills have no place inside a project, so their globs are relative to the root of whichever
        // project uses them.
        base: request.root.map(Path::to_owned),
    }));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_directory_comes_first() {
        let folders = [PathBuf::from("/shared")];
        let request = SkillRequest {
            root: Some(Path::new("/r")),
            cwd: Some(Path::new("/r/a/b")),
            folders: &folders,
            ..SkillRequest::new(Path::new("/h"))
        };
        let places = places(&request);
        let directories: Vec<&Path> = places.iter().map(|place| place.directory.as_path()).collect();
        let expected = [
            "/r/a/b/.agents/skills",
            "/r/a/.agents/skills",
            "/r/.foreword/skills",
            "/r/.agents/skills",
            "/h/skills",
            "/shared",
        ];
        assert_eq!(directories, expected.map(Path::new));
        assert_eq!(places[1].base.as_deref(), Some(Path::new("/r/a")));
        assert_eq!((places[4].origin, places[4].base.as_deref()), (SkillOrigin::User, Some(Path::new("/r"))));
    }

    #[test]
    fn user_directories_exist_without_a_project() {
        let places = places(&SkillRequest::new(Path::new("/h")));
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].base, None);
    }
}
