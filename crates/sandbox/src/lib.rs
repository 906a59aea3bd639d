//! Runs a command with access only to what it needs, and leaves no process behind.
//!
//! A guard, which is this program run again, sits between the gateway and the command. Everything that the command starts
//! stays below the guard, however it tries to escape. The guard ends all of it when its pipe closes: when the command ends,
//! when it is cancelled, and when the gateway dies for whatever reason. Cancelling means closing the pipe and waiting.
//!
//! ```text
//! gateway ── pipe ──▶ guard ──▶ bubblewrap ──▶ helper: limits, seccomp ──▶ sh -c …      isolated
//! gateway ── pipe ──▶ guard ──▶ helper: limits, Landlock, seccomp ──▶ sh -c …           confined
//! gateway ── pipe ──▶ guard ──▶ sh -c …                                                 off
//! ```
//!
//! A [`CommandRequest`] lists what a command may access. The level that a machine supports is determined once by a [`Probe`],
//! which attacks its own sandbox instead of trusting it. A program that uses this crate calls [`run_if_asked`] first.

mod directory;
mod guard;
mod guarded;
mod launch;
mod limits;
#[cfg(any(target_os = "macos", test))]
mod macos;
mod probe;
mod program;
mod request;
mod system_directories;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confinement;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod pin;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod self_test;

pub use directory::Directory;
pub use guard::when_released;
pub use guarded::{Ended, Guarded, Report, StartError};
pub use limits::ResourceLimits;
pub use probe::{NoSandbox, Probe, Unavailable};
pub use program::{Program, run_if_asked};
pub use protocol::SandboxLevel;
pub use request::CommandRequest;

/// Interval of the gateway's heartbeats.
pub const HEARTBEAT: std::time::Duration = std::time::Duration::from_secs(1);
/// Time after which a guard considers a silent gateway frozen and ends the command. Shorter than the time after which other
/// gateways consider its turns dead.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
