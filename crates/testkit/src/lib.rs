//! What tests and benchmarks share: a gateway in a temporary directory, a throw-away PostgreSQL cluster, and
//! measuring side by side.

mod gateway;
pub mod measure;
pub mod postgres;
pub mod workload;

pub use gateway::TestGateway;
/// The runtime, for benchmarks of crates that must not depend on one.
pub use tokio;
