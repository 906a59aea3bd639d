//! The short form of `cargo xtask torture`: the real binary, killed and frozen while clients save.

use std::path::PathBuf;
use std::time::Duration;

use stress::torture::{Database, Torture, TortureReport};
use test_postgres::{Options, test_cluster};

use crate::support::FOREWORD;

const TIME: Duration = Duration::from_secs(10);

async fn torment(database: Database) -> TortureReport {
    let torture = Torture { program: PathBuf::from(FOREWORD), database, time: TIME, seed: 1 };
    let report = torture.run().await.unwrap_or_else(|error| panic!("{error:#}"));
    assert!(report.fault_count() >= 1, "{report}");
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_while_a_gateway_on_sqlite_is_killed_and_frozen() {
    torment(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_while_three_gateways_and_postgresql_are_killed_and_frozen() {
    let Some(cluster) = test_cluster(Options::default()) else { return };
    torment(Database::Postgres(cluster)).await;
}
