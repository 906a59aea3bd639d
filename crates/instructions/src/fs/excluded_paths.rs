//! Files that are never instructions: keys, tokens and data of the reading process.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// Directories and files that project files must not be or lead to. The opened file is checked, so neither a
/// link nor a replaced root can bypass it.
#[derive(Debug)]
pub(crate) struct Private {
    places: Vec<PrivatePath>,
}

#[derive(Debug)]
struct PrivatePath {
    /// Resolved path; the original one if it does not exist.
    path: PathBuf,
    /// Device and inode of a file, which may have further names.
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

    /// Returns true if an opened file is one of them, or inside one of them.
    pub(crate) fn holds(&self, opened: &OwnedFd, path: &Path, identity: (u64, u64)) -> bool {
        let real = real_path(opened, path);
        self.places.iter().any(|place| {
            // A hard link has another path but the same inode, so both are compared. An unknown path counts as
            // excluded.
            place.file == Some(identity) || real.as_deref().is_none_or(|real| real.starts_with(&place.path))
        })
    }
}

/// Returns the path of an open file, or `None` if it is unknown. In that case the file counts as excluded.
fn real_path(opened: &OwnedFd, path: &Path) -> Option<PathBuf> {
    // The path is taken from the opened descriptor if possible. The name in the file system may lead elsewhere by now.
    let known = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    known.or_else(|_| path.canonicalize()).ok()
}
