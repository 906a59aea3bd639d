//! Identification of Foreword's own files in a directory, for cleanup.

use std::path::{Path, PathBuf};

use crate::text::content_hash::ContentHash;

/// Returns the files in a directory whose name matches `is_ours`. Empty if the directory is a symbolic link.
// A link may lead to a directory of other programs, whose old or unknown files are not ours to remove.
pub fn own_files(directory: &Path, is_ours: impl Fn(&str) -> bool) -> impl Iterator<Item = PathBuf> {
    let is_directory = directory.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let entries = is_directory.then(|| directory.read_dir().ok()).flatten().into_iter().flatten().flatten();
    entries.filter(move |entry| entry.file_name().to_str().is_some_and(&is_ours)).map(|entry| entry.path())
}

/// Returns true if a name is a digest followed by one of `endings`.
pub fn is_named_by_digest(name: &str, endings: &[&str]) -> bool {
    // Names are checked strictly: a directory of ours may also contain files that a person has put there.
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    stem.is_some_and(ContentHash::is_valid)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_are_kept() {
        let holder = tempfile::tempdir().unwrap();
        let ours = holder.path().join("ours");
        let linked = holder.path().join("linked");
        std::fs::create_dir(&ours).unwrap();
        let digest = ContentHash::of("a").to_string();
        for name in [format!("{digest}.json"), "passwd".to_owned(), format!("{digest}.txt"), digest.clone()] {
            std::fs::write(ours.join(name), "").unwrap();
        }
        let is_ours = |name: &str| is_named_by_digest(name, &[".json"]);
        let found: Vec<PathBuf> = own_files(&ours, is_ours).collect();
        assert_eq!(found, [ours.join(format!("{digest}.json"))]);
        std::os::unix::fs::symlink(&ours, &linked).unwrap();
        assert_eq!(own_files(&linked, is_ours).count(), 0);
        assert_eq!(own_files(&holder.path().join("missing"), is_ours).count(), 0);
    }
}
