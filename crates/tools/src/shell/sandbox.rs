//! Confines a command to what it needs.
//!
//! Landlock confines a thread and what it starts. The command is therefore started by a thread of its own that is
//! confined first; nothing has to run between fork and exec.
//!
//! What Landlock does not know is not confined: the network, sockets in the file system, and the mode, owner and times
//! of files that belong to the user.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use tokio::process::{Child, Command};

/// What confines commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    /// Nothing.
    None,
    /// The Linux kernel.
    #[cfg(target_os = "linux")]
    Landlock,
}

/// What a confined command can reach.
pub(super) struct Reach {
    /// Read and written.
    pub(super) root: OwnedFd,
    /// Read and written.
    pub(super) temporary: PathBuf,
    /// Read.
    pub(super) readable: Vec<PathBuf>,
    /// Read and written.
    pub(super) writable: Vec<PathBuf>,
}

impl Confinement {
    /// The best that this system has.
    #[cfg(target_os = "linux")]
    pub(super) fn of_system() -> Option<Self> {
        landlock::is_available().then_some(Self::Landlock)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of_system() -> Option<Self> {
        None
    }

    /// Starts a command. Blocks its thread, and needs a runtime around it.
    pub(super) fn start(self, mut command: Command, reach: &Reach) -> io::Result<Child> {
        match self {
            Self::None => command.spawn(),
            #[cfg(target_os = "linux")]
            Self::Landlock => {
                let runtime = tokio::runtime::Handle::current();
                let confined = || {
                    let _inside = runtime.enter();
                    landlock::confine(reach)?;
                    command.spawn()
                };
                std::thread::scope(|scope| {
                    let thread =
                        std::thread::Builder::new().name("shell".into()).spawn_scoped(scope, confined)?;
                    thread
                        .join()
                        .unwrap_or_else(|_| Err(io::Error::other("the command could not be started")))
                })
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod landlock {
    use landlock::{
        ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };

    use super::{Path, Reach, io};

    /// What the kernel must know: before it, files outside could still be truncated.
    const REQUIRED: ABI = ABI::V3;
    /// What is used where the kernel knows it.
    const WANTED: ABI = ABI::V6;

    /// The system's own directories, where programs and what they need are.
    ///
    /// Of `/proc` only what is nobody's: in `/proc/PID`, a privileged command could read the environment of the process
    /// that started it, keys included, because the kernel asks for `CAP_PERFMON` there before it asks Landlock.
    const SYSTEM: &[&str] = &[
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/usr",
        "/opt",
        "/etc",
        "/nix/store",
        "/gnu/store",
        "/run/current-system",
        "/run/systemd/resolve",
        "/sys/devices/system/cpu",
        "/sys/fs/cgroup",
        "/proc/cpuinfo",
        "/proc/filesystems",
        "/proc/loadavg",
        "/proc/meminfo",
        "/proc/stat",
        "/proc/sys",
        "/proc/uptime",
        "/proc/version",
    ];
    /// Devices that every program expects.
    const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

    pub(super) fn is_available() -> bool {
        ruleset().is_ok_and(|ruleset| ruleset.create().is_ok())
    }

    fn ruleset() -> Result<Ruleset, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(REQUIRED))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(WANTED))?
            .scope(Scope::from_all(WANTED))
    }

    /// Everything but making devices: one made by a privileged command would be a way around all this.
    fn writing() -> BitFlags<AccessFs> {
        AccessFs::from_all(WANTED) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
    }

    /// Confines this thread, and what it starts from now on, for good.
    pub(super) fn confine(reach: &Reach) -> io::Result<()> {
        let reading = AccessFs::from_read(WANTED);
        let of_system = SYSTEM.iter().map(Path::new);
        let readable = of_system.chain(reach.readable.iter().map(|path| path.as_path()));
        let writable = std::iter::once(&reach.temporary).chain(&reach.writable);
        let confined = ruleset()
            .and_then(|ruleset| ruleset.create())
            .and_then(|ruleset| ruleset.add_rule(PathBeneath::new(&reach.root, writing())))
            .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(readable, reading)))
            .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(writable, writing())))
            .and_then(|ruleset| {
                ruleset.add_rules(path_beneath_rules(DEVICES, AccessFs::ReadFile | AccessFs::WriteFile))
            })
            .and_then(|ruleset| ruleset.restrict_self());
        match confined {
            Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(()),
            Ok(_) => Err(io::Error::other("the sandbox could not be set up")),
            Err(error) => Err(io::Error::other(format!("the sandbox could not be set up: {error}"))),
        }
    }
}
