//! Commands in a sandbox: what they can do, and what they cannot.

#[cfg(target_os = "linux")]
mod attacks;
mod endings;
mod ordinary;
#[cfg(target_os = "linux")]
mod table;
mod trial;
