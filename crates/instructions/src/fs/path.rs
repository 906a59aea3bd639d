//! Lexical paths: the parents of `link/dir` are `link` and its directory, regardless of the link's target.

use std::path::{Component, Path, PathBuf};

use serde::{Serialize as _, Serializer};

/// Returns a path without `.` and `..`, absolute against `base`, without access to the disk.
// Lexical on purpose: agents derive the directories of a chain from the path they were given, so resolving
// links would find other files.
pub fn normalise(path: &Path, base: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Returns the directories from `root` down to `directory`, both included. Empty if `root` is not an
/// ancestor.
pub(crate) fn chain(root: &Path, directory: &Path) -> Vec<PathBuf> {
    if !directory.starts_with(root) {
        return Vec::new();
    }
    let below = directory.components().count() - root.components().count();
    let mut directories: Vec<PathBuf> = directory.ancestors().take(below + 1).map(Path::to_owned).collect();
    directories.reverse();
    directories
}

/// Returns the relative path from a directory to another path.
pub(crate) fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    // Both paths are absolute and normalized, so `..` never has to pass a link.
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(serializer)
}

pub(crate) fn serialize_option<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// Returns a path with its percent signs decoded. `None` if that changes nothing, or if one of them is not followed by
/// two hexadecimal digits of UTF-8.
pub(crate) fn percent_decoded(path: &Path) -> Option<PathBuf> {
    let text = path.to_str().filter(|text| text.contains('%'))?;
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    let decoded = String::from_utf8(bytes).ok()?;
    // A decoded `%2F..` can lead to any directory.
    Some(normalise(Path::new(&decoded), Path::new("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_resolved_on_paper() {
        assert_eq!(normalise(Path::new("a/./b/../c"), Path::new("/r")), Path::new("/r/a/c"));
        assert_eq!(normalise(Path::new("../../../x"), Path::new("/r")), Path::new("/x"));
        assert_eq!(normalise(Path::new("/abs/"), Path::new("/r")), Path::new("/abs"));
    }

    #[test]
    fn ways_go_up_and_down() {
        let relative = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(relative("/r/a", "/r/a/x.md"), Path::new("x.md"));
        assert_eq!(relative("/r/a/b", "/r/x.md"), Path::new("../../x.md"));
        assert_eq!(relative("/r", "/h/x.md"), Path::new("../h/x.md"));
        assert_eq!(relative("/", "/x.md"), Path::new("x.md"));
    }

    #[test]
    fn chains_go_from_root_to_leaf() {
        assert_eq!(chain(Path::new("/r"), Path::new("/r/a/b")), ["/r", "/r/a", "/r/a/b"].map(PathBuf::from));
        assert_eq!(chain(Path::new("/r"), Path::new("/r")), [PathBuf::from("/r")]);
        assert!(chain(Path::new("/r/x"), Path::new("/r/xy")).is_empty());
    }
}
