//! The identity of the database, and a check that it accepts writes.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::InstanceId;
use protocol::limits::MAX_DOCUMENT_BYTES;

use crate::column::values;
use crate::connection::Tx;
use crate::{Store, StoreError};

const FIND: &str = "SELECT id FROM instance";
/// More than the largest save writes: a document, its revision and the change log.
const PROBE_BYTES: usize = 3 * MAX_DOCUMENT_BYTES;

impl Store {
    /// Returns the id of the database. A copy keeps the id until it is restored, which makes it another database.
    pub fn instance(&self) -> BoxFuture<'_, Result<InstanceId, StoreError>> {
        Box::pin(async move {
            let found =
                self.read(async |tx: &mut Tx<'_>| tx.one_by_key(FIND, &[], |mut row| row.next()).await);
            found.await?.ok_or_else(|| StoreError::database("it has no instance id"))
        })
    }

    /// Commits as much as the largest save does: only a commit shows that the disk has space for one.
    // Each PostgreSQL gateway inserts and deletes a row of its own, so that one that is frozen in the middle does not
    // block the others. SQLite never writes a row that is deleted in the same transaction, so there the row of the
    // previous check is deleted instead.
    pub fn check_writes(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let id = InstanceId::new();
        self.write(async move |tx: &mut Tx<'_>| {
            // Made inside the job, because the change is cloned for retries.
            let content = "x".repeat(PROBE_BYTES);
            let values = values![&id, &content];
            tx.execute("INSERT INTO write_probe (id, content) VALUES ($1, $2)", values).await?;
            let delete = if tx.is_postgres() {
                "DELETE FROM write_probe WHERE id = $1"
            } else {
                "DELETE FROM write_probe WHERE id <> $1"
            };
            tx.execute(delete, values![&id]).await.map(drop)
        })
        .boxed()
    }
}

/// Creates the id of a new database.
pub(crate) async fn ensure(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let found: Option<InstanceId> = tx.one_by_key(FIND, &[], |mut row| row.next()).await?;
    if found.is_none() {
        insert(tx).await?;
    }
    Ok(())
}

/// Replaces the id.
pub(crate) async fn renew(tx: &mut Tx<'_>) -> Result<InstanceId, StoreError> {
    tx.execute("DELETE FROM instance", &[]).await?;
    insert(tx).await
}

async fn insert(tx: &mut Tx<'_>) -> Result<InstanceId, StoreError> {
    let id = InstanceId::new();
    let insert = "INSERT INTO instance (id, created_at) VALUES ($1, $2)";
    tx.execute(insert, values![&id, tx.now()]).await?;
    Ok(id)
}
