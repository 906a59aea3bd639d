//! Gateways as processes: starting, serving, crashing, and restoring them.

mod backup;
#[cfg(target_os = "linux")]
mod clocks;
mod deployment;
mod kill_nine;
#[cfg(target_os = "linux")]
mod load;
mod serve;
mod stdio;
mod three_gateways;
#[cfg(target_os = "linux")]
mod torture;
