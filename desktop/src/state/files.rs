//! Reads and writes this program's own files. A crash leaves the old or the new content, and other users
//! cannot read them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Limit of damaged versions kept beside a file.
const MAX_SET_ASIDE: u32 = 100;

/// Error of reading or writing one of this program's files.
#[derive(Debug, thiserror::Error)]
#[error("could not {what} {}: {source}", path.display())]
pub struct FileError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    /// Returns true if the file was read but its content is invalid.
    pub fn is_damage(&self) -> bool {
        // All other errors may be temporary, and then the file is still intact: setting it aside would lose
        // its content.
        matches!(self.source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
    }
}

/// Replaces a file and creates missing directories.
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let failed = |source| FileError { what: "write", path: path.to_owned(), source };
    let bytes = serde_json::to_vec_pretty(value).map_err(|error| failed(error.into()))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    make_directory(directory).map_err(failed)?;
    // A rename within a directory is atomic. Writing in place could leave half a file after a crash or on a
    // full disk.
    let new = path.with_extension("new");
    private_file(&new).and_then(|mut file| file.write_all(&bytes)).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)
}

/// Reads a file. `None` if it does not exist.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let failed = |source| FileError { what: "read", path: path.to_owned(), source };
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Removes a file if it exists.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError { what: "remove", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Renames a damaged file so that it is not overwritten. Returns its new path.
pub fn set_aside(path: &Path) -> Result<PathBuf, FileError> {
    let failed = |source| FileError { what: "set aside", path: path.to_owned(), source };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=MAX_SET_ASIDE {
        let aside = path.with_file_name(format!("{name}.damaged-{number}"));
        // A file that was set aside earlier may hold other text, so it is never replaced.
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
    // `mode` applies only to new files, and a file left by a crash may be readable by others. `create_new`
    // also refuses a link that another user has put there meanwhile.
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
    fn written_files_are_private_and_complete() {
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
