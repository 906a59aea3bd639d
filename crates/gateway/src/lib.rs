//! The gateway: connections, authentication, handlers, notifications, startup and shutdown.
//!
//! [`Gateway::start`] opens the database, locks the data directory and listens. Protocol methods are in `handler`,
//! access checks in `access`, and `feed` delivers changes to subscribers.

mod access;
mod connection;
mod console;
mod error;
mod feed;
mod handler;
mod http;
mod mcp_server;
mod metrics;
mod readiness;
mod root_path;
mod router;
mod service;
mod settings;
mod start;
mod storage;
mod upkeep;

pub use http::listener::ListenerLimits;
pub use root_path::root_path_problem;
pub use settings::GatewaySettings;
pub use start::{Gateway, StartError};
pub use storage::backup::{BackupError, Existing, back_up, restore};
pub use storage::data_directory::DataDirectory;
pub use storage::database_file::DatabaseFileError;
pub use storage::known_databases::check_database_file;
pub use store::{Database, InvalidDatabase, RestoredTokens, ask_postgres, check_sqlite};
