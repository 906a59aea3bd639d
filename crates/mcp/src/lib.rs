//! The tools of Model Context Protocol servers, offered to turns.
//!
//! [`Servers`] has one [`ToolSource`](tools::ToolSource) for every configured server. A server is started when it is first
//! needed: to be asked what it offers, once for each configuration, and to run a call. What it offers is remembered on disk, so
//! that later turns list its tools without waiting for it. Whatever it does — crash, hang, flood, lie — costs its own calls
//! and nothing else.
//!
//! A server's process stands under the guard that commands stand under, so nothing of it outlives the gateway; its standard
//! input and output are pipes with names in a directory of its own, because the guard's are taken.

mod connection;
mod content;
mod definition;
mod error;
mod http;
mod http_client;
mod lines;
mod name;
mod process;
mod remembered;
mod secrets;
mod server;
mod servers;
mod settings;
mod tool;
mod watched;

pub use servers::{Servers, UnusableServer};
pub use settings::{McpSettings, ServerSettings};
