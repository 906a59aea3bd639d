//! The short form of `cargo xtask load`: everything is answered, nothing is held afterwards, and what is refused past the
//! limits is refused in so many words.

use std::path::PathBuf;
use std::time::Duration;

use stress::load::{CallKind, Load, LoadReport};
use test_postgres::{Cluster, Options, test_cluster};

use crate::support::FOREWORD;

const CONNECTIONS: usize = 120;
/// Handles that the database and the model's provider may keep open after all clients have disconnected.
const KEPT_HANDLES: usize = 40;

async fn burden(postgres: Option<Cluster>) -> LoadReport {
    // The load is small enough for a shared machine with two cores. The fixed seed makes a failing run
    // repeatable.
    let load = Load {
        program: PathBuf::from(FOREWORD),
        postgres,
        connections: CONNECTIONS,
        workspaces: 12,
        rate: 100,
        time: Duration::from_secs(5),
        seed: 1,
    };
    load.run().await.unwrap_or_else(|error| panic!("{error:#}"))
}

fn check(report: &LoadReport) {
    let handles = |moment: &str| {
        let found = report.resources.iter().find(|looked| looked.moment.starts_with(moment));
        found.unwrap_or_else(|| panic!("{moment}: {report}")).handles
    };
    assert_eq!(report.tally.problem_count(), 0, "{report}");
    for (kind, name, _) in CallKind::TABLE {
        assert!(report.tally.samples(*kind).count() > 0, "{name}: {report}");
    }
    assert!(report.subscribers == 12 && report.received > 0, "{report}");
    // A socket or file that stayed open per client would add up over weeks. The count must rise with the
    // connections, or the measurement itself is broken, and fall back afterwards.
    let before = handles("with its workspaces");
    assert!(handles("all connected") >= before + CONNECTIONS, "{report}");
    assert!(handles("all have left") <= before + KEPT_HANDLES, "{report}");

    assert!(!report.steps.is_empty(), "{report}");
    let messages: Vec<&str> = report.refusals.iter().map(|refusal| refusal.message.as_str()).collect();
    // The order is that of the steps beyond the limits. The third one checks that an owner can still
    // connect to a full gateway, since only an owner can relieve it.
    let expected = [
        "status 503: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32030",
        "the gateway has as many connections as it can",
        "an owner got in beside the rest",
        "-32030 LimitReached",
        "-32030 LimitReached",
    ];
    assert_eq!(messages.len(), expected.len(), "{report}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{report}");
    }
    assert!(report.refusals.iter().all(|refusal| refusal.ready == "200 ready"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_on_sqlite_is_answered_and_leaves_nothing_behind() {
    check(&burden(None).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_on_postgresql_is_answered_and_leaves_nothing_behind() {
    let Some(cluster) = test_cluster(Options::fast()) else { return };
    check(&burden(Some(cluster)).await);
}
