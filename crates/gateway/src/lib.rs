//! The gateway: connections, authentication, handlers, notifications, start-up and shutdown.
//!
//! [`Gateway::start`] opens the database, locks the data directory and listens; the protocol's methods are in
//! `handler`, who may call them is decided in `access`, and what changed reaches subscribers through `feed`.

mod access;
mod connection;
mod data_directory;
mod error;
mod feed;
mod handler;
mod http;
mod listener;
mod metrics;
mod origin;
mod owner;
mod peer;
mod root_path;
mod router;
mod secret;
mod service;
mod settings;
mod start;
mod subscription;

pub use data_directory::DataDirectory;
pub use listener::ListenerLimits;
pub use settings::GatewaySettings;
pub use start::{Gateway, StartError};
pub use store::{Database, InvalidDatabase};
