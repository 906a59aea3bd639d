//! Changes to users' files: previewed, applied atomically, recorded, and undone.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use diff::LineDiff;
use instructions::file::{Found, read_anywhere};
use instructions::{ContentHash, stored_path};
use serde::{Deserialize, Serialize};

// Settings have a few kilobytes. The limit keeps a huge file with a settings file's name out of memory and out of the
// journal, which stores the previous content.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Absent,
    Text(String),
    /// A link to this target.
    Link(#[serde(with = "stored_path")] PathBuf),
}

/// Change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub before: Content,
    pub after: Content,
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("could not {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// Some directories or files could not be examined.
    #[error("could not examine everything: {0}")]
    Unseen(String),
    /// The file cannot be changed safely.
    #[error("{} was left unchanged: {reason}", path.display())]
    Refused { path: PathBuf, reason: String },
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
    /// Reads the content of a path without following links.
    pub fn at(path: &Path) -> Result<Self, ChangeError> {
        match path.symlink_metadata() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Self::Absent)
            }
            Err(error) => Err(ChangeError::io("examine", path)(error)),
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

    // The kind is part of the digest. Otherwise a link and a text file that contains its target would count as the same
    // content, and undoing would replace one by the other.
    fn digest(&self) -> ContentHash {
        match self {
            Self::Absent => ContentHash::of("absent"),
            Self::Text(text) => ContentHash::of(format!("text\0{text}")),
            Self::Link(target) => ContentHash::of(format!("link\0{}", target.display())),
        }
    }
}

impl Change {
    /// Returns a unified diff, or one line for a link.
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

    /// Applies the change if the file still has the expected content. Returns the number of directories that were
    /// created.
    fn apply(&self) -> Result<usize, ChangeError> {
        // The user or the agent may have saved the file after the preview. Writing now would silently discard that.
        if Content::at(&self.path)? != self.before {
            return Err(ChangeError::refused(&self.path, "it was changed in the meantime; try again"));
        }
        let directory = self.path.parent().unwrap_or(&self.path);
        // Counted before the directories are created, so that undoing removes these and no others.
        let made = directory.ancestors().take_while(|above| !above.exists()).count();
        match &self.after {
            Content::Absent => {
                std::fs::remove_file(&self.path).map_err(ChangeError::io("remove", &self.path))?
            }
            Content::Text(text) => {
                std::fs::create_dir_all(directory).map_err(ChangeError::io("create", directory))?;
                replace(&self.path, text).map_err(ChangeError::io("write", &self.path))?;
            }
            Content::Link(target) => {
                std::fs::create_dir_all(directory).map_err(ChangeError::io("create", directory))?;
                link(target, &self.path).map_err(ChangeError::io("link", &self.path))?;
            }
        }
        Ok(made)
    }
}

/// Resolves a project file. A link may lead elsewhere within the project. Files outside are never changed, because
/// otherwise the author of the link would decide what we modify.
pub(crate) fn inside(project: &Path, path: &Path) -> Result<PathBuf, ChangeError> {
    let real = |path: &Path| path.canonicalize().map_err(ChangeError::io("follow", path));
    // The file often does not exist yet, so its nearest existing ancestor is resolved: a linked parent directory could
    // lead outside just as well as a linked file.
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok()).unwrap_or(path);
    let below = path.strip_prefix(there).unwrap_or(Path::new(""));
    let followed = if below.as_os_str().is_empty() { real(there)? } else { real(there)?.join(below) };
    if followed.starts_with(real(project)?) {
        // Only a file that is a link itself is replaced by its target, because renaming would replace the link itself.
        let is_linked = path.is_symlink();
        return Ok(if is_linked { followed } else { path.to_owned() });
    }
    Err(ChangeError::refused(path, format!("it leads to {}, outside of the project", followed.display())))
}

/// Replaces a file atomically, keeping its permissions.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    // In the same directory, because a rename is atomic only within one file system.
    let mut file = tempfile::Builder::new().prefix(".foreword-").tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Temporary files are readable by their owner only. A project's settings must stay readable for everyone who
        // could read them before.
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

/// Record of changes, so that they can be undone: one entry per file and reason.
pub struct Journal<'a> {
    /// Directory of the entries.
    pub directory: &'a Path,
    /// Purpose of the changes, such as `sync`.
    pub reason: &'a str,
}

