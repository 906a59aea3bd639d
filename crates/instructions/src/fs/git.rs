//! Detection of Git repositories without running Git.

use std::path::{Path, PathBuf};

use crate::cache::Marker;
use crate::fs::file::{self, Bounds, Found};
use crate::fs::source::FileSource;
use crate::profile::MarkerCheck;

/// Largest of Git's own small files that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// Checks whether a `.git` entry marks the top of a repository.
pub(crate) fn marker(dot_git: &Path, check: MarkerCheck, source: &FileSource) -> Marker {
    // A snapshot has no repository of its own, only the one that it was taken from, which is on disk.
    let Some(dot_git) = source.on_disk(dot_git) else { return Marker::Absent };
    let dot_git = dot_git.as_ref();
    let Ok(metadata) = std::fs::symlink_metadata(dot_git) else { return Marker::Absent };
    match check {
        MarkerCheck::Present => Marker::Present,
        MarkerCheck::DirectoryOrFile => {
            if metadata.is_dir() || metadata.is_file() {
                Marker::Present
            } else {
                Marker::Absent
            }
        }
        MarkerCheck::DirectoryOrGitFile => match dot_git.metadata() {
            Ok(metadata) if metadata.is_dir() => Marker::Present,
            Ok(metadata) if metadata.is_file() && names_directory(dot_git) => Marker::Present,
            _ => Marker::Absent,
        },
        MarkerCheck::RepositoryOrFile => match dot_git.metadata() {
            // Another file than Git's own ends the search without a root.
            Ok(metadata) if metadata.is_file() => match names_directory(dot_git) {
                true => Marker::Present,
                false => Marker::Refused,
            },
            Ok(metadata) if metadata.is_dir() && is_repository(dot_git) => Marker::Present,
            _ => Marker::Absent,
        },
        MarkerCheck::GitAccepts => match dot_git.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                // If the directory is not a repository, Git continues the search further up.
                if is_repository(dot_git) { Marker::Present } else { Marker::Absent }
            }
            // A `.git` file that leads to no repository is an error for Git.
            Ok(metadata) if metadata.is_file() => match directory_of(dot_git) {
                Some(directory) if is_repository(&directory) => Marker::Present,
                _ => Marker::Refused,
            },
            _ => Marker::Absent,
        },
    }
}

/// A worktree and the checkout of its repository.
pub(crate) struct Worktree {
    pub(crate) top: PathBuf,
    pub(crate) checkout: PathBuf,
}

impl Worktree {
    /// Returns true if a directory is in the checkout around the worktree.
    pub(crate) fn hides(&self, directory: &Path) -> bool {
        directory.starts_with(&self.checkout) && !directory.starts_with(&self.top)
    }
}

/// Returns the worktree around a directory, if it is inside the checkout of its own repository.
pub(crate) fn nested_worktree(directory: &Path, source: &FileSource) -> Option<Worktree> {
    let top = directory.ancestors().find(|directory| source.exists(&directory.join(".git")))?;
    let repository = common_directory(&directory_of(&top.join(".git"))?)?;
    let checkout = repository.parent().filter(|_| repository.file_name() == Some(".git".as_ref()))?;
    (top != checkout && top.starts_with(checkout))
        .then(|| Worktree { top: top.to_owned(), checkout: checkout.to_owned() })
}

/// Returns the text of one of Git's small files, or `None` if it is not a regular file.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    match file::read(path, &Bounds::default(), MAX_BYTES) {
        Found::File { content, .. } => String::from_utf8(content.bytes.to_vec()).ok(),
        _ => None,
    }
}

/// Returns the repository named in a `.git` file.
pub(crate) fn directory_of(dot_git: &Path) -> Option<PathBuf> {
    // A `.git` file of a worktree or submodule contains one line, `gitdir: PATH`, relative to its own directory.
    let text = text_of(dot_git)?;
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(crate::fs::path::normalise(Path::new(named), dot_git.parent()?))
}

/// Returns true if a `.git` file names a directory. Unlike Git, this allows white space before it.
fn names_directory(dot_git: &Path) -> bool {
    let text = text_of(dot_git).unwrap_or_default();
    text.trim().strip_prefix("gitdir:").is_some_and(|named| !named.trim().is_empty())
}

/// Returns the directory that a worktree's own directory shares with its repository.
pub(crate) fn common_directory(repository: &Path) -> Option<PathBuf> {
    let named = text_of(&repository.join("commondir"))?;
    Some(crate::fs::path::normalise(Path::new(named.trim()), repository))
}

fn is_repository(directory: &Path) -> bool {
    let common = common_directory(directory).unwrap_or_else(|| directory.to_owned());
    has_head(directory) && common.join("objects").is_dir() && common.join("refs").is_dir()
}

fn has_head(repository: &Path) -> bool {
    let head = repository.join("HEAD");
    // Very old repositories have a symbolic link as HEAD, which Git still accepts.
    if let Ok(target) = std::fs::read_link(&head) {
        return target.starts_with("refs");
    }
    let Some(text) = text_of(&head) else { return false };
    match text.strip_prefix("ref:") {
        Some(name) => name.trim_start().starts_with("refs/"),
        None => {
            let digits = text.trim_end();
            matches!(digits.len(), 40 | 64) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(directory: &Path) {
        std::fs::create_dir_all(directory.join("objects")).unwrap();
        std::fs::create_dir_all(directory.join("refs")).unwrap();
        std::fs::write(directory.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn what_git_accepts() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let dot_git = root.join("a/.git");
        let accepts = || marker(&dot_git, MarkerCheck::GitAccepts, &FileSource::Disk);
        assert_eq!(accepts(), Marker::Absent);
        std::fs::create_dir_all(&dot_git).unwrap();
        assert_eq!(accepts(), Marker::Absent, "an empty directory is passed by");
        repository(&dot_git);
        assert_eq!(accepts(), Marker::Present);
        std::fs::write(dot_git.join("HEAD"), "nonsense").unwrap();
        assert_eq!(accepts(), Marker::Absent);
        std::fs::write(dot_git.join("HEAD"), format!("{}\n", "0a".repeat(20))).unwrap();
        assert_eq!(accepts(), Marker::Present, "a detached head");
        std::fs::remove_dir_all(&dot_git).unwrap();
        std::fs::write(&dot_git, "gitdir: ../modules/a\n").unwrap();
        assert_eq!(accepts(), Marker::Refused, "a file that leads nowhere");
        repository(&root.join("modules/a"));
        assert_eq!(accepts(), Marker::Present);
    }

    #[test]
    fn a_worktree_in_its_own_repository() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let own = root.join(".git/worktrees/w");
        repository(&root.join(".git"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(root.join("trees/w/sub")).unwrap();
        std::fs::write(own.join("HEAD"), "ref: refs/heads/w\n").unwrap();
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        std::fs::write(root.join("trees/w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(
            marker(&root.join("trees/w/.git"), MarkerCheck::GitAccepts, &FileSource::Disk),
            Marker::Present
        );
        let found = nested_worktree(&root.join("trees/w/sub"), &FileSource::Disk).unwrap();
        assert_eq!((found.top, found.checkout), (root.join("trees/w"), root.to_owned()));
        assert!(nested_worktree(&root.join("trees"), &FileSource::Disk).is_none());
    }
}
