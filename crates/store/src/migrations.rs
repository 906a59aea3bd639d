//! The schema and its history. A released migration is never edited; changes are appended as the next one.

use protocol::Timestamp;

use crate::column::values;
use crate::connection::Tx;
use crate::{StoreError, database_id};

/// One step of the schema's history: the part that both databases share, then the part that only one of them has.
struct Migration {
    name: &'static str,
    both: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        name: "0001_initial",
        both: include_str!("migrations/0001_initial.sql"),
        sqlite: include_str!("migrations/0001_initial.sqlite.sql"),
        postgres: include_str!("migrations/0001_initial.postgres.sql"),
    },
    Migration {
        name: "0002_revision_client",
        both: include_str!("migrations/0002_revision_client.sql"),
        sqlite: "",
        postgres: "",
    },
];

/// Lists the migrations that a database has had.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS seaql_migrations (version VARCHAR NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";

/// The advisory lock that serialises gateways which start on the same PostgreSQL server.
const LOCK: i64 = 0x666f_7265_776f_7264;

/// Returns true if this version has a migration of that name.
pub(crate) fn is_known(name: &str) -> bool {
    MIGRATIONS.iter().any(|migration| migration.name == name)
}

/// Returns the number of this version's migrations that a database has not had.
pub(crate) fn count_missing(applied: &[String]) -> usize {
    MIGRATIONS.iter().filter(|migration| applied.iter().all(|name| name != migration.name)).count()
}

/// Brings a schema up to date inside the caller's transaction.
pub(crate) async fn migrate(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    if tx.is_postgres() {
        // Before the list of applied migrations is read: a gateway that waited here must see those that another one has
        // just committed. SQLite needs no such lock, because its transaction begins with BEGIN IMMEDIATE.
        tx.execute("SELECT pg_advisory_xact_lock($1)", values![LOCK]).await?;
    }
    tx.script(TABLE).await?;
    let applied: Vec<String> =
        tx.all("SELECT version FROM seaql_migrations", &[], |mut row| row.next()).await?;
    if applied.iter().any(|name| !is_known(name)) {
        return Err(StoreError::database("its schema is of a newer version of foreword; use that version"));
    }
    for migration in MIGRATIONS.iter().filter(|migration| applied.iter().all(|name| name != migration.name)) {
        tx.script(migration.both).await?;
        tx.script(if tx.is_postgres() { migration.postgres } else { migration.sqlite }).await?;
        let seconds = Timestamp::now().milliseconds() / 1000;
        let done = "INSERT INTO seaql_migrations (version, applied_at) VALUES ($1, $2)";
        tx.execute(done, values![migration.name, seconds]).await?;
    }
    database_id::ensure(tx).await
}
