//! The file system of an isolated command, as a list of mounts in the order in which they are made.
//!
//! The list names everything that exists. Unlike a list of exclusions, it is safe for paths that are forgotten.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::CommandRequest;
use crate::system_directories::{Mounted, SYSTEM, seen_at};

/// A mount of an isolated command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mount {
    /// A path of the machine, read-only.
    Read(PathBuf),
    /// A path of the machine, read-only, if it exists.
    ReadIfThere(PathBuf),
    /// A path of the machine at another path, read-only.
    ReadAt {
        from: PathBuf,
        at: PathBuf,
    },
    /// A path of the machine, writable.
    Write(PathBuf),
    Link {
        to: OsString,
        at: PathBuf,
    },
    Directory(PathBuf),
    /// A file system in memory, which ends with the command.
    Temporary {
        at: PathBuf,
        bytes: u64,
    },
    /// An empty directory that cannot be entered, on top of a directory of the machine.
    Hidden {
        at: PathBuf,
        real: PathBuf,
    },
    /// An unreadable file on top of a file of the machine.
    HiddenFile {
        at: PathBuf,
        real: PathBuf,
    },
    Processes,
    Devices,
    /// Makes an earlier mount read-only.
    Seal(PathBuf),
}

/// Path of the helper inside the sandbox.
pub(crate) const HELPER_PATH: &str = "/run/foreword-sandbox";
/// Paths of temporary files and the home directory inside the sandbox.
pub(crate) const TEMPORARY: &str = "/tmp";
pub(crate) const HOME: &str = "/tmp/home";

/// Bytes of `/dev/shm`, which is also in memory.
const SHARED_MEMORY_BYTES: u64 = 256 << 20;

/// Returns all mounts of a command, including those [`within`] others.
pub(crate) fn mounts(request: &CommandRequest, helper: &Path, within: Vec<Mount>) -> Vec<Mount> {
    let system = SYSTEM.iter().filter_map(|row| {
        let path = PathBuf::from(row.path);
        match row.mounted {
            Mounted::Always => Some(Mount::Read(path)),
            Mounted::IfThere => Some(Mount::ReadIfThere(path)),
            Mounted::AsLink => Some(match std::fs::read_link(&path) {
                Ok(to) => Mount::Link { to: to.into(), at: path },
                Err(_) => Mount::ReadIfThere(path),
            }),
            Mounted::Own => None,
        }
    });
    let mut mounts: Vec<Mount> = system.collect();
    mounts.extend([
        Mount::Directory("/run".into()),
        Mount::Link { to: "../run".into(), at: "/var/run".into() },
        Mount::Directory("/var/tmp".into()),
        Mount::Processes,
        // The user root can write kernel settings here even without capabilities.
        Mount::Read("/proc/sys".into()),
        Mount::Devices,
        Mount::Temporary { at: "/dev/shm".into(), bytes: SHARED_MEMORY_BYTES },
        Mount::Temporary { at: TEMPORARY.into(), bytes: request.limits.temporary_bytes },
        Mount::Directory(HOME.into()),
        Mount::ReadAt { from: helper.to_owned(), at: HELPER_PATH.into() },
    ]);
    mounts.extend(request.readable.iter().map(|path| Mount::ReadIfThere(path.clone())));
    mounts
        .extend(request.writable.iter().filter(|path| path.exists()).map(|path| Mount::Write(path.clone())));
    // The workspace comes after the temporary directory, because it may lie below `/tmp` and would be covered by it
    // otherwise.
    mounts.push(Mount::Write(request.root.path()));
    mounts.extend(within);
    mounts.extend([Mount::Seal("/dev".into()), Mount::Seal("/".into())]);
    mounts
}

/// Returns the mounts that hide or protect parts of other mounts.
pub(crate) fn within(request: &CommandRequest) -> Vec<Mount> {
    let root = request.root.path();
    let hidden = hidden(request, &root);
    let hidden_at: Vec<&Path> = hidden.iter().filter_map(Mount::hidden_at).collect();
    // Hiding already prevents writing.
    let protected = request.protected.iter();
    let protected: Vec<&PathBuf> =
        protected.filter(|path| !hidden_at.iter().any(|above| path.starts_with(above))).collect();
    // A parent directory could be renamed and replaced. A mount point cannot, so every parent becomes one.
    let mut on_the_way: BTreeSet<&Path> = BTreeSet::new();
    for base in request.writable.iter().chain([&root]) {
        for path in hidden_at.iter().copied().chain(protected.iter().map(|path| path.as_path())) {
            let above = CommandRequest::between(base, path);
            on_the_way.extend(
                above.filter(|directory| !protected.iter().any(|above| directory.starts_with(above))),
            );
        }
    }
    // From the root down, as the set is ordered: a later mount at a parent would cover the earlier one below it.
    let mut mounts: Vec<Mount> = on_the_way.into_iter().map(|path| Mount::Write(path.to_owned())).collect();
    mounts.extend(protected.into_iter().map(|path| Mount::Read(path.clone())));
    mounts.extend(hidden);
    mounts
}

