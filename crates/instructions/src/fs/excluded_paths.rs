//! What is nobody's instructions: the keys, tokens and data of whoever reads files for others.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// Directories and files that no project's file may be, or lead to. Judged is what was opened, so that no link, and no
/// root that was another one when it was checked, leads past them.
#[derive(Debug)]
pub(crate) struct Private {
    places: Vec<PrivatePath>,
}

#[derive(Debug)]
struct PrivatePath {
    /// Without links; as it was given where there is nothing.
    path: PathBuf,
    /// Device and inode of a file, which may have other names.
    file: Option<(u64, u64)>,
}

impl Private {
    pub(crate) fn find(paths: &[PathBuf]) -> Self {
        let places = paths.iter().map(|path| {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file);
            let file = metadata.map(|metadata| {
                use std::os::unix::fs::MetadataExt as _;
                (metadata.dev(), metadata.ino())
            });
            PrivatePath { path, file }
        });
        Self { places: places.collect() }
    }

    /// Whether a file that was opened is one of them, or inside of one.
    pub(crate) fn holds(&self, opened: &OwnedFd, path: &Path, identity: (u64, u64)) -> bool {
        let real = real_path(opened, path);
        self.places.iter().any(|place| {
            place.file == Some(identity) || real.as_deref().is_none_or(|real| real.starts_with(&place.path))
        })
    }
}

/// Where an open file is. None when that cannot be found out, and then nothing can be ruled out.
fn real_path(opened: &OwnedFd, path: &Path) -> Option<PathBuf> {
    let known = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    known.or_else(|_| path.canonicalize()).ok()
}
