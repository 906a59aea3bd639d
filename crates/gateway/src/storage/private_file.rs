//! Files and directories that only this user can access, regardless of the umask.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Creates a directory if needed and makes it private.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)?;
    set_mode(path, 0o700)
}

/// Opens or creates a file and makes it private.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    // The mode above only applies to a file that this call creates.
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// Makes an existing file or directory private. Returns true if others could access it before. Links are left alone,
/// because their target is not ours.
#[cfg(unix)]
pub(crate) fn restrict(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
    if metadata.is_symlink() || metadata.permissions().mode() & 0o077 == 0 {
        return Ok(false);
    }
    set_mode(path, wanted)?;
    Ok(true)
}

#[cfg(not(unix))]
pub(crate) fn restrict(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
