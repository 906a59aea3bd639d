//! Which database this is, and whether it can be written.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::InstanceId;
use protocol::limits::MAX_DOCUMENT_BYTES;

use crate::column::values;
use crate::connection::Tx;
use crate::{Store, StoreError};

const FIND: &str = "SELECT id FROM instance";
/// More than the largest save writes: a document, its revision, and what is told of them.
const PROBE_BYTES: usize = 3 * MAX_DOCUMENT_BYTES;

impl Store {
    /// Identifies the database. A copy has the same id until it is restored, which makes it another database.
    pub fn instance(&self) -> BoxFuture<'_, Result<InstanceId, StoreError>> {
        Box::pin(async move {
            let found =
                self.read(async |tx: &mut Tx<'_>| tx.one_by_key(FIND, &[], |mut row| row.next()).await);
            found.await?.ok_or_else(|| StoreError::database("it has no instance id"))
        })
    }

    /// Commits as much as any save does, because only a commit shows that there is room for one.
    ///
    /// Every gateway of a PostgreSQL writes and deletes a row of its own: one that is frozen in the middle must not make
    /// the others wait. SQLite does not write what the same transaction deletes, so there the row before is deleted.
    pub fn check_writes(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let id = InstanceId::new();
        self.write(async move |tx: &mut Tx<'_>| {
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

/// Gives a database its id, once.
pub(crate) async fn ensure(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let found: Option<InstanceId> = tx.one_by_key(FIND, &[], |mut row| row.next()).await?;
    if found.is_none() {
        insert(tx).await?;
    }
    Ok(())
}

/// Gives it another id.
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
