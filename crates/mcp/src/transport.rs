//! Connections to servers: pipes of a process, or HTTP.

pub(crate) mod connection;
pub(crate) mod flood_limit;
pub(crate) mod http;
pub(crate) mod http_client;
pub(crate) mod lines;
pub(crate) mod process;
pub(crate) mod task_tools;
