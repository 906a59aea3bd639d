//! Migrations run completely or leave the database as it was.

use store::Store;

use crate::fixture::{Engine, empty_database, open_connection};

/// Opens a database in which the name of a later table of the first migration is taken.
fn an_interrupted_migration_leaves_no_trace(engine: Engine) {
    let Some((database, _place)) = empty_database(engine) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = open_connection(&database).await;
        connection.execute("CREATE TABLE hook_run (id TEXT)").await.unwrap();
        assert!(Store::open(&database).await.is_err());
        // The migration makes `workspace` before it fails, so this fails unless everything was rolled back.
        connection.execute("CREATE TABLE workspace (id TEXT)").await.unwrap();
        connection.execute("DROP TABLE workspace; DROP TABLE hook_run").await.unwrap();
        connection.close().await;
        Store::open(&database).await.unwrap().close().await;
    });
}

#[test]
fn an_interrupted_migration_leaves_no_trace_in_sqlite() {
    an_interrupted_migration_leaves_no_trace(Engine::Sqlite);
}

#[test]
fn an_interrupted_migration_leaves_no_trace_in_postgres() {
    an_interrupted_migration_leaves_no_trace(Engine::Postgres);
}

fn opening_twice_runs_each_migration_once(engine: Engine) {
    let Some((database, _place)) = empty_database(engine) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..2 {
            Store::open(&database).await.unwrap().close().await;
        }
        let connection = open_connection(&database).await;
        let applied = connection.column("SELECT version FROM seaql_migrations ORDER BY version").await;
        assert_eq!(applied, ["0001_initial", "0002_revision_client"]);
        connection.close().await;
    });
}

#[test]
fn opening_sqlite_twice_runs_each_migration_once() {
    opening_twice_runs_each_migration_once(Engine::Sqlite);
}

#[test]
fn opening_postgres_twice_runs_each_migration_once() {
    opening_twice_runs_each_migration_once(Engine::Postgres);
}
