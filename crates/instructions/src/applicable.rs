//! The files that apply to a directory, whatever an agent has seen of them.

use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::chain::Chain;
use crate::diagnostic::Diagnostic;
use crate::file::Content;
use crate::profile::{Changed, Profile, UnsafeText};
use crate::render::{Part, block};
use crate::resolution::{Request, ResolveError, effective};
use crate::session::{LoadedVersion, Read};
use crate::settings::{Delivery, INLINE_BYTES};
use crate::{reading, safety};

/// A file that applies.
pub(crate) struct Applicable {
    pub(crate) path: PathBuf,
    pub(crate) version: LoadedVersion,
    content: std::sync::Arc<Content>,
}

impl Applicable {
    /// Whether an agent that has `loaded` of this file has to be told of it.
    pub(crate) fn differs(&self, loaded: Option<&LoadedVersion>, profile: &Profile) -> bool {
        match (loaded, profile.changed) {
            (None, _) => true,
            // Of a file that was not read whole the digest is that of its beginning.
            (Some(loaded), Changed::ByContent) => self
                .version
                .content_differs(loaded, if self.content.whole { Read::Whole } else { Read::InPart }),
            (Some(loaded), Changed::ByTime) => loaded.mtime_ms != self.version.mtime_ms,
        }
    }

    /// The file's text for a reminder, if it is delivered with one, and what was found in it.
    pub(crate) fn inline(
        &self,
        profile: &Profile,
        delivery: Delivery,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<String> {
        let wanted = match delivery {
            Delivery::Pointer => false,
            Delivery::Inline => true,
            Delivery::Auto => self.version.size <= INLINE_BYTES,
        };
        if !wanted || !self.content.whole {
            return None;
        }
        let text = reading::read(&self.content, self.content.bytes.len(), &self.path, profile, diagnostics);
        // In a reminder the text stands between our own tags, so those are neutralised whatever the profile says.
        let text = match profile.unsafe_text {
            UnsafeText::MadeHarmless => text,
            UnsafeText::Reported => safety::neutralise_part(&text).into_owned(),
        };
        Some(block(&Part { path: &self.path, home: false, text: &text, mark: None }))
    }
}

/// What applies to a directory.
pub(crate) struct Applying {
    pub(crate) files: Vec<Applicable>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Why nothing does, if settings say so.
    pub(crate) switched_off: Option<String>,
}

/// The files from `root` down to `directory`, root first.
pub(crate) fn applicable(
    request: &Request<'_>,
    root: &Path,
    directory: &Path,
    cache: Option<&Cache>,
) -> Result<Applying, ResolveError> {
    let effective = effective(request)?;
    let choice = Chain::choose(&effective.borrow(request), root, directory, cache)?;
    let files = choice
        .files
        .into_iter()
        .map(|chosen| Applicable {
            version: LoadedVersion {
                mtime_ms: chosen.stamp.modified_ms(),
                size: chosen.size(),
                sha256: chosen.content.sha256.clone(),
            },
            path: chosen.path,
            content: chosen.content,
        })
        .collect();
    Ok(Applying { files, diagnostics: choice.diagnostics, switched_off: choice.switched_off })
}
