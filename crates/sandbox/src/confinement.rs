//! Landlock: restricts the files that a process and its children can use.
//!
//! It restricts access to content only, not to modes, owners, times and attributes, so a command can change these on the
//! user's other files. It also cannot exclude a path below an allowed one.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

use crate::helper::{Network, Task};
use crate::launch::Launch;
use crate::program::HELPER;
use crate::system_directories::SYSTEM;
use crate::{CommandRequest, Directory};

/// Oldest acceptable version. Earlier ones do not restrict signals, so a command could kill its guard and any other process
/// of the user.
const REQUIRED: ABI = ABI::V6;
/// First kernel with that version.
pub(crate) const REQUIRED_KERNEL: &str = "6.12";

/// Devices that every program expects.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Paths available to a confined command in addition to the system's directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reach {
    root: Directory,
    readable: Vec<OsString>,
    writable: Vec<OsString>,
}

impl Reach {
    pub(crate) fn of(request: &CommandRequest) -> Self {
        let names = |paths: &[PathBuf]| paths.iter().map(|path| path.clone().into()).collect();
        let mut writable: Vec<OsString> = names(&request.writable);
        writable.push(request.temporary.clone().into());
        Self { root: request.root.clone(), readable: names(&request.readable), writable }
    }
}

pub(crate) fn launch(request: &CommandRequest) -> io::Result<Launch> {
    launch_task(request, &Task::shell(request, Network::None))
}

/// Returns the launch of the helper with the given task.
pub(crate) fn launch_task(request: &CommandRequest, task: &Task) -> io::Result<Launch> {
    let mut environment = request.environment.clone();
    let temporary = || request.temporary.clone().into();
    // An unreadable home directory is worse than an empty one; git, for example, refuses to run.
    environment.extend([("HOME".into(), temporary()), ("TMPDIR".into(), temporary())]);
    environment.extend(task.confined(Reach::of(request)).variables()?);
    Ok(Launch {
        // The guard's own file, even if its path was replaced by an update.
        program: "/proc/self/exe".into(),
        arguments: vec![HELPER.into()],
        environment,
        directory: request.cwd.path().into(),
        says_when_it_begins: true,
        time: request.limits.time,
        held: None,
    })
}

/// Returns true if the kernel supports the required version of Landlock.
pub(crate) fn is_available() -> bool {
    ruleset().is_ok_and(|ruleset| ruleset.create().is_ok())
}

fn ruleset() -> Result<Ruleset, RulesetError> {
    // A hard requirement: the crate's default is best effort, which would silently run commands with fewer restrictions.
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .scope(Scope::from_all(REQUIRED))
}

/// Returns all rights except creating devices: a device created by a privileged command would bypass the sandbox.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(REQUIRED) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

/// Confines this process and its future children for good.
pub(crate) fn confine(reach: &Reach) -> io::Result<()> {
    let root = reach.root.open()?;
    let reading = AccessFs::from_read(REQUIRED);
    let of_system = SYSTEM.iter().map(|row| Path::new(row.path));
    let readable = of_system.chain(reach.readable.iter().map(Path::new));
    let writable = reach.writable.iter().map(Path::new);
    let confined = ruleset()
        .and_then(|ruleset| ruleset.create())
        .and_then(|ruleset| ruleset.add_rule(PathBeneath::new(&root, writing())))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(readable, reading)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(writable, writing())))
        .and_then(|ruleset| {
            ruleset.add_rules(path_beneath_rules(DEVICES, AccessFs::ReadFile | AccessFs::WriteFile))
        })
        .and_then(|ruleset| ruleset.restrict_self());
    match confined {
        // `restrict_self` also succeeds on a kernel with Landlock disabled, so the status must be checked.
        Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => Ok(()),
        Ok(_) => Err(io::Error::other("the kernel does not enforce Landlock")),
        Err(error) => Err(io::Error::other(error)),
    }
}
