//! What one gateway may do to the others of its database.

use std::time::{Duration, Instant};

use protocol::method::{DocumentSaveParams, WorkspaceCreateParams};
use protocol::{Timestamp, WorkspaceId};
use sqlx::PgPool;
use test_postgres::{TestDatabase, test_database};

use super::{CONNECTIONS, Postgres};
use crate::clock::up_time;
use crate::column::values;
use crate::{Database, Store};

/// How long others may be held up by a gateway that is frozen.
const MAX_STALL: Duration = Duration::from_secs(10);

struct Given {
    store: Store,
    /// A transaction of another gateway is begun here.
    other: PgPool,
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
    let change = async |write: &mut crate::write::WorkspaceWrite<'_, '_>| {
        let touch = "UPDATE workspace SET updated_at = updated_at + 1 WHERE id = $1";
        write.on.execute(touch, values![&write.workspace_id]).await.map(drop)
    };
    store.write_workspace(workspace_id, None, change).await
}

#[tokio::test]
async fn a_frozen_gateway_does_not_stop_the_others() {
    let given = given().await;
    let (held, free) = (workspace(&given.store, "held").await, workspace(&given.store, "free").await);
    // A gateway that is frozen has locked the row and says nothing more.
    let mut frozen = given.other.begin().await.unwrap();
    sqlx::query("UPDATE workspace SET seq = seq + 1 WHERE id = $1")
        .bind(held.to_string())
        .execute(&mut *frozen)
        .await
        .unwrap();

    let started = Instant::now();
    // More of them than there are connections.
    let waiting: Vec<_> = (0..CONNECTIONS * 2)
        .map(|_| {
            let (store, held) = (given.store.clone(), held.clone());
            tokio::spawn(async move { rename(&store, &held).await })
        })
        .collect();
    // Saves go another way.
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
    // Meanwhile another workspace is served at once, and so is whoever only reads.
    tokio::time::timeout(Duration::from_secs(2), rename(&given.store, &free)).await.unwrap().unwrap();
    tokio::time::timeout(Duration::from_secs(2), given.store.workspaces()).await.unwrap().unwrap();
    for waited in waiting.into_iter().chain(saving) {
        waited.await.unwrap().unwrap();
    }
    let stall = started.elapsed();
    assert!(stall < MAX_STALL, "others were held up for {stall:?}");
    drop(frozen);
}

#[tokio::test]
async fn the_time_is_the_databases() {
    let place = test_database().unwrap();
    let (wakes, _) = tokio::sync::broadcast::channel(1);
    let postgres = Postgres::open(place.url(), wakes).await.unwrap();
    let apart = |time: i64| (postgres.now().milliseconds() - time).abs();
    let asked = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let database: i64 = sqlx::query_scalar(asked).fetch_one(&postgres.pool).await.unwrap();
    assert!(apart(database) < 1000, "{} ms", apart(database));
    // Were the database an hour ahead, so would be everything that is timed by it, whatever this machine thinks.
    let hour = 60 * 60 * 1000;
    postgres.clock.set(Timestamp::from_milliseconds(database + hour), up_time());
    assert!(apart(database + hour) < 5000, "{} ms", apart(database + hour));
}
