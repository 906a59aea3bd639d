//! The schema's history. A migration that was released is never edited; the next one is added below it.

use protocol::Timestamp;

use crate::StoreError;
use crate::column::values;
use crate::connection::Tx;
use crate::database_id;

struct Migration {
    name: &'static str,
    both: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        name: "m0001_spine",
        both: include_str!("migrations/m0001_spine.sql"),
        sqlite: "",
        postgres: include_str!("migrations/m0001_spine.postgres.sql"),
    },
    Migration {
        name: "m0002_turns",
        both: include_str!("migrations/m0002_turns.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0003_approvals",
        both: include_str!("migrations/m0003_approvals.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0004_parts",
        both: include_str!("migrations/m0004_parts.sql"),
        sqlite: include_str!("migrations/m0004_parts.sqlite.sql"),
        postgres: include_str!("migrations/m0004_parts.postgres.sql"),
    },
    Migration {
        name: "m0005_stops",
        both: include_str!("migrations/m0005_stops.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0006_operators",
        both: include_str!("migrations/m0006_operators.sql"),
        sqlite: include_str!("migrations/m0006_operators.sqlite.sql"),
        postgres: include_str!("migrations/m0006_operators.postgres.sql"),
    },
    Migration {
        name: "m0007_instance",
        both: include_str!("migrations/m0007_instance.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0008_standing",
        both: include_str!("migrations/m0008_standing.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0009_audit",
        both: include_str!("migrations/m0009_audit.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0010_moved_out",
        both: include_str!("migrations/m0010_moved_out.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0011_frozen_sessions",
        both: include_str!("migrations/m0011_frozen_sessions.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0012_names",
        both: include_str!("migrations/m0012_names.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0013_how_decided",
        both: include_str!("migrations/m0013_how_decided.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0014_requested_tools",
        both: include_str!("migrations/m0014_requested_tools.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0015_memory",
        both: "",
        sqlite: include_str!("migrations/m0015_memory.sqlite.sql"),
        postgres: include_str!("migrations/m0015_memory.postgres.sql"),
    },
    Migration {
        name: "m0016_memory_use",
        both: include_str!("migrations/m0016_memory_use.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0017_jobs",
        both: include_str!("migrations/m0017_jobs.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0018_delegation",
        both: include_str!("migrations/m0018_delegation.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0019_announcements",
        both: "",
        sqlite: "",
        postgres: include_str!("migrations/m0019_announcements.postgres.sql"),
    },
    Migration {
        name: "m0020_tree",
        both: include_str!("migrations/m0020_tree.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0021_job_usage",
        both: include_str!("migrations/m0021_job_usage.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "m0022_memory_purge",
        both: include_str!("migrations/m0022_memory_purge.sql"),
        sqlite: "",
        postgres: "",
    },
];

/// Says which migrations a database has had. The names are those of the library that the first versions used.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS seaql_migrations (version VARCHAR NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";

/// Makes gateways that start at the same time on one PostgreSQL wait for each other.
const LOCK: i64 = 0x666f_7265_776f_7264;

/// Whether this version has a migration.
pub(crate) fn is_known(name: &str) -> bool {
    MIGRATIONS.iter().any(|migration| migration.name == name)
}

/// How many of this version's migrations a database has not had.
pub(crate) fn count_missing(applied: &[String]) -> usize {
    MIGRATIONS.iter().filter(|migration| applied.iter().all(|name| name != migration.name)).count()
}

/// Brings a schema up to date, inside of the transaction that the caller has begun.
pub(crate) async fn migrate(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    if tx.is_postgres() {
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
