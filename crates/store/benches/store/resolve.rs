//! `resolve_for_thread` against its own prepared statement.

use measure::{Comparison, Effort, Rounds};
use sea_orm::sqlx::{self, Row as _};
use store::{RESOLVE_FOR_THREAD, Store};
use workload::{DEPTH, DeepThread};

use crate::bare::{Bare, on};
use crate::databases::Databases;

pub(crate) async fn measure(databases: &Databases, effort: Effort) -> anyhow::Result<()> {
    let fresh = databases.fresh("resolve")?;
    let store = Store::open(&fresh.database).await?;
    let thread = DeepThread::create(&store).await?;
    let mut bare = Bare::connect(&fresh.database).await?;
    let figures = Comparison::against("bare prepared statement", async || resolve(&mut bare, &thread).await)
        .with("Store::resolve_for_thread", async || {
            let resolved = store.resolve_for_thread(&thread.workspace_id, &thread.thread_id).await?;
            anyhow::ensure!(resolved.is_some_and(|resolved| resolved.source_path.len() == 1));
            Ok(())
        })
        .run(Rounds { warm_up: effort.choose(20, 500), measured: effort.choose(200, 10_000) })
        .await?;
    println!("## {}: resolve a thread at depth {DEPTH}\n\n{figures}", databases.name());
    store.close().await;
    Ok(())
}

/// Runs the statement and decodes the columns that an answer needs.
async fn resolve(bare: &mut Bare, thread: &DeepThread) -> anyhow::Result<()> {
    type Text = Option<String>;
    type Number = Option<i64>;
    let (workspace_id, thread_id) = (thread.workspace_id.as_str(), thread.thread_id.as_str());
    on!(bare, connection => {
        let query = sqlx::query(RESOLVE_FOR_THREAD).bind(workspace_id).bind(thread_id);
        let rows = query.fetch_all(connection).await?;
        let mut path = Vec::with_capacity(rows.len());
        for row in &rows {
            path.push((row.try_get::<Text, _>(0)?, row.try_get::<Text, _>(2)?));
        }
        let Some(last) = rows.last() else { anyhow::bail!("the thread was not found") };
        let mut texts = Vec::with_capacity(9);
        for column in [3, 4, 5, 6, 7, 8, 9, 15, 16] {
            texts.push(last.try_get::<Text, _>(column)?);
        }
        let mut numbers = Vec::with_capacity(5);
        for column in [10, 11, 12, 13, 14] {
            numbers.push(last.try_get::<Number, _>(column)?);
        }
        std::hint::black_box((path, texts, numbers));
    });
    Ok(())
}
