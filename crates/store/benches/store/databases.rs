//! The databases to measure.

use std::env;

use store::Database;
use tempfile::TempDir;
use test_postgres::{Cluster, Durability, Options, SERVER_VARIABLE, TestDatabase};

/// A source of empty databases of one kind.
pub(crate) enum Databases {
    /// Files in one directory.
    Sqlite(TempDir),
    /// A server started by this process, where every commit waits for the disk.
    OwnPostgres(Cluster),
    /// The server that the environment names, with whatever durability it has.
    GivenPostgres,
}

/// A database that is dropped with the value.
pub(crate) struct Fresh {
    pub(crate) database: Database,
    _given: Option<TestDatabase>,
}

impl Databases {
    /// Returns SQLite, and PostgreSQL if it is installed.
    pub(crate) fn available() -> anyhow::Result<Vec<Self>> {
        let mut all = vec![Self::Sqlite(tempfile::tempdir()?)];
        if env::var_os(SERVER_VARIABLE).is_some() {
            all.push(Self::GivenPostgres);
        } else {
            let options = Options { durability: Durability::Full };
            all.extend(test_postgres::test_cluster(options).map(Self::OwnPostgres));
        }
        Ok(all)
    }

    /// Returns the heading of the figures.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite (write-ahead log, synchronous = full)",
            Self::OwnPostgres(_) => "PostgreSQL (fsync = on, over loopback)",
            Self::GivenPostgres => "PostgreSQL (as FOREWORD_TEST_POSTGRES has it)",
        }
    }

    /// Creates an empty database.
    pub(crate) fn fresh(&self, name: &str) -> anyhow::Result<Fresh> {
        let plain = |database| Fresh { database, _given: None };
        Ok(match self {
            Self::Sqlite(directory) => {
                plain(Database::Sqlite(directory.path().join(name).with_extension("db")))
            }
            Self::OwnPostgres(cluster) => plain(cluster.create_database()?.parse()?),
            Self::GivenPostgres => {
                let given = test_postgres::test_database();
                let given = given.ok_or_else(|| anyhow::anyhow!("{SERVER_VARIABLE} names no server"))?;
                Fresh { database: given.url().parse()?, _given: Some(given) }
            }
        })
    }
}
