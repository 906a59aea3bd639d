//! What an isolated command sees of the disk, as data: a list of mounts in the order in which they are made.
//!
//! A list of what is there is better than everything without some: what nobody thought of does not exist.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Request;

/// One thing that a command sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mount {
    /// Something of the machine, to read.
    Read(PathBuf),
    /// The same, if it is there.
    ReadIfThere(PathBuf),
    /// Something of the machine at another path, to read.
    ReadAt {
        from: PathBuf,
        at: PathBuf,
    },
    /// Something of the machine, to read and write.
    Write(PathBuf),
    Link {
        to: OsString,
        at: PathBuf,
    },
    Directory(PathBuf),
    /// Files in memory, that end with the command.
    Temporary {
        at: PathBuf,
        bytes: u64,
    },
    /// An empty directory that cannot be entered.
    Hidden(PathBuf),
    Processes,
    Devices,
    /// Makes what was mounted here before read-only.
    Seal(PathBuf),
}

/// Where the helper is inside.
pub(crate) const HELPER_PATH: &str = "/run/foreword-sandbox";
/// Where temporary files and the home directory are inside.
pub(crate) const TEMPORARY: &str = "/tmp";
pub(crate) const HOME: &str = "/tmp/home";

/// Directories that every system has.
const SYSTEM: &[&str] = &["/usr", "/etc"];
/// Directories that are links to parts of `/usr` on most systems.
const MAYBE_LINKS: &[&str] = &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Directories that some systems have.
const MAYBE: &[&str] = &[
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/run/systemd/resolve",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];
/// Bytes of shared memory with a name: files in memory, too.
const SHARED_MEMORY_BYTES: u64 = 256 << 20;

/// Everything that a command sees.
pub(crate) fn mounts(request: &Request, helper: &Path) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = SYSTEM.iter().map(|path| Mount::Read(path.into())).collect();
    mounts.extend(MAYBE_LINKS.iter().map(|path| match std::fs::read_link(path) {
        Ok(to) => Mount::Link { to: to.into(), at: path.into() },
        Err(_) => Mount::ReadIfThere(path.into()),
    }));
    mounts.extend(MAYBE.iter().map(|path| Mount::ReadIfThere(path.into())));
    mounts.extend([
        Mount::Directory("/run".into()),
        Mount::Link { to: "../run".into(), at: "/var/run".into() },
        Mount::Directory("/var/tmp".into()),
        Mount::Processes,
        // Root may write the kernel's settings there, also without any capability.
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
    let root = request.root.path();
    mounts.push(Mount::Write(root.clone()));
    mounts.extend(within(&root, request));
    mounts.extend([Mount::Seal("/dev".into()), Mount::Seal("/".into())]);
    mounts
}

/// What is hidden or read-only inside of what was mounted.
fn within(root: &Path, request: &Request) -> Vec<Mount> {
    // Only what would be there is hidden: for anything else, a mount point would have to be made.
    let system = SYSTEM.iter().chain(MAYBE_LINKS).chain(MAYBE).map(Path::new);
    let named = request.readable.iter().chain(&request.writable).map(PathBuf::as_path);
    let seen: Vec<&Path> = system.chain(named).chain([root]).collect();
    let is_seen = |path: &&PathBuf| seen.iter().any(|above| path.starts_with(above)) && path.is_dir();
    let hidden: Vec<&PathBuf> = request.hidden.iter().filter(is_seen).collect();
    // What is hidden cannot be written, either.
    let protected = request.protected.iter();
    let protected: Vec<&PathBuf> =
        protected.filter(|path| !hidden.iter().any(|above| path.starts_with(above))).collect();
    // A directory on the way could be renamed, and another one made in its place; a mount point cannot.
    let mut on_the_way: Vec<&Path> = Vec::new();
    for path in hidden.iter().chain(&protected) {
        for directory in Request::between(root, path) {
            let is_below_protected = protected.iter().any(|above| directory.starts_with(above));
            if !on_the_way.contains(&directory) && !is_below_protected {
                on_the_way.push(directory);
            }
        }
    }
    // From the root down: a mount made later would cover one below it that was made before.
    on_the_way.sort_unstable();
    let mut mounts: Vec<Mount> = on_the_way.into_iter().map(|path| Mount::Write(path.to_owned())).collect();
    mounts.extend(hidden.into_iter().map(|path| Mount::Hidden(path.clone())));
    mounts.extend(protected.into_iter().map(|path| Mount::Read(path.clone())));
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Directory, Limits, SandboxLevel};

    fn request(root: &Path) -> Request {
        Request {
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
            limits: Limits::default(),
        }
    }

    #[test]
    fn what_is_on_the_way_is_bound_first_and_from_the_root_down() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b/data")).unwrap();
        let mut request = request(&root);
        request.hidden = vec![root.join("a/b/data"), "/somewhere/else".into(), root.join("not/there")];
        request.protected =
            vec![root.join("c/AGENTS.md"), root.join(".git"), root.join("a/b/data/AGENTS.md")];
        assert_eq!(
            within(&root, &request),
            [
                Mount::Write(root.join("a")),
                Mount::Write(root.join("a/b")),
                Mount::Write(root.join("c")),
                Mount::Hidden(root.join("a/b/data")),
                Mount::Read(root.join("c/AGENTS.md")),
                Mount::Read(root.join(".git")),
            ]
        );
    }

    #[test]
    fn the_root_comes_after_what_it_may_lie_in_and_before_the_seals() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let mounts = mounts(&request(&root), Path::new("/helper"));
        let position = |mount: &Mount| mounts.iter().position(|other| other == mount).unwrap();
        let bytes = Limits::default().temporary_bytes;
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
