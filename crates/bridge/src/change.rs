//! Changes to somebody's files: shown first, made in one step, recorded, and undone.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use diff::LineDiff;
use instructions::file::{Found, read_anywhere};
use instructions::{ContentHash, stored_path};
use serde::{Deserialize, Serialize};

/// Largest file that is changed.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Nothing.
    Absent,
    /// A file with this text.
    Text(String),
    /// A link that leads there.
    Link(#[serde(with = "stored_path")] PathBuf),
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// What is there.
    pub before: Content,
    /// What should be there.
    pub after: Content,
}

/// Why a file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The system refused.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What there is to change is not known.
    #[error("not everything could be looked at: {0}")]
    Unseen(String),
    /// It is nothing that could be changed.
    #[error("{} is left as it is: {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl ChangeError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn refused(path: &Path, reason: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.into() }
    }
}

impl Content {
    /// What is at a path; links are looked at, not followed.
    pub fn at(path: &Path) -> Result<Self, ChangeError> {
        match path.symlink_metadata() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Self::Absent)
            }
            Err(error) => Err(ChangeError::io("look at", path)(error)),
            Ok(metadata) if metadata.is_symlink() => {
                Ok(Self::Link(path.read_link().map_err(ChangeError::io("read", path))?))
            }
            Ok(_) => match read_anywhere(path, MAX_BYTES) {
                Found::File { content, .. } if !content.whole => {
                    Err(ChangeError::refused(path, format!("it has more than {MAX_BYTES} bytes")))
                }
                Found::File { content, .. } => String::from_utf8(content.bytes.clone())
                    .map(Self::Text)
                    .map_err(|_| ChangeError::refused(path, "it is not UTF-8")),
                Found::Absent => Ok(Self::Absent),
                Found::Unreadable { reason } => {
                    Err(ChangeError::io("read", path)(io::Error::other(reason.to_string())))
                }
                Found::NotAFile { .. } | Found::Outside | Found::Private => {
                    Err(ChangeError::refused(path, "it is not a file"))
                }
            },
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Absent | Self::Link(_) => "",
        }
    }

    fn digest(&self) -> ContentHash {
        match self {
            Self::Absent => ContentHash::of("absent"),
            Self::Text(text) => ContentHash::of(format!("text\0{text}")),
            Self::Link(target) => ContentHash::of(format!("link\0{}", target.display())),
        }
    }
}

impl Change {
    /// The change as people read it: a unified diff, or a line for a link.
    pub fn describe(&self, name: &str) -> String {
        match (&self.before, &self.after) {
            (_, Content::Link(target)) => format!("link {name} -> {}\n", target.display()),
            (Content::Link(target), Content::Absent) => {
                format!("remove the link {name} -> {}\n", target.display())
            }
            (before, after) => {
                let of = |content: &Content| match content {
                    Content::Absent => "/dev/null".to_owned(),
                    _ => name.to_owned(),
                };
                LineDiff::new(before.text(), after.text()).unified(&of(before), &of(after))
            }
        }
    }

    /// Makes it, if the file is still as it was looked at. Answers with how many directories were made for it.
    fn make(&self) -> Result<usize, ChangeError> {
        if Content::at(&self.path)? != self.before {
            return Err(ChangeError::refused(&self.path, "it has just been changed; try again"));
        }
        let directory = self.path.parent().unwrap_or(&self.path);
        let made = directory.ancestors().take_while(|above| !above.exists()).count();
        match &self.after {
            Content::Absent => {
                std::fs::remove_file(&self.path).map_err(ChangeError::io("remove", &self.path))?
            }
            Content::Text(text) => {
                std::fs::create_dir_all(directory).map_err(ChangeError::io("make", directory))?;
                replace(&self.path, text).map_err(ChangeError::io("write", &self.path))?;
            }
            Content::Link(target) => {
                std::fs::create_dir_all(directory).map_err(ChangeError::io("make", directory))?;
                link(target, &self.path).map_err(ChangeError::io("link", &self.path))?;
            }
        }
        Ok(made)
    }
}

/// Where a project's file really is. A link of the project's may lead elsewhere in it; nothing outside is changed, because
/// whoever wrote the link would decide what.
pub(crate) fn inside(project: &Path, path: &Path) -> Result<PathBuf, ChangeError> {
    let real = |path: &Path| path.canonicalize().map_err(ChangeError::io("follow", path));
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok()).unwrap_or(path);
    let below = path.strip_prefix(there).unwrap_or(Path::new(""));
    let followed = if below.as_os_str().is_empty() { real(there)? } else { real(there)?.join(below) };
    if followed.starts_with(real(project)?) {
        let is_linked = path.is_symlink();
        return Ok(if is_linked { followed } else { path.to_owned() });
    }
    Err(ChangeError::refused(path, format!("it leads to {}, outside of the project", followed.display())))
}

/// Replaces a file in one step; it keeps its permissions.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    let mut file = tempfile::Builder::new().prefix(".foreword-").tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let known = path.metadata().map(|metadata| metadata.permissions());
        let permissions = known.unwrap_or_else(|_| std::fs::Permissions::from_mode(0o644));
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What was changed, so that it can be undone: one record for each file and reason.
pub struct Journal<'a> {
    /// Where records are kept.
    pub directory: &'a Path,
    /// What the changes are for, such as `sync`.
    pub reason: &'a str,
}

