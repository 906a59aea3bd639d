//! Walks a tree by descriptors. No link is followed, so the walk cannot leave the root, and only directories and regular
//! files are opened.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use instructions::contained_path::file_type;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::lines::SearchMatches;
use crate::FileError;
use crate::files::blocking::BlockingWork;
use crate::files::location::{ContainedRoot, Location, read_flags};

/// Files with ignore rules of a directory.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];
/// File with ignore rules of a whole repository.
const REPOSITORY_IGNORE_FILE: &str = ".git/info/exclude";
/// Directories of version control systems.
const REPOSITORIES: &[&str] = &[".git", ".jj", ".hg", ".svn"];
/// Most bytes read of a file with ignore rules.
const MAX_IGNORE_BYTES: u64 = 1 << 20;
/// Greatest depth of directories; each level keeps a descriptor open.
const MAX_DEPTH: usize = 100;

/// A walk through a tree.
pub(super) struct TreeWalk<'a> {
    root: &'a Arc<ContainedRoot>,
    /// Resolved paths that are skipped.
    hidden: &'a [PathBuf],
    work: &'a BlockingWork,
    /// Ignore rules of the directories above, the nearest last.
    rules: Vec<Gitignore>,
    /// Entries that may still be visited.
    left: usize,
    /// True if that limit was reached.
    pub(super) cut_short: bool,
    /// True if a directory was too deep.
    pub(super) too_deep: bool,
    depth: usize,
}

/// Action after an entry.
#[derive(PartialEq, Eq)]
enum WalkStep {
    Continue,
    Stop,
}

impl<'a> TreeWalk<'a> {
    pub(super) fn new(
        root: &'a Arc<ContainedRoot>,
        hidden: &'a [PathBuf],
        work: &'a BlockingWork,
        limit: usize,
    ) -> Self {
        Self {
            root,
            hidden,
            work,
            rules: Vec::new(),
            left: limit,
            cut_short: false,
            too_deep: false,
            depth: 0,
        }
    }

    /// Searches a directory and everything below it.
    pub(super) fn directory(
        &mut self,
        start: &Location,
        globs: &Override,
        found: &mut SearchMatches<'_>,
    ) -> Result<(), FileError> {
        // The search may start below the root, but rules of the directories above apply as well.
        self.add_rules(self.root.descriptor(), Path::new(""), &[REPOSITORY_IGNORE_FILE]);
        let above: Vec<&Path> = start.below().ancestors().skip(1).collect();
        for below in above.into_iter().rev() {
            let directory = self.root.find(below, below)?.open_directory()?;
            self.add_rules(directory.as_fd(), below, IGNORE_FILES);
        }
        let descriptor = start.open_directory()?;
        self.enter(&descriptor, start.below(), globs, found);
        Ok(())
    }

    fn enter(
        &mut self,
        directory: &OwnedFd,
        below: &Path,
        globs: &Override,
        found: &mut SearchMatches<'_>,
    ) -> WalkStep {
        // The walk continues beside the directory that is too deep. The answer reports it, so that a missing match is
        // not taken for proof.
        if self.depth == MAX_DEPTH {
            self.too_deep = true;
            return WalkStep::Continue;
        }
        self.depth += 1;
        let before = self.rules.len();
        self.add_rules(directory.as_fd(), below, IGNORE_FILES);
        let mut next = WalkStep::Continue;
        for (name, kind) in self.names(directory) {
            if next == WalkStep::Continue {
                next = self.entry(directory, &below.join(&name), kind, globs, found);
            }
        }
        self.rules.truncate(before);
        self.depth -= 1;
        next
    }

    fn entry(
        &mut self,
        directory: &OwnedFd,
        below: &Path,
        kind: FileType,
        globs: &Override,
        found: &mut SearchMatches<'_>,
    ) -> WalkStep {
        let (Some(name), Ok(())) = (below.file_name(), self.work.check()) else { return WalkStep::Stop };
        let is_directory = kind == FileType::Directory;
        let path = self.root.real().join(below);
        let unwanted = globs.matched(&path, is_directory).is_ignore() || self.is_ignored(&path, is_directory);
        match kind {
            _ if unwanted => {}
            // Links are never followed here, so the path is the resolved one and comparing it with the hidden paths is
            // enough.
            _ if self.hidden.contains(&path) => {}
            FileType::Directory if REPOSITORIES.iter().any(|repository| name == *repository) => {}
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                match rustix::fs::openat(directory, name, flags, Mode::empty()) {
                    Ok(inner) => return self.enter(&inner, below, globs, found),
                    Err(errno) => found.fail(&path, std::io::Error::from(errno).to_string()),
                }
            }
            FileType::RegularFile => {
                match open(directory.as_fd(), name.as_ref()) {
                    Ok(Some(file)) => found.search(file, &path),
                    Ok(None) => {}
                    Err(errno) => found.fail(&path, std::io::Error::from(errno).to_string()),
                }
                if found.is_full() {
                    return WalkStep::Stop;
                }
            }
            _ => {}
        }
        WalkStep::Continue
    }

    /// Returns the sorted names in a directory, as many as may still be visited.
    fn names(&mut self, directory: &OwnedFd) -> Vec<(OsString, FileType)> {
        let mut names = Vec::new();
        let Ok(entries) = Dir::read_from(directory) else { return names };
        for entry in entries.flatten() {
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            if self.left == 0 {
                self.cut_short = true;
                break;
            }
            // Counted while listing and not while searching, because the names of a huge directory alone cost time and
            // memory.
            self.left -= 1;
            let kind = match entry.file_type() {
                // Some file systems do not report the type.
                FileType::Unknown => rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| file_type(&stat)),
                kind => kind,
            };
            names.push((name, kind));
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }

    fn add_rules(&mut self, directory: BorrowedFd<'_>, below: &Path, files: &[&str]) {
        let path = self.root.real().join(below);
        for name in files {
            let Ok(Some(file)) = open(directory, Path::new(name)) else { continue };
            let mut bytes = Vec::new();
            if file.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes).is_err() {
                continue;
            }
            let mut builder = GitignoreBuilder::new(&path);
            for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
                // An invalid line must not disable the others.
                let _ = builder.add_line(None, line);
            }
            self.rules.extend(builder.build().ok().filter(|rules| !rules.is_empty()));
        }
    }

    fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        // The nearest rule wins, as in git, which is why an inner `!pattern` can undo an outer rule.
        for rules in self.rules.iter().rev() {
            match rules.matched(path, is_directory) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

/// Opens `name` and rejects anything that is not a regular file.
fn open(directory: BorrowedFd<'_>, name: &Path) -> Result<Option<File>, rustix::io::Errno> {
    let descriptor = rustix::fs::openat(directory, name, read_flags(), Mode::empty())?;
    let stat = rustix::fs::fstat(&descriptor)?;
    Ok((file_type(&stat) == FileType::RegularFile).then(|| File::from(descriptor)))
}
