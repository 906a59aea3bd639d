//! The data directory, the embedded database's file and its lock, and backups.

pub(crate) mod backup;
pub(crate) mod data_directory;
pub(crate) mod database_file;
pub(crate) mod known_databases;
mod private_file;
