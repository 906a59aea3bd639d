//! The folder of a skill, opened once; nothing outside of it is read.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::contained_path;
use instructions::file::{Bounds, Content, Found, Stamp, read_beneath};
use protocol::SkillReason;
use rustix::fs::{Dir, FileType, Mode};
use rustix::io::Errno;

use crate::front_matter::SkillProblem;
use crate::limits::{MAX_FOLDER_DEPTH, MAX_SKILL_BYTES, MAX_SKILL_FILES};

/// File that every skill has.
pub(crate) const SKILL_FILE: &str = "SKILL.md";
/// Directory of a folder that is a repository; its history is not part of the skill.
const NOT_OF_A_SKILL: &str = ".git";

/// Error reading a file of a skill.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReadError {
    /// The file does not exist.
    #[error("the skill `{slug}` has no file `{file}`")]
    Absent {
        /// Slug of the skill.
        slug: String,
        /// Requested file.
        file: String,
    },
    /// The path leads outside of the skill's folder.
    #[error("`{file}` leads out of the folder of the skill `{slug}`")]
    Outside {
        /// Slug of the skill.
        slug: String,
        /// Requested file.
        file: String,
    },
    /// The file differs from the trusted version, or from the one that was listed.
    #[error("`{file}` of the skill `{slug}` has changed since it was {since}")]
    Changed {
        /// Slug of the skill.
        slug: String,
        /// Requested file.
        file: String,
        /// Either "trusted" or "found".
        since: &'static str,
    },
    /// The file is not text.
    #[error("`{file}` in skill `{slug}` is not text: {reason}")]
    NotText {
        /// Slug of the skill.
        slug: String,
        /// Requested file.
        file: String,
        /// Kind of content.
        reason: String,
    },
    /// The file is unreadable or too large.
    #[error("`{file}` of the skill `{slug}` cannot be read: {reason}")]
    Unreadable {
        /// Slug of the skill.
        slug: String,
        /// Requested file.
        file: String,
        /// Reason for the failure.
        reason: String,
    },
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct SkillFolder<'a> {
    path: PathBuf,
    descriptor: OwnedFd,
    bounds: &'a Bounds<'a>,
}

/// A file of a skill with its content.
#[derive(Debug, Clone)]
pub(crate) struct FolderFile {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
    pub(crate) content: Arc<Content>,
}

/// All files in a skill's folder.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Files, sorted by path.
    pub(crate) files: Vec<FolderFile>,
    /// Directories, whose state shows added and removed files.
    pub(crate) directories: Vec<(PathBuf, Stamp)>,
    /// Objects that are not files of the skill, with the reason.
    pub(crate) left_out: Vec<(PathBuf, String)>,
}

impl<'a> SkillFolder<'a> {
    /// Opens a folder of the user, following links anywhere.
    pub(crate) fn open(path: &Path, bounds: &'a Bounds<'a>) -> Result<Self, Errno> {
        let descriptor = rustix::fs::open(path, contained_path::directory_flags(), Mode::empty())?;
        Ok(Self { path: path.to_owned(), descriptor, bounds })
    }

    /// Opens a folder below this one. A path that leads outside is the error `XDEV`.
    pub(crate) fn open_below(&self, relative: &Path) -> Result<Self, Errno> {
        // Every component is opened relative to the previous one, so a directory that is replaced with a link in the
        // meantime cannot redirect the path out of the folder.
        let followed = contained_path::follow(self.descriptor.as_fd(), &[&self.path], relative)?;
        let entry = followed.entry.ok_or(Errno::NOENT)?;
        if contained_path::file_type(&entry.stat) != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        let path = self.path.join(relative);
        Ok(Self { path, descriptor: entry.descriptor, bounds: self.bounds })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn read(&self, relative: &Path, max_bytes: u64) -> Found {
        read_beneath(self.descriptor.as_fd(), &self.path, relative, self.bounds, max_bytes)
    }

    /// Lists the names in a directory of the folder in order, with their types.
    pub(crate) fn list(&self, relative: &Path) -> Result<(Stamp, Vec<(PathBuf, FileType)>), Errno> {
        let at = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let descriptor = contained_path::open(self.descriptor.as_fd(), &self.path, at)?;
        // The stamp is taken before listing, so that a change in between invalidates the cached result.
        let stamp = Stamp::of(&rustix::fs::fstat(&descriptor)?);
        let mut names = Vec::new();
        for entry in Dir::new(descriptor)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." && name != NOT_OF_A_SKILL {
                names.push((relative.join(name), entry.file_type()));
            }
        }
        // The order of a directory differs between file systems. Sorting keeps the listing and the choice of a file
        // that exceeds a limit the same on every machine.
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok((stamp, names))
    }

    /// Reads all files of a skill. Exceeding a limit is an error, because a skill is trusted as a whole.
    pub(crate) fn contents(&self) -> Result<Contents, SkillProblem> {
        let mut contents = Contents::default();
        // The limit applies to all files together. With a limit per file only, a skill of many files could still fill
        // the memory.
        let mut room = MAX_SKILL_BYTES;
        self.collect(Path::new(""), 0, &mut room, &mut contents)?;
        contents.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(contents)
    }

    fn collect(
        &self,
        relative: &Path,
        depth: usize,
        room: &mut u64,
        contents: &mut Contents,
    ) -> Result<(), SkillProblem> {
        let too_large = |what: String| Err(SkillProblem::new(SkillReason::TooLarge, what));
        let (stamp, names) = self.list(relative).map_err(|errno| {
            let path = self.path.join(relative);
            let error = std::io::Error::from(errno);
            SkillProblem::new(SkillReason::Unreadable, format!("cannot list {}: {error}", path.display()))
        })?;
        contents.directories.push((self.path.join(relative), stamp));
        for (path, kind) in names {
            if kind == FileType::Directory {
                if depth >= MAX_FOLDER_DEPTH {
                    return too_large(format!(
                        "it has more than {MAX_FOLDER_DEPTH} directories in each other"
                    ));
                }
                self.collect(&path, depth + 1, room, contents)?;
                continue;
            }
            // Objects that are left out count as well. Otherwise a folder with a million links would pass the limit and
            // still cost a million lookups.
            if contents.files.len() + contents.left_out.len() >= MAX_SKILL_FILES {
                return too_large(format!("it has more than {MAX_SKILL_FILES} files"));
            }
            let why_not = match self.read(&path, *room) {
                Found::File { content, .. } if !content.whole => {
                    return too_large(format!("its files have more than {MAX_SKILL_BYTES} bytes"));
                }
                Found::File { stamp, content } => {
                    *room -= content.bytes.len() as u64;
                    contents.files.push(FolderFile { path, stamp, content });
                    continue;
                }
                Found::Absent => "a link that leads nowhere".to_owned(),
                Found::NotAFile { kind: "directory", .. } => "a link to a directory".to_owned(),
                Found::NotAFile { kind, .. } => format!("a {kind}"),
                Found::Outside => "a link that leads out of the skill's folder".to_owned(),
                Found::Private => "a file that is kept from every project".to_owned(),
                Found::Unreadable { reason } => format!("it cannot be read: {reason}"),
            };
            contents.left_out.push((path, why_not));
        }
        Ok(())
    }
}
