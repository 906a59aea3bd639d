//! Directories in which we keep files of our own, and what may be removed from them.

use std::path::{Path, PathBuf};

use crate::text::content_hash::ContentHash;

/// What is in a directory under a name of ours. Of a directory that is a link nothing is: it leads to where others keep
/// their files, and what is old or unknown there is not ours to remove.
pub fn kept_files(directory: &Path, is_ours: impl Fn(&str) -> bool) -> impl Iterator<Item = PathBuf> {
    let is_directory = directory.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let entries = is_directory.then(|| directory.read_dir().ok()).flatten().into_iter().flatten().flatten();
    entries.filter(move |entry| entry.file_name().to_str().is_some_and(&is_ours)).map(|entry| entry.path())
}

/// Whether a name is that of a digest, with an ending that we give it.
pub fn is_named_by_digest(name: &str, endings: &[&str]) -> bool {
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    stem.is_some_and(ContentHash::is_one)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_others_keep_is_not_ours() {
        let holder = tempfile::tempdir().unwrap();
        let (ours, linked) = (holder.path().join("ours"), holder.path().join("linked"));
        std::fs::create_dir(&ours).unwrap();
        let digest = ContentHash::of("a").to_string();
        for name in [format!("{digest}.json"), "passwd".to_owned(), format!("{digest}.txt"), digest.clone()] {
            std::fs::write(ours.join(name), "").unwrap();
        }
        let is_ours = |name: &str| is_named_by_digest(name, &[".json"]);
        let found: Vec<PathBuf> = kept_files(&ours, is_ours).collect();
        assert_eq!(found, [ours.join(format!("{digest}.json"))]);
        std::os::unix::fs::symlink(&ours, &linked).unwrap();
        assert_eq!(kept_files(&linked, is_ours).count(), 0);
        assert_eq!(kept_files(&holder.path().join("missing"), is_ours).count(), 0);
    }
}
