//! Determines the sandbox level of this machine by trying.

use std::fmt;

use parking_lot::Mutex;
use protocol::SandboxLevel;

use crate::Program;

/// Best available level, and the reasons against better ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    best: SandboxLevel,
    unavailable: Vec<Unavailable>,
}

/// A level that is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// Level that was tried.
    pub level: SandboxLevel,
    /// Reason, and what to do about it.
    pub reason: String,
}

/// No available level is strong enough: lists those that would be, each with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct NoSandbox(pub Vec<Unavailable>);

impl fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not `{}`: {}", self.level.name(), self.reason)
    }
}

impl Probe {
    /// Tries the levels from the strongest, once per process. Takes some tens of milliseconds.
    pub fn of_system(program: &Program) -> Self {
        static KNOWN: Mutex<Option<(Program, Probe)>> = Mutex::new(None);
        // The lock is held during the probe, so that concurrent first calls wait for one result instead of each
        // starting sandboxes.
        let mut known = KNOWN.lock();
        if let Some((of, probe)) = &*known
            && of == program
        {
            return probe.clone();
        }
        let probe = Self::run(program);
        *known = Some((program.clone(), probe.clone()));
        probe
    }

    fn run(program: &Program) -> Self {
        let mut unavailable = Vec::new();
        for level in [SandboxLevel::Isolated, SandboxLevel::Confined] {
            match attempt(program, level) {
                Ok(()) => return Self { best: level, unavailable },
                Err(reason) => unavailable.push(Unavailable { level, reason }),
            }
        }
        Self { best: SandboxLevel::Off, unavailable }
    }

    /// Returns the strongest available level.
    pub fn best(&self) -> SandboxLevel {
        self.best
    }

    /// Returns the stronger levels with their reasons.
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Returns the level to use if nothing weaker than `weakest` is acceptable. `off` always yields `off`: otherwise it could not
    /// be selected on a machine with a sandbox.
    pub fn choose(&self, weakest: SandboxLevel) -> Result<SandboxLevel, NoSandbox> {
        if weakest == SandboxLevel::Off || self.best <= weakest {
            return Ok(if weakest == SandboxLevel::Off { weakest } else { self.best });
        }
        let unavailable = self.unavailable.iter().filter(|unavailable| unavailable.level <= weakest);
        Err(NoSandbox(unavailable.cloned().collect()))
    }
}

#[cfg(not(target_os = "linux"))]
fn attempt(_: &Program, level: SandboxLevel) -> Result<(), String> {
    match level {
        #[cfg(target_os = "macos")]
        SandboxLevel::Confined => crate::macos::attempt(),
        _ => Err("this system has no such level".to_owned()),
    }
}

