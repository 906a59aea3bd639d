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
async fn torture_loses_no_acknowledged_save_on_sqlite() {
    torment(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn torture_loses_no_acknowledged_save_on_postgresql_with_three_gateways() {
    let Some(cluster) = test_cluster(Options::default()) else { return };
    torment(Database::Postgres(cluster)).await;
}