/// Result of undoing a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Undone {
    /// The file is byte for byte as it was before.
    Restored,
    /// The file was changed by someone else since, so only our part was removed.
    TakenOut,
}

#[derive(Serialize, Deserialize)]
struct Record {
    reason: String,
    #[serde(with = "stored_path")]
    path: PathBuf,
    before: Content,
    after: ContentHash,
    /// Digest that an earlier change left, until this one is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<ContentHash>,
    /// Number of parent directories created for the file.
    made: usize,
}

impl Record {
    /// Returns true if a file is unchanged since our last change.
    fn left(&self, now: &Content) -> bool {
        let now = now.digest();
        self.after == now || self.replaced.as_ref() == Some(&now)
    }
}

impl Journal<'_> {
    /// Applies a change and records it. A second change for the same reason keeps the original content of the first
    /// one, unless someone else changed the file in between.
    pub fn apply(&self, change: &Change) -> Result<(), ChangeError> {
        let earlier = self.record(&change.path).filter(|record| record.left(&change.before));
        let mut record = Record {
            reason: self.reason.to_owned(),
            path: change.path.clone(),
            before: change.before.clone(),
            after: change.after.digest(),
            replaced: None,
            made: 0,
        };
        // Recorded before it is applied: a change without a record could not be undone.
        let kept = earlier.map(|earlier| (earlier.before, earlier.made));
        if let Some((before, made)) = kept {
            record.before = before;
            record.made = made;
            record.replaced = Some(change.before.digest());
        }
        self.keep(&record)?;
        // From here on the file has the old or the new content, depending on where a crash happens. The record accepts
        // both, so undoing works either way.
        let made = change.apply()?;
        if made > 0 || record.replaced.is_some() {
            record.made = record.made.max(made);
            record.replaced = None;
            self.keep(&record)?;
        }
        Ok(())
    }

    /// Returns the change that would undo ours: the original content if the file is unchanged since, else the current
    /// content without what `take_out` removes. `None` if nothing of ours is left.
    pub fn undoing(
        &self,
        path: &Path,
        take_out: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Option<(Change, Undone)>, ChangeError> {
        let now = Content::at(path)?;
        let record = self.record(path);
        if let Some(record) = record.as_ref().filter(|record| record.left(&now)) {
            // The original content may itself contain our entries: another program may have rewritten the file after an
            // earlier change of ours, which made its record useless.
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
        // Our entries are in text only. A link or a missing file has replaced ours, so there is nothing to remove.
        let Content::Text(text) = &now else { return Ok(None) };
        let without = take_out(text).map_err(|reason| ChangeError::refused(path, reason))?;
        if without == *text {
            return Ok(None);
        }
        // A file that we created and that has no content left is removed, as if it had never been written.
        let was_absent = record.is_some_and(|record| record.before == Content::Absent);
        let is_empty = serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&without)
            .is_ok_and(|fields| fields.is_empty());
        let after = if was_absent && is_empty { Content::Absent } else { Content::Text(without) };
        Ok(Some((Change { path: path.to_owned(), before: now, after }, Undone::TakenOut)))
    }

    /// Applies an undoing change and removes the record.
    pub fn undo(&self, change: &Change) -> Result<(), ChangeError> {
        // The record is removed last, so that undoing can be repeated if the change fails.
        change.apply()?;
        let record = self.record(&change.path);
        self.forget(&change.path);
        if change.after == Content::Absent {
            let made = record.map_or(0, |record| record.made);
            for directory in change.path.ancestors().skip(1).take(made) {
                // Fails for directories that are no longer empty, which must stay.
                let _ = std::fs::remove_dir(directory);
            }
        }
        Ok(())
    }

    /// Removes the record of a file.
    pub fn forget(&self, path: &Path) {
        let _ = std::fs::remove_file(self.place(path));
    }

    /// Returns the files below a directory that were changed for this reason.
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
        // A digest, because a path contains slashes and may be longer than a file name may be.
        let name = ContentHash::of(format!("{}\0{}", self.reason, path.display()));
        self.directory.join(format!("{name}.json"))
    }

    fn record(&self, path: &Path) -> Option<Record> {
        read(&self.place(path)).filter(|record| record.path == path && record.reason == self.reason)
    }

    /// Writes a record. It contains a user's settings, so only this user may read it.
    fn keep(&self, record: &Record) -> Result<(), ChangeError> {
        let path = self.place(&record.path);
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(self.directory).map_err(ChangeError::io("create", self.directory))?;
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
