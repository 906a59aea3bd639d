//! The two databases: an SQLite file, or a PostgreSQL server.

pub(crate) mod clock;
pub(crate) mod counter;
pub(crate) mod postgres;
pub(crate) mod sqlite;

pub use counter::Statements;
pub use postgres::PoolFigures;
pub use postgres::report::{PostgresReport, ask_postgres};
