//! The bare system calls of a resolution: no decisions, no text, and paths prepared in advance.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::fixture::Project;

/// One call with its arguments.
enum Call {
    /// `stat` of a path.
    Stat(CString),
    /// `lstat` of a path.
    LinkStat(CString),
    /// Opens a missing path.
    Miss(CString),
    /// Opens the root directory of later calls.
    OpenRoot(CString),
    /// Opens a missing path below the root.
    MissBeneath(CString),
    /// Open, stat, read, stat, close.
    Read(CString),
    /// Open, stat, read, stat, close below the root.
    ReadBeneath(CString),
}

/// The calls of one resolution in order.
pub(crate) struct Calls {
    calls: Vec<Call>,
    buffer: Vec<u8>,
}

/// The names and markers of the `foreword` profile.
const MARKERS: [&str; 4] = [".foreword", ".git", ".jj", ".hg"];

impl Calls {
    /// Calls of the first resolution of a project.
    pub(crate) fn cold(project: &Project) -> Self {
        let mut calls = vec![Call::Stat(path(project.request().cwd))];
        'search: for directory in project.directories.iter().rev() {
            for marker in MARKERS {
                calls.push(Call::LinkStat(path(&directory.join(marker))));
                if directory == &project.directories[0] && marker == ".git" {
                    break 'search;
                }
            }
        }
        calls.push(Call::Miss(path(&project.home().join("AGENTS.override.md"))));
        calls.push(Call::Read(path(&project.home().join("AGENTS.md"))));
        let root = &project.directories[0];
        calls.push(Call::OpenRoot(path(root)));
        for directory in &project.directories {
            let relative = directory.strip_prefix(root).unwrap_or(directory);
            calls.push(Call::MissBeneath(path(&relative.join("AGENTS.override.md"))));
            calls.push(Call::ReadBeneath(path(&relative.join("AGENTS.md"))));
            calls.push(Call::MissBeneath(path(&relative.join("AGENTS.local.md"))));
        }
        Self { calls, buffer: vec![0; 4 * crate::fixture::FILE_BYTES] }
    }

    /// Calls of a later resolution without changes.
    pub(crate) fn warm(project: &Project) -> Self {
        let home = project.home();
        let directories = project.directories.iter().chain([&home]);
        let files = directories.clone().map(|directory| directory.join("AGENTS.md"));
        let paths = directories.cloned().chain(files);
        Self { calls: paths.map(|each| Call::Stat(path(&each))).collect(), buffer: Vec::new() }
    }

    /// Executes the calls.
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
        let mut root: Option<OwnedFd> = None;
        for call in &self.calls {
            match call {
                Call::Stat(path) => drop(std::hint::black_box(rustix::fs::stat(path)?)),
                Call::LinkStat(path) => drop(std::hint::black_box(rustix::fs::lstat(path))),
                Call::Miss(path) => {
                    anyhow::ensure!(rustix::fs::open(path, FLAGS, Mode::empty()).is_err());
                }
                Call::OpenRoot(path) => {
                    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::PATH;
                    root = Some(rustix::fs::open(path, flags, Mode::empty())?);
                }
                Call::MissBeneath(path) => {
                    anyhow::ensure!(matches!(beneath(root.as_ref(), path), Err(Errno::NOENT)))
                }
                Call::Read(path) => read(&rustix::fs::open(path, FLAGS, Mode::empty())?, &mut self.buffer)?,
                Call::ReadBeneath(path) => read(&beneath(root.as_ref(), path)?, &mut self.buffer)?,
            }
        }
        Ok(())
    }
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

fn beneath(root: Option<&OwnedFd>, path: &CString) -> Result<OwnedFd, Errno> {
    let stay = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root.ok_or(Errno::BADF)?, path, FLAGS, Mode::empty(), stay)
}

fn read(file: &OwnedFd, buffer: &mut [u8]) -> anyhow::Result<()> {
    std::hint::black_box(rustix::fs::fstat(file)?);
    anyhow::ensure!(rustix::io::read(file, buffer)? > 0);
    std::hint::black_box(rustix::fs::fstat(file)?);
    Ok(())
}

fn path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}
