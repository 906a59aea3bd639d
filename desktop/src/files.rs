//! Writes this program's own files so that a crash leaves the old or the new content, never half of one, and nobody else
//! can read them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Damaged versions of one file that are kept.
const MAX_SET_ASIDE: u32 = 100;

/// A file of ours that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("could not {what} {}: {source}", path.display())]
pub struct FileError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    /// Whether the file was read, and is not what it should be. Any other reason may pass, and the file is as good as before.
    pub fn is_damage(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
    }
}

/// Replaces a file; its directory is made where it is missing.
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let failed = |source| FileError { what: "write", path: path.to_owned(), source };
    let bytes = serde_json::to_vec_pretty(value).map_err(|error| failed(error.into()))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    make_directory(directory).map_err(failed)?;
    let new = path.with_extension("new");
    private_file(&new).and_then(|mut file| file.write_all(&bytes)).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)
}

/// Reads a file; none when there is none.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let failed = |source| FileError { what: "read", path: path.to_owned(), source };
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Removes a file; it may be gone already.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError { what: "remove", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Puts a file that cannot be understood out of the way, where nobody overwrites it. Returns where it is now.
pub fn set_aside(path: &Path) -> Result<PathBuf, FileError> {
    let failed = |source| FileError { what: "set aside", path: path.to_owned(), source };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=MAX_SET_ASIDE {
        let aside = path.with_file_name(format!("{name}.damaged-{number}"));
        // What was set aside before stays.
        if !aside.exists() {
            return fs::rename(path, &aside).map(|()| aside).map_err(failed);
        }
    }
    Err(failed(io::Error::other("too many damaged files are kept beside it")))
}

#[cfg(unix)]
pub fn make_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
pub fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
pub fn private_file(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // One left by a crash may have another mode.
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
pub fn private_file(path: &Path) -> io::Result<fs::File> {
    fs::File::create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_ours_alone_and_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/er/file.json");
        assert_eq!(read::<Vec<u32>>(&path).unwrap(), None);
        write(&path, &[1, 2]).unwrap();
        write(&path, &[3]).unwrap();
        assert_eq!(read::<Vec<u32>>(&path).unwrap(), Some(vec![3]));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        remove(&path).unwrap();
        remove(&path).unwrap();
        fs::write(&path, "{").unwrap();
        assert!(read::<Vec<u32>>(&path).unwrap_err().to_string().starts_with("could not read "));
    }

    #[test]
    fn a_damaged_file_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.json");
        for number in 1..=2 {
            fs::write(&path, format!("{{{number}")).unwrap();
            let aside = set_aside(&path).unwrap();
            assert_eq!(fs::read_to_string(&aside).unwrap(), format!("{{{number}"));
            assert!(!path.exists());
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
