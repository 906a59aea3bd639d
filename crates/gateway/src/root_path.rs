//! Validation of workspace roots: the gateway's own files must not be reachable from any of them.

use std::path::{Path, PathBuf};

use protocol::error::ErrorObject;

use crate::error::invalid_params;

/// Virtual file systems of the kernel.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Rejects a root that overlaps a private directory or lies in a virtual file system.
pub(crate) fn check(root_path: &str, private: &[PathBuf]) -> Result<(), ErrorObject> {
    let root = real(Path::new(root_path));
    // /dev/shm is an ordinary world-writable directory and may hold a project.
    if SYSTEM.iter().any(|system| root.starts_with(system)) && !root.starts_with("/dev/shm") {
        return Err(invalid_params(format!(
            "`root_path` {root_path} is in a directory where the system shows itself as files; choose a directory of a \
             project"
        )));
    }
    match meets_private(&root, private) {
        Some((relation, directory)) => Err(invalid_params(format!(
            "`root_path` {root_path} {relation} {}, where the gateway keeps its own files; choose a directory that \
             neither holds it nor lies in it",
            directory.display()
        ))),
        None => Ok(()),
    }
}

/// Returns the problem with a root that was valid when it was set: links, settings and directories can change later.
pub fn root_path_problem(root_path: &str, private: &[PathBuf]) -> Option<String> {
    let (relation, directory) = meets_private(&real(Path::new(root_path)), private)?;
    let directory = directory.display();
    Some(format!("{root_path} {relation} {directory}, where the gateway keeps its own files"))
}

/// Returns the first private path that overlaps `root`, and the relation between them.
fn meets_private<'a>(root: &Path, private: &'a [PathBuf]) -> Option<(&'static str, &'a Path)> {
    private.iter().find_map(|directory| {
        let place = real(directory);
        let relation = if root == place {
            "is"
        } else if root.starts_with(&place) {
            "is inside"
        } else if place.starts_with(root) {
            "holds"
        } else {
            return None;
        };
        Some((relation, directory.as_path()))
    })
}

/// Resolves links in the existing part of a path.
fn real(path: &Path) -> PathBuf {
    // A root may be set before its directory exists, and `canonicalize` fails for missing paths. Links in the part that
    // does exist must not hide a private directory.
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return match path.strip_prefix(above) {
                Ok(rest) if rest != Path::new("") => instructions::path::normalise(rest, &real),
                _ => real,
            };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_inside_above_or_equal_are_refused_through_links_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(path.join("share/data")).unwrap();
        std::fs::create_dir(path.join("project")).unwrap();
        std::os::unix::fs::symlink(path.join("share"), path.join("link")).unwrap();
        let private = [path.join("share/data"), path.join("not/there")];
        let refused = |root: &str| {
            let root = if root.is_empty() { path.clone() } else { path.join(root) };
            check(&root.to_string_lossy(), &private).is_err()
        };
        for root in
            ["share/data", "share", "", "link", "link/data", "share/data/new/one", "not", "project/../share"]
        {
            assert!(refused(root), "{root}");
        }
        for root in ["/proc", "/proc/self", "/sys/kernel", "/dev"] {
            assert!(check(root, &[]).is_err(), "{root}");
        }
        for root in ["project", "share/database", "project/new", "other"] {
            assert!(!refused(root), "{root}");
        }
    }
}
