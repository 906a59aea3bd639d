//! Landlock: allows a process and what it starts the files it needs, and no others.
//!
//! It knows the content of files. It does not know their modes, owners, times and attributes, so that what belongs to the
//! user can be changed in these; nor can it take something out of what it allows.

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

/// What the kernel must know: without it, a command could end its own guard, and any other process of the user.
const REQUIRED: ABI = ABI::V6;
/// The first kernel that knows it.
pub(crate) const REQUIRED_KERNEL: &str = "6.12";

/// Devices that every program expects.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What a confined command can reach besides the system's directories.
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

/// The same for the helper's other work.
pub(crate) fn launch_task(request: &CommandRequest, task: &Task) -> io::Result<Launch> {
    let mut environment = request.environment.clone();
    let temporary = || request.temporary.clone().into();
    // A home that cannot be read is worse than an empty one: git, for one, gives up.
    environment.extend([("HOME".into(), temporary()), ("TMPDIR".into(), temporary())]);
    environment.extend(task.confined(Reach::of(request)).variables()?);
    Ok(Launch {
        // The guard's own file, by whatever name.
        program: "/proc/self/exe".into(),
        arguments: vec![HELPER.into()],
        environment,
        directory: request.cwd.path().into(),
        says_when_it_begins: true,
        time: request.limits.time,
    })
}

/// Whether the kernel can confine.
pub(crate) fn is_available() -> bool {
    ruleset().is_ok_and(|ruleset| ruleset.create().is_ok())
}

fn ruleset() -> Result<Ruleset, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .scope(Scope::from_all(REQUIRED))
}

/// Everything but making devices: one made by a privileged command would be a way around all this.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(REQUIRED) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

/// Confines this process, and what it starts from now on, for good.
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
        Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => Ok(()),
        Ok(_) => Err(io::Error::other("the kernel does not enforce Landlock")),
        Err(error) => Err(io::Error::other(error)),
    }
}
