//! Files that apply to a directory, regardless of what an agent has seen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cache::Cache;
use crate::diagnostic::Diagnostic;
use crate::fs::file::Content;
use crate::profile::{Changed, Profile, UnsafeText};
use crate::resolve::applies_to::Target;
use crate::resolve::chain::{Candidate, Chain};
use crate::resolve::render::{Part, block, mark};
use crate::resolve::resolution::{Request, ResolveError, effective};
use crate::session::reminder::{FileNovelty, ReminderFile};
use crate::session::{FileVersion, Read};
use crate::text;
use crate::text::safety;
use crate::text::{cut, headings_after};

/// A file that applies.
pub(crate) struct Applicable {
    pub(crate) path: PathBuf,
    pub(crate) version: FileVersion,
    content: Arc<Content>,
}

impl Applicable {
    /// Returns true if an agent that has seen `loaded` must be reminded of the file.
    pub(crate) fn differs(&self, loaded: Option<&FileVersion>, profile: &Profile) -> bool {
        match (loaded, profile.session.reminders.changed()) {
            (None, _) => true,
            // The hash of a partly read file covers only its beginning.
            (Some(loaded), Changed::ByContent) => self
                .version
                .content_differs(loaded, if self.content.whole { Read::Whole } else { Read::InPart }),
            (Some(loaded), Changed::ByTime) => loaded.mtime_ms != self.version.mtime_ms,
        }
    }

    pub(crate) fn reminder_file(&self, block: Option<String>, novelty: FileNovelty) -> ReminderFile {
        let FileVersion { mtime_ms, bytes, sha256, imported_by } = self.version.clone();
        let (sha256, size_bytes) = (Some(sha256), Some(bytes));
        ReminderFile { path: self.path.clone(), mtime_ms, sha256, size_bytes, imported_by, block, novelty }
    }

    /// Returns the file's text for a reminder, cut with a mark if it has more than `room` bytes, and the bytes it
    /// uses. `None` if nothing fits.
    pub(crate) fn block(
        &self,
        profile: &Profile,
        room: u64,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(String, u64)> {
        let (bytes, size) = (&self.content.bytes, self.version.bytes);
        // Front matter counts towards the budget like all bytes of the file, but is not shown.
        let start = self.content.markup(profile).start;
        let is_whole = self.content.whole && size <= room;
        let kept =
            if is_whole { bytes.len() } else { cut(bytes, usize::try_from(room).unwrap_or(usize::MAX)) };
        if kept == 0 && !is_whole {
            return None;
        }
        let shown = start.min(kept)..kept;
        let unsafe_text = profile.text.unsafe_text;
        let text =
            text::decode::read_content(&self.content, shown, &self.path, profile, unsafe_text, diagnostics);
        // A reminder wraps the text in our own tags, so tags in it are neutralized whatever the profile's rules
        // are.
        let text = match unsafe_text {
            UnsafeText::MadeHarmless => text,
            UnsafeText::Reported => safety::make_harmless(&text).0.into_owned(),
        };
        let unread = size.saturating_sub(bytes.len() as u64);
        // A cut file uses up all the room: the bytes left over by cutting at a line must not go to files further
        // away.
        let spent = if is_whole { kept as u64 } else { room };
        let mark = (!is_whole).then(|| {
            let omitted = headings_after(&bytes[start..], kept.saturating_sub(start));
            mark(&self.path, kept, size, &omitted, unread)
        });
        Some((block(&Part::of_project(&self.path, &text, mark)), spent))
    }
}

/// Files that apply to a directory.
#[derive(Default)]
pub(crate) struct ApplicableFiles {
    pub(crate) files: Vec<Applicable>,
    /// Rules that do not match the target, but may have matched another one.
    pub(crate) dormant: Vec<Applicable>,
    /// Paths that the dormant rules import.
    pub(crate) dormant_imports: Vec<PathBuf>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Reason if settings switch the files off.
    pub(crate) switched_off: Option<String>,
}

impl ApplicableFiles {
    /// Returns true if a file that a session has seen still exists but does not apply to this target.
    pub(crate) fn is_dormant(&self, path: &Path, version: &FileVersion) -> bool {
        let owner = version.imported_by.as_deref().unwrap_or(path);
        self.dormant.iter().any(|rule| rule.path == path || rule.path == owner)
            || self.dormant_imports.iter().any(|import| import == path)
    }
}

impl From<Candidate> for Applicable {
    fn from(chosen: Candidate) -> Self {
        Self {
            version: FileVersion {
                mtime_ms: chosen.stamp.modified_ms(),
                bytes: chosen.size(),
                sha256: chosen.content.sha256.clone(),
                imported_by: chosen.imported_by,
            },
            path: chosen.path,
            content: chosen.content,
        }
    }
}

/// Returns the files from `root` down to `directory`, root first, that apply to a target in it.
pub(crate) fn applicable(
    request: &Request<'_>,
    root: &Path,
    directory: &Path,
    target: Target<'_>,
    cache: Option<&Cache>,
) -> Result<ApplicableFiles, ResolveError> {
    let effective = effective(request)?;
    // The settings are those of the session's working directory. Only the chain is that of the touched directory.
    let request = Request { cwd: directory, ..*request };
    let choice = Chain::choose(&effective.borrow(&request), root, target, cache)?;
    Ok(ApplicableFiles {
        files: choice.files.into_iter().map(Applicable::from).collect(),
        dormant: choice.dormant.into_iter().map(Applicable::from).collect(),
        dormant_imports: choice.dormant_imports,
        diagnostics: choice.diagnostics,
        switched_off: choice.switched_off,
    })
}
