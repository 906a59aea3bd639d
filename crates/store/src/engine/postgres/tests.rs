//! Gateways must not block the others of their database.

use std::time::{Duration, Instant};

use protocol::method::{DocumentSaveParams, WorkspaceCreateParams};
use protocol::{Timestamp, WorkspaceId};
use sqlx::Connection as _;
use test_postgres::{TestDatabase, test_database};

use super::pool::{CONNECTIONS, Pool};
use super::{Postgres, leave};
use crate::column::values;
use crate::database::Engine;
use crate::engine::clock::up_time;
use crate::{Database, Store, StoreError};

/// Longest acceptable delay that a frozen gateway causes.
const MAX_STALL: Duration = Duration::from_secs(10);

struct Given {
    store: Store,
    /// Connections of a second gateway, for transactions that get in the way.
    other: Pool,
    _place: TestDatabase,
}

async fn given() -> Given {
    let place = test_database().unwrap();
    let store = Store::open(&Database::Postgres(place.url().to_owned())).await.unwrap();
    let (wakes, _) = tokio::sync::broadcast::channel(1);
    let other = Postgres::open(place.url(), wakes).await.unwrap().pool.clone();
    Given { store, other, _place: place }
}

async fn workspace(store: &Store, name: &str) -> WorkspaceId {
    let params = WorkspaceCreateParams { name: name.to_owned(), root_path: None, agents: None };
    store.create_workspace(params, None).await.unwrap().id
}

async fn rename(store: &Store, workspace_id: &WorkspaceId) -> Result<(), crate::StoreError> {
    let change = async |write: &mut crate::write::workspace_write::WorkspaceWrite<'_, '_>| {
        let touch = "UPDATE workspace SET updated_at = updated_at + 1 WHERE id = $1";
        write.tx.execute(touch, values![&write.workspace_id]).await.map(drop)
    };
    store.write_workspace(workspace_id, None, change).await
}

#[tokio::test]
async fn a_frozen_gateway_does_not_stop_the_others() {
    let given = given().await;
    let held = workspace(&given.store, "held").await;
    let free = workspace(&given.store, "free").await;
    // A frozen gateway has locked the row and never continues.
    let mut connection = given.other.acquire().await.unwrap();
    let mut frozen = connection.begin().await.unwrap();
    sqlx::query("UPDATE workspace SET seq = seq + 1 WHERE id = $1")
        .bind(held.to_string())
        .execute(&mut *frozen)
        .await
        .unwrap();

    let started = Instant::now();
    // More writers than there are connections.
    let waiting: Vec<_> = (0..CONNECTIONS * 2)
        .map(|_| {
            let store = given.store.clone();
            let held = held.clone();
            tokio::spawn(async move { rename(&store, &held).await })
        })
        .collect();
    // Saves use a different code path from other writes.
    let saving: Vec<_> = (0..CONNECTIONS * 2)
        .map(|number| {
            let store = given.store.clone();
            let save = DocumentSaveParams {
                workspace_id: held.clone(),
                folder_id: None,
                content: format!("text {number}"),
                expected_version: None,
                save_reason: None,
                message: None,
            };
            tokio::spawn(async move { store.save_document(save, None).await.map(drop) })
        })
        .collect();
    // Meanwhile, writers of other workspaces and readers are served immediately.
    tokio::time::timeout(Duration::from_secs(2), rename(&given.store, &free)).await.unwrap().unwrap();
    tokio::time::timeout(Duration::from_secs(2), given.store.workspaces()).await.unwrap().unwrap();
    for waited in waiting.into_iter().chain(saving) {
        waited.await.unwrap().unwrap();
    }
    let stall = started.elapsed();
    assert!(stall < MAX_STALL, "others were held up for {stall:?}");
    drop(frozen);
}

// The server has accepted a connection and sends nothing, like one that is frozen or cut off.
#[tokio::test]
async fn a_silent_database_times_out_and_frees_its_connection() {
    let given = given().await;
    let Engine::Postgres(postgres) = given.store.engine() else { panic!() };
    let begun = Instant::now();
    let waiting: Vec<_> = (0..CONNECTIONS)
        .map(|_| async {
            let mut connection = postgres.acquire().await.unwrap();
            let sleep = async {
                sqlx::query("SELECT pg_sleep(15)").execute(&mut *connection).await?;
                Ok(())
            };
            let done = super::in_time(Duration::from_millis(300), sleep).await;
            leave(connection, done)
        })
        .collect();
    for waited in futures_util::future::join_all(waiting).await {
        let error = waited.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert!(error.to_string().contains("did not answer within"), "{error}");
    }
    // Every connection was taken by a caller that gave up.
    given.store.workspaces().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_slow_statement_is_an_unavailable_database() {
    let given = given().await;
    let slow = async |tx: &mut crate::connection::Tx<'_>| {
        tx.script("SET statement_timeout = '100ms'; SELECT pg_sleep(10)").await
    };
    let error = given.store.read(slow).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
}

