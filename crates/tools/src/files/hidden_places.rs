//! Protected places whose paths do not show it: targets of links at protected paths, and parts of bare repositories.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::contained_path::file_type;
use instructions::protected_paths;
use rustix::fs::{AtFlags, FileType};

use crate::files::location::ContainedRoot;
use crate::files::protection::{LINKED, OF_GIT};

/// Parts of a bare repository from which Git runs programs.
const OF_BARE_REPOSITORY: &[&str] = &["config", "config.worktree", "hooks"];

/// Returns the reason why a resolved path is protected although its names are not. Looks in the directories above it.
pub(crate) fn reason(root: &Arc<ContainedRoot>, below: &Path) -> Option<&'static str> {
    below.ancestors().skip(1).find_map(|directory| {
        let part = below.strip_prefix(directory).ok()?.iter().next()?;
        if OF_BARE_REPOSITORY.iter().any(|name| part.eq_ignore_ascii_case(name)) && is_bare(root, directory) {
            return Some(OF_GIT);
        }
        let mut linked = protected_paths().filter_map(|path| link_target(root, directory, path));
        linked.any(|target| below.starts_with(target)).then_some(LINKED)
    })
}

fn is_bare(root: &Arc<ContainedRoot>, directory: &Path) -> bool {
    let opened = root.find(directory, directory).and_then(|place| place.open_directory());
    opened.is_ok_and(|opened| is_bare_repository(opened.as_fd()))
}

/// Returns true if Git would take a directory for a repository.
pub(crate) fn is_bare_repository(directory: BorrowedFd<'_>) -> bool {
    let is = |name: &str, kind: FileType| {
        rustix::fs::statat(directory, name, AtFlags::empty()).is_ok_and(|stat| file_type(&stat) == kind)
    };
    // In this order, because nearly every directory has no HEAD.
    is("HEAD", FileType::RegularFile) && is("objects", FileType::Directory) && is("refs", FileType::Directory)
}

/// Returns the protected parts of a bare repository.
pub(crate) fn of_bare_repository(directory: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    OF_BARE_REPOSITORY.iter().map(|part| directory.join(part))
}

/// Returns the places that a link named `name` protects: its target, or the parts of the target that are protected when they
/// are reached through the link.
pub(crate) fn link_targets(root: &Arc<ContainedRoot>, directory: &Path, name: &OsStr) -> Vec<PathBuf> {
    let through = protected_paths().filter(|path| Path::new(path).iter().next() == Some(name));
    through.filter_map(|path| link_target(root, directory, path)).collect()
}

/// Returns the resolved place of a protected path, relative to the root. `None` if no link is on the way or it leads outside.
fn link_target(root: &Arc<ContainedRoot>, directory: &Path, protected: &str) -> Option<PathBuf> {
    let first = Path::new(protected).iter().next()?;
    // Nearly all paths end here, after one system call.
    root.real().join(directory).join(first).symlink_metadata().ok()?;
    let below = directory.join(protected);
    let found = root.find(&below, &below).ok()?.below().to_owned();
    // A link to the root itself must not make everything read-only.
    (found != below && !found.as_os_str().is_empty()).then_some(found)
}
