//! What tests share: a gateway in a temporary directory, and a throw-away PostgreSQL cluster.

mod gateway;
pub mod postgres;

pub use gateway::TestGateway;
