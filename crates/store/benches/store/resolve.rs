//! `resolve_for_thread` against its own prepared statement.

use measure::{Comparison, Effort, Rounds};
use store::{RESOLVE_FOR_THREAD, Store};
use workload::{DEPTH, DeepThread};

use crate::bare::{Bare, values};
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

/// The subject, a name, and the columns of a document.
const COLUMNS: &str = "tttttttttnnnnntt";

/// Runs the statement and decodes the columns that a result needs.
async fn resolve(bare: &mut Bare, thread: &DeepThread) -> anyhow::Result<()> {
    let values = values![thread.workspace_id.as_str(), thread.thread_id.as_str()];
    let rows = bare.select(RESOLVE_FOR_THREAD, values, COLUMNS).await?;
    anyhow::ensure!(!rows.is_empty(), "the thread was not found");
    std::hint::black_box(rows);
    Ok(())
}
