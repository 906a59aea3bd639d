//! The system's directories with programs and their data, in one table for all levels, so that no level forgets one.

#[cfg(any(target_os = "linux", test))]
use std::path::{Path, PathBuf};

/// A directory of the machine that commands can read.
pub(crate) struct SystemDirectory {
    pub(crate) path: &'static str,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "mounts are made on Linux only"))]
    pub(crate) mounted: Mounted,
}

/// Handling of the directory for an isolated command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounted {
    /// Mounted; exists on every system.
    Always,
    /// Usually a link into `/usr`, which is recreated.
    AsLink,
    /// Mounted if it exists.
    IfThere,
    /// Not mounted: an isolated command has its own.
    Own,
}

const fn row(path: &'static str, mounted: Mounted) -> SystemDirectory {
    SystemDirectory { path, mounted }
}

/// Of `/proc` only files without private data: `/proc/PID` contains the environments of other processes, keys included.
#[cfg(target_os = "linux")]
pub(crate) const SYSTEM: &[SystemDirectory] = &[
    row("/usr", Mounted::Always),
    row("/etc", Mounted::Always),
    row("/bin", Mounted::AsLink),
    row("/sbin", Mounted::AsLink),
    row("/lib", Mounted::AsLink),
    row("/lib32", Mounted::AsLink),
    row("/lib64", Mounted::AsLink),
    row("/libx32", Mounted::AsLink),
    row("/opt", Mounted::IfThere),
    row("/nix/store", Mounted::IfThere),
    row("/gnu/store", Mounted::IfThere),
    row("/run/current-system", Mounted::IfThere),
    row("/run/systemd/resolve", Mounted::IfThere),
    row("/sys/devices/system/cpu", Mounted::IfThere),
    row("/sys/fs/cgroup", Mounted::IfThere),
    row("/proc/cpuinfo", Mounted::Own),
    row("/proc/filesystems", Mounted::Own),
    row("/proc/loadavg", Mounted::Own),
    row("/proc/meminfo", Mounted::Own),
    row("/proc/stat", Mounted::Own),
    row("/proc/sys", Mounted::Own),
    row("/proc/uptime", Mounted::Own),
    row("/proc/version", Mounted::Own),
];

#[cfg(not(target_os = "linux"))]
pub(crate) const SYSTEM: &[SystemDirectory] = MACOS;

/// Directories of macOS, where nothing is mounted.
#[cfg(any(target_os = "macos", not(target_os = "linux"), test))]
pub(crate) const MACOS: &[SystemDirectory] = &[
    row("/bin", Mounted::Own),
    row("/sbin", Mounted::Own),
    row("/usr", Mounted::Own),
    row("/System", Mounted::Own),
    row("/Library", Mounted::Own),
    row("/opt", Mounted::Own),
    row("/private/etc", Mounted::Own),
    row("/private/var/db", Mounted::Own),
    row("/dev", Mounted::Own),
];

/// Returns the paths at which an isolated command sees `path`, which is resolved, because of the system's directories. Such a
/// directory may itself be a link.
#[cfg(target_os = "linux")]
pub(crate) fn seen_at(path: &Path) -> Vec<PathBuf> {
    let mounted = SYSTEM.iter().filter(|row| matches!(row.mounted, Mounted::Always | Mounted::IfThere));
    let seen = mounted.filter_map(|row| {
        let real = Path::new(row.path).canonicalize().ok()?;
        Some(Path::new(row.path).join(path.strip_prefix(real).ok()?))
    });
    seen.collect()
}