#[cfg(target_os = "linux")]
use linux::attempt;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, Read as _};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::time::Duration;

    use super::{Program, SandboxLevel};
    use crate::helper::{Network, Task};
    use crate::self_test::SelfTest;
    use crate::{CommandRequest, Directory, Guarded, Report, ResourceLimits, bubblewrap, confinement};

    /// Time limit of an attempt.
    const TIME: Duration = Duration::from_secs(10);
    /// Most characters of bubblewrap's message.
    const MAX_REASON_CHARS: usize = 300;

    /// Tries a level. The error is the reason why it is not available.
    pub(super) fn attempt(program: &Program, level: SandboxLevel) -> Result<(), String> {
        if rustix::process::geteuid().is_root() {
            return Err(
                "the gateway runs as root, and commands must not; run it as an ordinary user".to_owned()
            );
        }
        match level {
            SandboxLevel::Isolated if !Path::new(bubblewrap::PROGRAM).exists() => {
                return Err(format!(
                    "bubblewrap is not installed at {}; on Debian: apt-get install bubblewrap",
                    bubblewrap::PROGRAM
                ));
            }
            SandboxLevel::Confined if !confinement::is_available() => {
                return Err(format!(
                    "Landlock is missing or too old; it needs Linux {} or later",
                    confinement::REQUIRED_KERNEL
                ));
            }
            _ => {}
        }
        match try_attacks(program, level) {
            Ok(breaches) if breaches.is_empty() => Ok(()),
            Ok(breaches) => Err(format!("its self-test failed: {}", breaches.join(", "))),
            Err(error) => Err(explained(&error.to_string())),
        }
    }

    fn try_attacks(program: &Program, level: SandboxLevel) -> io::Result<Vec<String>> {
        let directory = tempfile::Builder::new().prefix("foreword-sandbox-").tempdir()?;
        let path = directory.path().canonicalize()?;
        let root = path.join("root");
        let temporary = path.join("temporary");
        let outside = path.join("outside");
        // Only an isolated command can be kept out of a hidden directory inside the root.
        let is_isolated = level == SandboxLevel::Isolated;
        let hidden = if is_isolated { root.join("hidden") } else { path.join("hidden") };
        for directory in [&root, &temporary, &hidden] {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&outside, "secret")?;
        std::fs::write(hidden.join("secret"), "secret")?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let unix = path.join("socket");
        let _unix_listener = UnixListener::bind(&unix)?;
        let request = CommandRequest {
            level,
            root: Directory::look(&root)?,
            cwd: Directory::look(&root)?,
            temporary,
            readable: Vec::new(),
            writable: Vec::new(),
            hidden: if is_isolated { vec![hidden.clone()] } else { Vec::new() },
            protected: Vec::new(),
            environment: Vec::new(),
            text: String::new(),
            limits: ResourceLimits { time: TIME, ..ResourceLimits::default() },
        };
        let hidden = hidden.join("secret");
        let test = SelfTest { level, tcp: tcp.local_addr()?, unix, outside: outside.clone(), hidden, root };
        let launch = if is_isolated {
            bubblewrap::launch_task(&request, &Task::self_test(&request, Network::Own, test))?
        } else {
            confinement::launch_task(&request, &Task::self_test(&request, Network::None, test))?
        };
        let (guarded, mut output) = Guarded::start_launch(program, &launch)?;
        let mut said = String::new();
        output.read_to_string(&mut said)?;
        let report = guarded.wait()?;
        // Checked from outside as well: a write that the self-test could not observe still counts as a breach.
        if std::fs::read_to_string(&outside)? != "secret" {
            return Ok(vec!["files outside can be written".to_owned()]);
        }
        match report {
            Report::Ended(_) => serde_json::from_str(&said)
                .map_err(|_| io::Error::other(format!("its self-test did not end: {}", said.trim()))),
            Report::NotStarted(why) if said.trim().is_empty() => Err(io::Error::other(why)),
            Report::NotStarted(_) => Err(io::Error::other(said.trim().to_owned())),
        }
    }

    /// Adds the meaning of a message of bubblewrap.
    fn explained(said: &str) -> String {
        let said: String = said.chars().take(MAX_REASON_CHARS).collect();
        let meaning = [
            (
                "No permissions to create new namespace",
                "the system refuses user namespaces to ordinary users",
            ),
            ("setting up uid map", "the system refuses user namespaces to ordinary users"),
            (
                "loopback: Failed",
                "the system refuses user namespaces to ordinary users; on Ubuntu, bubblewrap needs an AppArmor profile",
            ),
            ("Can't mount proc", "/proc is masked here, as it is in many containers"),
            ("Unknown option", "this bubblewrap is too old; 0.8 or later is needed"),
        ];
        match meaning.iter().find(|(sign, _)| said.contains(sign)) {
            Some((_, meaning)) => format!("{meaning} ({said})"),
            None => said,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(best: SandboxLevel, unavailable: &[(SandboxLevel, &str)]) -> Probe {
        let unavailable = unavailable.iter();
        let unavailable =
            unavailable.map(|(level, reason)| Unavailable { level: *level, reason: (*reason).to_owned() });
        Probe { best, unavailable: unavailable.collect() }
    }

    #[test]
    fn weaker_level_is_never_chosen_unasked() {
        use SandboxLevel::{Confined, Isolated, Off};
        let confined = probe(Confined, &[(Isolated, "no bubblewrap")]);
        let refused = |probe: &Probe, weakest| probe.choose(weakest).unwrap_err().to_string();
        assert_eq!(refused(&confined, Isolated), "not `isolated`: no bubblewrap");
        assert_eq!(confined.choose(Confined), Ok(Confined));
        assert_eq!(confined.choose(Off), Ok(Off));
        let none = probe(Off, &[(Isolated, "no bubblewrap"), (Confined, "no Landlock")]);
        assert_eq!(refused(&none, Isolated), "not `isolated`: no bubblewrap");
        let both = "not `isolated`: no bubblewrap; not `confined`: no Landlock";
        assert_eq!(refused(&none, Confined), both);
        let all = probe(Isolated, &[]);
        assert_eq!([all.choose(Isolated), all.choose(Confined)], [Ok(Isolated), Ok(Isolated)]);
    }
}