/// How a change was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Undone {
    /// The file is as it was before, to the byte.
    Restored,
    /// Somebody has changed the file since; only what is ours was taken out.
    TakenOut,
}

#[derive(Serialize, Deserialize)]
struct Record {
    reason: String,
    #[serde(with = "stored_path")]
    path: PathBuf,
    before: Content,
    after: ContentHash,
    /// What an earlier change left, until this one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<ContentHash>,
    /// How many of the directories above it were made for it.
    made: usize,
}

impl Record {
    /// Whether a file is as we left it.
    fn left(&self, now: &Content) -> bool {
        let now = now.digest();
        self.after == now || self.replaced.as_ref() == Some(&now)
    }
}

impl Journal<'_> {
    /// Makes a change and remembers it. A second one for the same reason goes back to what was before the first, if
    /// nobody else has changed the file in between.
    pub fn make(&self, change: &Change) -> Result<(), ChangeError> {
        let earlier = self.record(&change.path).filter(|record| record.left(&change.before));
        let mut record = Record {
            reason: self.reason.to_owned(),
            path: change.path.clone(),
            before: change.before.clone(),
            after: change.after.digest(),
            replaced: None,
            made: 0,
        };
        // Written first: a change without its record could not be undone.
        let kept = earlier.map(|earlier| (earlier.before, earlier.made));
        if let Some((before, made)) = kept {
            record.before = before;
            record.made = made;
            record.replaced = Some(change.before.digest());
        }
        self.keep(&record)?;
        let made = change.make()?;
        if made > 0 || record.replaced.is_some() {
            record.made = record.made.max(made);
            record.replaced = None;
            self.keep(&record)?;
        }
        Ok(())
    }

    /// What undoing would change: the file as it was before if it is as we left it, else without what `take_out` takes.
    /// None where nothing is ours.
    pub fn undoing(
        &self,
        path: &Path,
        take_out: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Option<(Change, Undone)>, ChangeError> {
        let now = Content::at(path)?;
        let record = self.record(path);
        if let Some(record) = record.as_ref().filter(|record| record.left(&now)) {
            // What was there before may have had entries of ours, of a change that somebody else's came after.
            let after = match &record.before {
                Content::Text(text) => match take_out(text) {
                    Ok(without) => Content::Text(without),
                    Err(_) => record.before.clone(),
                },
                before => before.clone(),
            };
            let undone = if after == record.before { Undone::Restored } else { Undone::TakenOut };
            return Ok(Some((Change { path: path.to_owned(), before: now, after }, undone)));
        }
        let Content::Text(text) = &now else { return Ok(None) };
        let without = take_out(text).map_err(|reason| ChangeError::refused(path, reason))?;
        if without == *text {
            return Ok(None);
        }
        let was_absent = record.is_some_and(|record| record.before == Content::Absent);
        let is_empty = serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&without)
            .is_ok_and(|fields| fields.is_empty());
        let after = if was_absent && is_empty { Content::Absent } else { Content::Text(without) };
        Ok(Some((Change { path: path.to_owned(), before: now, after }, Undone::TakenOut)))
    }

    /// Makes the change that undoes another, and forgets that one.
    pub fn undo(&self, change: &Change) -> Result<(), ChangeError> {
        change.make()?;
        let record = self.record(&change.path);
        self.forget(&change.path);
        if change.after == Content::Absent {
            let made = record.map_or(0, |record| record.made);
            for directory in change.path.ancestors().skip(1).take(made) {
                // Not where somebody has put something into it.
                let _ = std::fs::remove_dir(directory);
            }
        }
        Ok(())
    }

    /// Forgets what was recorded of a file.
    pub fn forget(&self, path: &Path) {
        let _ = std::fs::remove_file(self.place(path));
    }

    /// The files below a directory that were changed for this reason.
    pub fn changed_below(&self, directory: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory).into_iter().flatten().flatten();
        let records = entries.filter_map(|entry| read(&entry.path()));
        let ours =
            records.filter(|record| record.reason == self.reason && record.path.starts_with(directory));
        let mut paths: Vec<PathBuf> = ours.map(|record| record.path).collect();
        paths.sort();
        paths
    }

    fn place(&self, path: &Path) -> PathBuf {
        let name = ContentHash::of(format!("{}\0{}", self.reason, path.display()));
        self.directory.join(format!("{name}.json"))
    }

    fn record(&self, path: &Path) -> Option<Record> {
        read(&self.place(path)).filter(|record| record.path == path && record.reason == self.reason)
    }

    /// A record holds what was in somebody's settings, so it is for this user alone.
    fn keep(&self, record: &Record) -> Result<(), ChangeError> {
        let path = self.place(&record.path);
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(self.directory).map_err(ChangeError::io("make", self.directory))?;
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(self.directory)?;
            serde_json::to_writer(&mut file, record)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(ChangeError::io("write", &path))
    }
}

fn read(path: &Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
