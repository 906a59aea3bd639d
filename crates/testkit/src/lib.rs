//! What tests and benchmarks share: a gateway in a temporary directory, a throw-away PostgreSQL cluster, a scripted
//! model server, and measuring side by side.

mod gateway;
pub mod measure;
pub mod postgres;
pub mod scripted_model;
pub mod workload;

pub use gateway::TestGateway;
/// The runtime, for benchmarks of crates that must not depend on one.
pub use tokio;