/// Returns the mounts that hide paths wherever they are visible. Paths that do not exist are skipped, because a mount point
/// would have to be created for them.
fn hidden(request: &CommandRequest, root: &Path) -> Vec<Mount> {
    let named: Vec<&Path> = request.readable.iter().chain(&request.writable).map(PathBuf::as_path).collect();
    let mut mounts: Vec<Mount> = Vec::new();
    for real in request.hidden.iter().filter(|path| path.exists()) {
        let mut places: BTreeSet<PathBuf> = seen_at(real).into_iter().collect();
        if named.iter().chain([&root]).any(|above| real.starts_with(above)) {
            places.insert(real.clone());
        }
        for at in places {
            let real = real.clone();
            mounts.push(if real.is_dir() {
                Mount::Hidden { at, real }
            } else {
                Mount::HiddenFile { at, real }
            });
        }
    }
    // Nothing can be mounted inside a directory that cannot be entered.
    let all = mounts.clone();
    mounts.retain(|mount| {
        let is_inside = |other: &Mount| match (mount.hidden_at(), other.hidden_at()) {
            (Some(own), Some(above)) => own != above && own.starts_with(above),
            _ => false,
        };
        !all.iter().any(is_inside)
    });
    mounts.dedup();
    mounts
}

impl Mount {
    /// Returns the path that this mount hides.
    fn hidden_at(&self) -> Option<&Path> {
        match self {
            Self::Hidden { at, .. } | Self::HiddenFile { at, .. } => Some(at),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Directory, ResourceLimits, SandboxLevel};

    fn request(root: &Path) -> CommandRequest {
        CommandRequest {
            level: SandboxLevel::Isolated,
            root: Directory::look(root).unwrap(),
            cwd: Directory::look(root).unwrap(),
            temporary: "/nowhere".into(),
            readable: Vec::new(),
            writable: Vec::new(),
            hidden: Vec::new(),
            protected: Vec::new(),
            environment: Vec::new(),
            text: String::new(),
            limits: ResourceLimits::default(),
        }
    }

    #[test]
    fn parents_are_bound_first_from_the_root_down() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b/data/inner")).unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/database"), "").unwrap();
        let mut request = request(&root);
        let hidden = ["a/b/data", "a/b/data/inner", "not/there", "d/database"];
        request.hidden =
            hidden.iter().map(|path| root.join(path)).chain(["/somewhere/else".into()]).collect();
        request.protected =
            vec![root.join("c/AGENTS.md"), root.join(".git"), root.join("a/b/data/AGENTS.md")];
        assert_eq!(
            within(&request),
            [
                Mount::Write(root.join("a")),
                Mount::Write(root.join("a/b")),
                Mount::Write(root.join("c")),
                Mount::Write(root.join("d")),
                Mount::Read(root.join("c/AGENTS.md")),
                Mount::Read(root.join(".git")),
                Mount::Hidden { at: root.join("a/b/data"), real: root.join("a/b/data") },
                Mount::HiddenFile { at: root.join("d/database"), real: root.join("d/database") },
            ]
        );
    }

    #[test]
    fn root_is_mounted_after_temporary_files_and_before_seals() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let mounts = mounts(&request(&root), Path::new("/helper"), Vec::new());
        let position = |mount: &Mount| mounts.iter().position(|other| other == mount).unwrap();
        let bytes = ResourceLimits::default().temporary_bytes;
        let temporary = position(&Mount::Temporary { at: TEMPORARY.into(), bytes });
        let written = position(&Mount::Write(root));
        assert!(temporary < written && written < position(&Mount::Seal("/dev".into())));
        assert_eq!(mounts.last(), Some(&Mount::Seal("/".into())));
        assert!(
            !mounts.iter().any(
                |mount| matches!(mount, Mount::Read(path) | Mount::Write(path) if path == Path::new("/"))
            )
        );
    }
}
