//! Runs a command so that it reaches only what it needs, and so that nothing of it is left when it ends.
//!
//! Between the gateway and a command stands a guard: the same program, run again. Everything that the command starts
//! stays below the guard, however it tries to leave, and the guard ends all of it when its pipe closes: at the end, when
//! somebody cancels, and when the gateway dies in whatever way. To cancel is to close the pipe and wait for the guard.
//!
//! ```text
//! gateway ── pipe ──▶ guard ──▶ bubblewrap ──▶ helper: limits, seccomp ──▶ sh -c …      isolated
//! gateway ── pipe ──▶ guard ──▶ helper: limits, Landlock, seccomp ──▶ sh -c …           confined
//! gateway ── pipe ──▶ guard ──▶ sh -c …                                                 off
//! ```
//!
//! A [`CommandRequest`] says what a command may reach; which level a machine can give is not believed but tried, once, by a
//! [`Probe`] that attacks its own sandbox. A program that uses this room calls [`run_if_asked`] before anything else.

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
pub use guarded::{Ended, Guarded, Report, StartError};
pub use limits::ResourceLimits;
pub use probe::{NoSandbox, Probe, Unavailable};
pub use program::{Program, run_if_asked};
pub use protocol::SandboxLevel;
pub use request::CommandRequest;

/// How often a gateway tells a guard that it is alive.
pub const HEARTBEAT: std::time::Duration = std::time::Duration::from_secs(1);
/// After how long a guard takes a silent gateway for frozen, and ends the command: sooner than others take its turns for
/// dead.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
