//! Record of the databases a data directory was used with, so that an empty one never replaces a lost one.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::InstanceId;
use serde::{Deserialize, Serialize};
use store::Database;

use crate::storage::data_directory::{DataDirectory, DataDirectoryError};
use crate::storage::database_file::{DatabaseFileError, resolve};

pub(crate) const KNOWN_DATABASES_FILE: &str = "databases.json";

/// Fails if the data directory was used with this database and its file is now missing or empty.
pub fn check_database_file(data: &Path, database: &Database) -> Result<(), DatabaseFileError> {
    KnownDatabases::read(data).check_file(data, database)
}

/// Instance ids by database address. Databases inside the data directory are recorded relative to it, so that the
/// directory can be moved.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KnownDatabases {
    databases: BTreeMap<String, InstanceId>,
}

impl KnownDatabases {
    /// Reads the record. A missing or damaged file counts as empty, because it only guards against mistakes.
    pub(crate) fn read(data: &Path) -> Self {
        let text = std::fs::read_to_string(data.join(KNOWN_DATABASES_FILE)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Rejects a known database whose file is missing, before an empty one would be created in its place.
    pub(crate) fn check_file(&self, data: &Path, database: &Database) -> Result<(), DatabaseFileError> {
        let Database::Sqlite(path) = database else { return Ok(()) };
        let is_empty = path.metadata().map_or(true, |metadata| metadata.len() == 0);
        if is_empty && self.databases.contains_key(&name(data, database)) {
            return Err(DatabaseFileError::Missing { database: database.to_string(), data: data.to_owned() });
        }
        Ok(())
    }

    /// Rejects a database whose instance differs from the recorded one.
    pub(crate) fn check_instance(
        &self,
        directory: &DataDirectory,
        database: &Database,
        instance: &InstanceId,
    ) -> Result<(), DatabaseFileError> {
        match self.databases.get(&name(directory.path(), database)) {
            Some(known) if known != instance => Err(DatabaseFileError::Replaced {
                database: database.to_string(),
                data: directory.path().to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Records a database in memory and on disk.
    pub(crate) fn remember(
        &mut self,
        directory: &DataDirectory,
        database: &Database,
        instance: &InstanceId,
    ) -> Result<(), DataDirectoryError> {
        let known = self.databases.insert(name(directory.path(), database), instance.clone());
        if known.as_ref() == Some(instance) {
            return Ok(());
        }
        let text = serde_json::to_string(self).unwrap_or_default();
        directory.write(KNOWN_DATABASES_FILE, &text)
    }
}

fn name(data: &Path, database: &Database) -> String {
    let Database::Sqlite(path) = database else { return database.to_string() };
    let path = resolve(path);
    // Both paths are resolved, since the data directory may be reached through a link.
    let below = path.strip_prefix(resolve(data)).unwrap_or(&path);
    format!("sqlite:{}", below.display())
}
