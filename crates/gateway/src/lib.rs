//! The gateway: connections, authentication, handlers, notifications, start-up and shutdown.
//!
//! [`Gateway::start`] opens the database, locks the data directory and listens; the protocol's methods are in
//! `handler`, who may call them is decided in `access`, and what changed reaches subscribers through `feed`.

mod access;
mod access_counts;
mod backup;
mod connection;
mod data_directory;
mod database_file;
mod error;
mod feed;
mod front_page;
mod handler;
mod http;
mod known_databases;
mod listener;
mod mcp_server;
mod metrics;
mod origin;
mod owner;
mod peer;
mod private_file;
mod readiness;
mod root_path;
mod router;
mod secret;
mod service;
mod settings;
mod start;
mod subscription;
mod upkeep;

pub use backup::{BackupError, Existing, back_up, restore};
pub use data_directory::DataDirectory;
pub use database_file::DatabaseFileError;
pub use known_databases::check_database_file;
pub use listener::ListenerLimits;
pub use root_path::root_path_problem;
pub use settings::GatewaySettings;
pub use start::{Gateway, StartError};
pub use store::{Database, InvalidDatabase, RestoredTokens, ask_postgres, check_sqlite};
