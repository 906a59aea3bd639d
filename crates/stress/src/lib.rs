//! Stress tests of a whole gateway: faults, load, random calls and simulated turns.
//!
//! Each module drives a real gateway and checks the outcome against what it did itself, never against what the gateway
//! reports. `cargo xtask attack`, `torture`, `load`, `random-calls` and `simulate` run them at length; tests run short forms.

pub mod attack;
pub mod load;
pub mod random_calls;
pub mod simulation;
pub mod torture;
