//! Short form of `cargo xtask random-calls`: one round on each database.

use std::time::Duration;

use gateway::Database;
use stress::random_calls::RandomCalls;
use test_postgres::test_database;

async fn call_at_random(database: Option<Database>, seed: u64) -> anyhow::Result<()> {
    let report = RandomCalls { database, seed, time: Duration::ZERO }.run().await?;
    // A run that calls little would pass without having tested anything.
    assert!(report.calls > 4_000, "{report}");
    Ok(())
}

#[tokio::test]
async fn random_calls_never_fail_internally_on_sqlite() -> anyhow::Result<()> {
    call_at_random(None, 1).await
}

#[tokio::test]
async fn random_calls_never_fail_internally_on_postgresql() -> anyhow::Result<()> {
    let Some(database) = test_database() else { return Ok(()) };
    call_at_random(Some(Database::Postgres(database.url().to_owned())), 2).await
}
