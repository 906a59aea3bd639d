//! Tools of Model Context Protocol servers, offered to turns.
//!
//! [`Servers`] has a [`ToolSource`](tools::ToolSource) for every configured server. A server is started when it is first needed:
//! once per configuration to list its tools, and to run calls. The list is cached on disk, so that later turns do not wait for
//! the server. A server that crashes, hangs, floods or lies only affects its own calls.
//!
//! A server's process runs under the same guard as commands, so nothing of it outlives the gateway. Its standard input and output
//! are named pipes in a directory of their own, because the guard uses its own standard streams for other purposes.

mod error;
mod offer;
mod secrets;
mod server;
mod servers;
mod settings;
mod transport;

pub use servers::{Servers, UnusableServer};
pub use settings::{McpSettings, ServerSettings};