// Timestamps come from the clock that all gateways share.
#[tokio::test]
async fn changes_and_the_audit_have_the_databases_time() {
    let given = given().await;
    let Engine::Postgres(postgres) = given.store.engine() else { panic!() };
    let year = 365 * 24 * 60 * 60 * 1000;
    let earlier = Timestamp::from_milliseconds(given.store.now().milliseconds() - year);
    postgres.clock.set(earlier, up_time());
    workspace(&given.store, "demo").await;
    let token = crate::NewToken {
        name: "ci".to_owned(),
        role: protocol::Role::Reader,
        workspace_id: None,
        expires_at: None,
        secret_sha256: crate::hash_secret("secret"),
    };
    let created = given.store.create_token(token, None).await.unwrap().created_at;
    let mut other = given.other.acquire().await.unwrap();
    let changed: i64 =
        sqlx::query_scalar("SELECT max(changed_at) FROM change_log").fetch_one(&mut *other).await.unwrap();
    let filter = crate::AuditFilter { limit: 1, ..crate::AuditFilter::default() };
    let audited = given.store.audit_entries(filter).await.unwrap()[0].at;
    for time in [created.milliseconds(), changed, audited.milliseconds()] {
        assert!((time - earlier.milliseconds()).abs() < 60_000, "{time} is not near {earlier:?}");
    }
}

#[tokio::test]
async fn the_time_is_the_databases() {
    let place = test_database().unwrap();
    let (wakes, _) = tokio::sync::broadcast::channel(1);
    let postgres = Postgres::open(place.url(), wakes).await.unwrap();
    let apart = |time: i64| (postgres.now().milliseconds() - time).abs();
    let asked = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let mut connection = postgres.acquire().await.unwrap();
    let database: i64 = sqlx::query_scalar(asked).fetch_one(&mut *connection).await.unwrap();
    assert!(apart(database) < 1000, "{} ms", apart(database));
    // Pretends that the database is an hour ahead. Timestamps must follow it and not this machine.
    let hour = 60 * 60 * 1000;
    postgres.clock.set(Timestamp::from_milliseconds(database + hour), up_time());
    assert!(apart(database + hour) < 5000, "{} ms", apart(database + hour));
}

// A caller that stops waiting leaves a transaction behind. The connection's next user must not end up in it.
#[tokio::test]
async fn an_abandoned_transaction_ends_before_reuse() {
    let given = given().await;
    let workspace_id = workspace(&given.store, "demo").await;
    let pool = given.other;
    let mut connection = pool.acquire().await.unwrap();
    let process: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *connection).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query("UPDATE workspace SET name = 'left' WHERE id = $1")
        .bind(workspace_id.to_string())
        .execute(&mut *transaction)
        .await
        .unwrap();
    drop(transaction);
    drop(connection);
    rename(&given.store, &workspace_id).await.unwrap();
    assert_eq!(given.store.workspace(&workspace_id).await.unwrap().name, "demo");
    // The same backend is still there, so the transaction was rolled back by us; the server's timeout would have closed
    // the connection.
    let mut all = Vec::new();
    let mut processes = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = pool.acquire().await.unwrap();
        let process = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *connection);
        processes.push(process.await.unwrap());
        all.push(connection);
    }
    assert!(processes.contains(&process), "{process} is not among {processes:?}");
}

// A caller that stops waiting while BEGIN is on its way does not know whether the transaction exists.
#[tokio::test]
async fn an_abandoned_begin_ends_before_reuse() {
    let given = given().await;
    for _ in 0..20 {
        let mut connection = given.other.acquire().await.unwrap();
        let mut beginning = Box::pin(super::begin(&mut connection, Some(super::BEGIN_SNAPSHOT)));
        // The statement is sent, and usually not answered yet.
        let begun = futures_util::poll!(beginning.as_mut());
        drop((begun, beginning));
        drop(connection);
        let mut all = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut connection = given.other.acquire().await.unwrap();
            // Fails inside a transaction that only reads.
            sqlx::query("CREATE TEMPORARY TABLE IF NOT EXISTS here (a INT)")
                .execute(&mut *connection)
                .await
                .unwrap();
            all.push(connection);
        }
        all.into_iter().for_each(super::Borrowed::release);
    }
}

#[tokio::test]
async fn a_connection_that_the_server_has_ended_is_replaced() {
    let given = given().await;
    let mut connection = given.other.acquire().await.unwrap();
    let process: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *connection).await.unwrap();
    connection.release();
    let first = given.other.acquire().await.unwrap();
    let mut second = given.other.acquire().await.unwrap();
    sqlx::query("SELECT pg_terminate_backend($1, 5000)").bind(process).execute(&mut *second).await.unwrap();
    drop(first);
    second.release();
    // Takes every connection once: none of them may be the one that the server ended.
    let mut all = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = given.other.acquire().await.unwrap();
        sqlx::query("SELECT 1").execute(&mut *connection).await.unwrap();
        all.push(connection);
    }
}

#[tokio::test]
async fn a_closed_pool_waits_for_used_connections() {
    let given = given().await;
    let pool = given.other.clone();
    let in_use = pool.acquire().await.unwrap();
    let closing = tokio::spawn({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    tokio::task::yield_now().await;
    assert!(!closing.is_finished());
    in_use.release();
    closing.await.unwrap();
    let error = pool.acquire().await.map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
}
